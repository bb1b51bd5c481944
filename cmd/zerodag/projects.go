package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/connection"
	"zerodag/internal/overview"
	"zerodag/internal/program"
	"zerodag/internal/remedy"
	"zerodag/internal/term"
)

// pageFlags select a part of a list.
type pageFlags struct {
	last  string
	count int
}

func (f *pageFlags) page() client.Page { return client.Page{Last: client.ID(f.last), Count: f.count} }

// newProjects returns the command that lists projects, or shows one.
func newProjects(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	var page pageFlags
	var pattern string
	c := &cobra.Command{Use: "projects [name]", Aliases: []string{"project"}, Short: "Show projects"}
	if !program.AsDigdag() { // Digdag's command takes any name
		c.AddCommand(newProjectPause(s), newProjectUnpause(s))
	}
	c.Flags().IntVar(&page.count, "count", 100, "`NUMBER` of projects")
	c.Flags().StringVar(&page.last, "last-id", "", "projects after this `ID`")
	c.Flags().StringVar(&pattern, "name", "", "projects with this `TEXT` in their name (only without the argument)")
	return r.Command(c, 0, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		list, err := r.listProjects(ctx, args, page.page(), pattern)
		if err != nil {
			return err
		}
		t := term.NewTable(term.Column{Title: "PROJECT", Name: true}, term.Column{Title: "ID"}, term.Column{Title: "REVISION", Name: true}, term.Column{Title: "UPDATED"},
			term.Column{Title: "PAUSED", Spare: true}, term.Column{Title: "CREATED", Wide: true}, term.Column{Title: "ARCHIVE TYPE", Wide: true})
		for _, one := range list {
			t.Add(one.Name, string(one.ID), one.Revision, term.ShortTime(&one.UpdatedAt), pausedBy(one.Paused), term.ShortTime(&one.CreatedAt), one.ArchiveType)
		}
		err = r.List(list, func(p cli.Printer) {
			p.Line("Projects")
			for _, project := range list {
				pairs := []any{"name", project.Name, "id", project.ID, "revision", project.Revision, "archive type", project.ArchiveType,
					"project created at", project.CreatedAt, "revision updated at", project.UpdatedAt}
				if project.Paused != nil {
					pairs = append(pairs, "starts", pausedText(project.Paused))
				}
				p.Block("  ", pairs...)
			}
		}, t, "There are no projects.")
		r.Hint("Use `zerodag workflows <project-name>` to show details.")
		return err
	})
}

func (r *remote) listProjects(ctx context.Context, args []string, page client.Page, pattern string) ([]client.Project, error) {
	if len(args) == 0 {
		return r.Projects(ctx, page, pattern)
	}
	project, err := r.Project(ctx, args[0])
	if client.IsMissing(err) {
		return nil, r.noProject(ctx, args[0])
	}
	return []client.Project{project}, err
}

// pausedProjects returns the paused projects among the first thousand.
func (r *remote) pausedProjects(ctx context.Context) ([]client.Project, error) {
	list, err := r.Projects(ctx, client.Page{Count: overview.Most}, "")
	return overview.Paused(list), err
}

// hintPausedName is hintPaused for the name of a project. An unreadable project counts as not paused, since the
// requested result has already been shown.
func (r *remote) hintPausedName(ctx context.Context, name string) {
	if program.AsDigdag() {
		return
	}
	if p, err := r.Project(ctx, name); err == nil {
		r.hintPaused(p)
	}
}

// hintPaused shows a hint if a project is paused, so that nothing in it starts.
func (r *remote) hintPaused(p client.Project) {
	if p.Paused != nil && !program.AsDigdag() {
		r.Hint("Project %s is paused %s: no attempt of it starts until `zerodag project unpause %s`.", p.Name, pausedBy(p.Paused), p.Name)
	}
}

// noProject returns the error for an unknown project name.
func (r *remote) noProject(ctx context.Context, name string) error {
	text := fmt.Sprintf("Project '%s' does not exist.", name)
	if program.AsDigdag() {
		return errors.New(text)
	}
	// If the names cannot be read, the error is still shown.
	names, _ := connection.ProjectNames(ctx, r.Client)
	return fmt.Errorf("%s\nhint: %s", text, program.AsCalled(remedy.Meant(name, names, "`zerodag projects` lists the projects")))
}
