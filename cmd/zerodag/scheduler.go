package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/engine/dig"
	"zerodag/internal/catalogue"
	"zerodag/internal/embedded"
	"zerodag/internal/executors"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/scratch"
	"zerodag/operators"
)

// localProject is a folder that a server runs as its only project, as it is: tasks work in
// the folder itself.
type localProject struct {
	files  files.Project
	last   [sha256.Size]byte
	number int
}

// reread is how often the folder is looked at.
const reread = 5 * time.Second

// newScheduler runs the schedules of a folder.
func newScheduler(s streams) *cobra.Command {
	c := &serverCommand{streams: s}
	folder := ""
	cmd := &cobra.Command{Use: "scheduler [options...]", Aliases: []string{"sched"}, Short: "Run the schedules of a project's folder",
		Long: `Run the schedules of a project's folder: a server with this one project, "default", whose
tasks work in the folder itself. The folder is read again every 5 seconds; data is in
memory unless --database or the configuration key database.type says otherwise.`,
		Args: upTo(0)}
	cmd.Flags().StringVar(&folder, "project", "", "the project's `DIR` (default: the current one)")
	c.registerServer(cmd, "in memory", "with the data")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := openProject(folder)
		if err != nil {
			return err
		}
		if err := ownState(p.Root()); err != nil {
			return err
		}
		c.local = &localProject{files: p}
		defer scratch.Leave(p.Root())
		return c.run(cmd.Context())
	}
	return cmd
}

// workspace is the folder itself, for every task.
func (p *localProject) workspace(in executors.In) func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error) {
	return func(_ context.Context, id operators.Identity, _ host.Workflow) (host.Workspace, error) {
		return host.Workspace{Files: p.files, Commands: in(p.files.Root(), id), Leave: func() {}}, nil
	}
}

// watch stores a new revision whenever the workflows changed.
func (p *localProject) watch(ctx context.Context, e *embedded.Engine, logger *slog.Logger) {
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

// load pushes the workflow files, and what they include, if they are not what they were.
func (p *localProject) load(ctx context.Context, e *embedded.Engine, logger *slog.Logger) error {
	workflows, _, err := loadWorkflows(p.files)
	if err != nil {
		return err
	}
	sum := sha256.New()
	for _, w := range workflows {
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
	return nil
}

func (p *localProject) push(ctx context.Context, e *embedded.Engine, logger *slog.Logger) error {
	var archive bytes.Buffer
	out := func(name string) { logger.Warn(strings.TrimSpace(leftOut(name))) }
	if _, err := p.files.Pack(&archive, files.Packing{LeftOut: out}); err != nil {
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

// next is the number of the next revision: data on disk may hold some.
func (p *localProject) next(ctx context.Context, e *embedded.Engine) (int, error) {
	list, err := e.Projects(ctx, host.ProjectQuery{Name: "default", Count: 1})
	if err != nil || len(list) == 0 {
		return p.number + 1, err
	}
	n, err := strconv.Atoi(list[0].Latest.Name)
	if err != nil {
		return 0, fmt.Errorf("the project \"default\" in this data was pushed by somebody else (revision %q)", list[0].Latest.Name)
	}
	return max(n, p.number) + 1, nil
}
