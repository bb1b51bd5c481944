package serverrun

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/dig"
	"zerodag/internal/catalogue"
	"zerodag/internal/embedded"
	"zerodag/internal/executors"
	"zerodag/internal/host"
	"zerodag/internal/projectfiles"
	"zerodag/internal/projectfolder"
	"zerodag/operators"
)

// Project is a folder that a server runs as its only project: tasks work in the folder itself, and the folder is read
// again every few seconds.
type Project struct {
	files  projectfolder.Folder
	last   [sha256.Size]byte
	number int
}

// NewProject returns the project in a folder, which is read while the server runs.
func NewProject(f projectfolder.Folder) *Project { return &Project{files: f} }

// reread is how often the folder is checked.
const reread = 5 * time.Second

// workspace returns the folder itself as the workspace of every task.
func (p *Project) workspace(in executors.In) func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error) {
	return func(_ context.Context, id operators.Identity, _ host.Workflow) (host.Workspace, error) {
		return host.Workspace{Files: p.files.Project, RunFolder: p.files.RunFolder(), Commands: in(p.files.Root(), id), Leave: func() {}}, nil
	}
}

// watch stores a new revision whenever the workflows have changed.
func (p *Project) watch(ctx context.Context, e *embedded.Engine, logger *slog.Logger) {
	ticker := time.NewTicker(reread)
	defer ticker.Stop()
	for {
		if err := p.load(ctx, e, logger); err != nil && ctx.Err() == nil {
			logger.Error("Failed to reload workflows: " + err.Error())
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// load pushes the workflow files, and the files that they include, if they have changed.
func (p *Project) load(ctx context.Context, e *embedded.Engine, logger *slog.Logger) error {
	contents, err := p.files.Read()
	if err != nil {
		return err
	}
	sum := sha256.New()
	for _, w := range contents.Workflows {
		fmt.Fprintf(sum, "%s %s\n%s\n", w.Name, w.Zone, dig.FormatYAML(w.Config))
	}
	if now := [sha256.Size]byte(sum.Sum(nil)); now == p.last {
		return nil
	} else if err := p.push(ctx, e, logger); err != nil {
		return err
	} else {
		p.last = now
	}
	logger.Info("Added new revision " + strconv.Itoa(p.number))
	return p.doubts(contents, logger)
}

// doubts logs the warnings that a push of this folder would cause and, if no workflow has a schedule, that nothing will
// start.
func (p *Project) doubts(contents projectfolder.Contents, logger *slog.Logger) error {
	warnings, err := p.files.Warnings(contents, "", nil)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		logger.Warn(projectfolder.WarningLine(w))
	}
	switch {
	case len(contents.Workflows) == 0:
		logger.Warn("No workflow (*.dig) in " + p.files.Root() + ": nothing will start. The folder is read again every " + reread.String())
	case !slices.ContainsFunc(contents.Workflows, func(w dig.Workflow) bool { return w.Config.Has("schedule") }):
		logger.Warn("No workflow in " + p.files.Root() + " has a schedule: attempts start only on request")
	}
	return nil
}

func (p *Project) push(ctx context.Context, e *embedded.Engine, logger *slog.Logger) error {
	var archive bytes.Buffer
	out := func(name string) { logger.Warn(strings.TrimSpace(projectfolder.LeftOut(name))) }
	if _, err := p.files.Pack(&archive, projectfiles.Packing{LeftOut: out}); err != nil {
		return err
	}
	number, err := p.next(ctx, e)
	if err != nil {
		return err
	}
	r := catalogue.PushRequest{Project: "default", Revision: strconv.Itoa(number)}
	if _, err := e.Push(ctx, r, &archive, int64(archive.Len())); err != nil {
		return err
	}
	p.number = number
	return nil
}

// next returns the next revision's number, because stored data may already contain revisions.
func (p *Project) next(ctx context.Context, e *embedded.Engine) (int, error) {
	list, err := e.Projects(ctx, host.ProjectQuery{Name: "default", Count: 1})
	if err != nil || len(list) == 0 {
		return p.number + 1, err
	}
	n, err := strconv.Atoi(list[0].Latest.Name)
	if err != nil {
		return 0, fmt.Errorf("the project \"default\" in this data was pushed by a different user or command (revision %q)", list[0].Latest.Name)
	}
	return max(n, p.number) + 1, nil
}
