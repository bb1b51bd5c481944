package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/dig"
	"zerodag/internal/client"
	"zerodag/internal/host"
	"zerodag/internal/program"
	"zerodag/internal/projectfiles"
	"zerodag/internal/projectfolder"
	"zerodag/internal/term"
)

type pushCommand struct {
	remote
	project, revision, from string
	copyLinks, dryRun       bool
	strict, allowEmpty      bool
}

// newPush returns the command that uploads a project's folder as a new revision.
func newPush(s cli.Streams) *cobra.Command {
	c := &pushCommand{remote: remote{cli.Remote{Streams: s}}}
	cmd := &cobra.Command{Use: "push project", Short: "Upload a project's folder as a new revision"}
	flags := cmd.Flags()
	flags.StringVar(&c.project, "project", "", "the project's `DIR` (default: the current one)")
	flags.StringVarP(&c.revision, "revision", "r", "", "name of the `REVISION` (default: a random one)")
	flags.StringVar(&c.from, "schedule-from", "", "start schedules from this `TIME`: \"yyyy-MM-dd HH:mm:ss Z\" (default: now)")
	flags.BoolVar(&c.copyLinks, "copy-outgoing-symlinks", false, "store the targets of links that lead out of the folder")
	flags.BoolVar(&c.dryRun, "dry-run", false, "only show what would change")
	flags.BoolVar(&c.strict, "strict", false, "treat warnings as errors: push nothing if there are any")
	flags.BoolVar(&c.allowEmpty, "allow-empty", false, "push a folder without workflows, which leaves the project without any")
	return c.Command(cmd, 1, 1, func(ctx context.Context, args []string) error {
		switch {
		case args[0] == "":
			return program.UsageError(errors.New("project name cannot be empty"))
		case strings.HasSuffix(args[0], ".dig") && !program.AsDigdag():
			return program.UsageError(fmt.Errorf("push takes the name of a project, not a file: `zerodag push NAME` sends the whole folder, and --project names a different folder: %s", args[0]))
		case c.revision == "" && cmd.Flags().Changed("revision"):
			return program.UsageError(errors.New("revision cannot be empty"))
		}
		return c.push(ctx, args[0])
	})
}

func (c *pushCommand) push(ctx context.Context, name string) error {
	if err := c.Begin(); err != nil {
		return err
	}
	p := client.Push{Project: name, Revision: c.revision}
	if p.Revision == "" {
		p.Revision = host.NewUUID()
	}
	if c.from != "" {
		var err error
		if p.From, err = term.ParseInstant(c.from, "--schedule-from"); err != nil {
			return err
		}
	}
	folder, err := projectfolder.Open(c.project)
	if err != nil {
		return err
	}
	if err := c.warn(folder); err != nil {
		return err
	}
	if c.dryRun {
		return c.showChanges(ctx, folder, p)
	}
	archive, err := projectfolder.NewArchiveFile()
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name())
	defer archive.Close()
	packed, notes := io.Discard, c.Err
	if c.Format == cli.DigdagForm {
		packed, notes = c.Out, c.Out
	}
	workflows, err := folder.Archive(archive, archive.Name(), c.copyLinks, packed, notes)
	if err != nil {
		return err
	}
	listPacked(workflows, packed, notes)
	if err := c.Open(ctx); err != nil {
		return err
	}
	before, err := c.current(ctx, name)
	if err != nil {
		return err
	}
	project, err := c.SendArchive(ctx, p, archive)
	if err != nil {
		return err
	}
	after, err := c.current(ctx, name)
	if err != nil {
		return err
	}
	list := compare(before, workflows, after.schedules)
	err = c.showUploaded(project, list)
	c.tellChanges(list)
	c.hintPaused(project)
	return err
}

// warn shows the warnings of `check`, so that a project does not first fail at night.
func (c *pushCommand) warn(folder projectfolder.Folder) error {
	contents, err := folder.Read()
	if err != nil {
		return err
	}
	var admitted dig.Errors
	if !program.AsDigdag() {
		if admitted, err = folder.Admit(contents, projectfolder.Admission{CopyLinks: c.copyLinks, AllowEmpty: c.allowEmpty}); err != nil && len(contents.Names) == 0 {
			return fmt.Errorf("nothing was pushed: %w", err)
		} else if err != nil {
			return err
		}
	}
	warnings, err := folder.Warnings(contents, "", nil)
	if err != nil {
		return err
	}
	return projectfolder.TellWarnings(c.Err, append(admitted, warnings...), c.strict)
}

// listPacked writes the list of workflows to packed, and a warning to notes if there are none.
func listPacked(workflows []dig.Workflow, packed, notes io.Writer) {
	fmt.Fprintln(packed, "Workflows:")
	for _, w := range workflows {
		fmt.Fprintf(packed, "  %s.dig\n", w.Name)
	}
	if len(workflows) == 0 {
		fmt.Fprint(notes, `  WARNING: This project doesn't include workflows. Usually, this is a mistake.
           Please make sure that all *.dig files are on the top directory.
           *.dig files in subdirectories are not recognized as workflows.

`)
	}
}

// uploadGiven sends an archive that was created elsewhere, unless it contains a server's data: even a server that would
// accept it must not get such data.
func (r *remote) uploadGiven(ctx context.Context, p client.Push, archive *os.File) (client.Project, error) {
	data := projectfiles.ServerData(ctx, archive, projectfolder.Generous())
	if len(data) > 0 {
		return client.Project{}, fmt.Errorf("archive %s contains the data of a server in %s (its database and the key of its secrets): nothing was sent; create the archive again with `zerodag archive`, which omits it",
			archive.Name(), strings.Join(data, ", "))
	}
	return r.SendArchive(ctx, p, archive)
}

// showUploaded prints the output of `push` and `upload`.
func (r *remote) showUploaded(p client.Project, list []change) error {
	result := struct {
		client.Project
		Changes []change `json:"changes,omitempty"`
	}{p, list}
	return r.Show(result, func(out cli.Printer) {
		if r.Ours() {
			out.Line("Uploaded %s, revision %s.", p.Name, p.Revision)
			return
		}
		out.Line("Uploaded:")
		out.Block("  ", "id", p.ID, "name", p.Name, "revision", p.Revision, "archive type", p.ArchiveType,
			"project created at", p.CreatedAt.UTC().Format(time.RFC3339), "revision updated at", p.UpdatedAt.UTC().Format(time.RFC3339))
		out.Line("Use `zerodag workflows` to show all workflows.")
	})
}
