package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
)

// pageFlags select a part of a list.
type pageFlags struct {
	last  string
	count int
}

func (f *pageFlags) page() client.Page { return client.Page{Last: client.ID(f.last), Count: f.count} }

// newProjects lists projects, or shows one.
func newProjects(s streams) *cobra.Command {
	r := &remote{streams: s}
	var page pageFlags
	var pattern string
	c := &cobra.Command{Use: "projects [name]", Aliases: []string{"project"}, Short: "Show projects"}
	if !asDigdag() { // whose command takes any name
		c.AddCommand(newProjectPause(s), newProjectUnpause(s))
	}
	c.Flags().IntVar(&page.count, "count", 100, "`NUMBER` of projects")
	c.Flags().StringVar(&page.last, "last-id", "", "projects after this `ID`")
	c.Flags().StringVar(&pattern, "name", "", "projects with this `TEXT` in their name (only without the argument)")
	return r.command(c, 0, 1, func(ctx context.Context, args []string) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		list, err := r.listProjects(ctx, args, page.page(), pattern)
		if err != nil {
			return err
		}
		t := newTable(column{title: "PROJECT", name: true}, column{title: "ID"}, column{title: "REVISION", name: true}, column{title: "UPDATED"},
			column{title: "PAUSED", spare: true}, column{title: "CREATED", wide: true}, column{title: "ARCHIVE TYPE", wide: true})
		for _, one := range list {
			t.add(one.Name, string(one.ID), one.Revision, shortTime(&one.UpdatedAt), pausedBy(one.Paused), shortTime(&one.CreatedAt), one.ArchiveType)
		}
		err = r.list(list, func(p printer) {
			p.line("Projects")
			for _, project := range list {
				pairs := []any{"name", project.Name, "id", project.ID, "revision", project.Revision, "archive type", project.ArchiveType,
					"project created at", project.CreatedAt, "revision updated at", project.UpdatedAt}
				if project.Paused != nil {
					pairs = append(pairs, "starts", pausedText(project.Paused))
				}
				p.block("  ", pairs...)
			}
		}, t, "There are no projects.")
		r.hint("Use `zerodag workflows <project-name>` to show details.")
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

// pausedProjects are those of which nothing starts, of the first thousand.
func (r *remote) pausedProjects(ctx context.Context) ([]client.Project, error) {
	list, err := r.Projects(ctx, client.Page{Count: mostRead}, "")
	return thePaused(list), err
}

// thePaused are those of a list, which is used up, of which nothing starts.
func thePaused(list []client.Project) []client.Project {
	return slices.DeleteFunc(list, func(p client.Project) bool { return p.Paused == nil })
}

// hintPausedName is hintPaused for the name of a project. One that cannot be read is not paused: what was asked for has been
// shown.
func (r *remote) hintPausedName(ctx context.Context, name string) {
	if asDigdag() {
		return
	}
	if p, err := r.Project(ctx, name); err == nil {
		r.hintPaused(p)
	}
}

// hintPaused says of a project that is paused that nothing of it starts.
func (r *remote) hintPaused(p client.Project) {
	if p.Paused != nil && !asDigdag() {
		r.hint("Project %s is paused %s: nothing of it starts until `zerodag project unpause %s`.", p.Name, pausedBy(p.Paused), p.Name)
	}
}

// noProject is the error about the name of a project that there is not.
func (r *remote) noProject(ctx context.Context, name string) error {
	text := fmt.Sprintf("Project '%s' does not exist.", name)
	if asDigdag() {
		return errors.New(text)
	}
	// Names that cannot be read are none: the error is told all the same.
	names, _ := namesOfProjects(ctx, r.Client)
	return fmt.Errorf("%s\nhint: %s", text, asCalled(meant(name, names, "`zerodag projects` lists the projects")))
}
