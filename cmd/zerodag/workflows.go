package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/dig"
	"zerodag/internal/client"
	"zerodag/internal/program"
)

// newWorkflows returns the command that lists workflows, or shows the definition of one.
func newWorkflows(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	var page pageFlags
	var pattern, order string
	c := &cobra.Command{Use: "workflows [project-name] [name]", Aliases: []string{"workflow"}, Short: "Show workflows, or the definition of one"}
	c.Flags().IntVar(&page.count, "count", 100, "`NUMBER` of workflows")
	c.Flags().StringVar(&page.last, "last-id", "", "workflows after this `ID`")
	c.Flags().StringVar(&order, "order", "asc", "`ORDER` by id: asc or desc (only without a project)")
	c.Flags().StringVar(&pattern, "name", "", "workflows with this `TEXT` in their name (only without a project)")
	return r.Command(c, 0, 2, func(ctx context.Context, args []string) error {
		if order != "asc" && order != "desc" {
			return program.UsageError(fmt.Errorf("Invalid parameter value for --order: %s", order))
		}
		if err := r.Open(ctx); err != nil {
			return err
		}
		if len(args) == 2 {
			return r.showDefinition(ctx, args[0], args[1])
		}
		list, err := r.listWorkflows(ctx, args, page.page(), order, pattern)
		if err != nil {
			return err
		}
		err = r.Show(list.workflows, list.print)
		r.Hint("Use `zerodag workflows <project-name> <name>` to show details.")
		return err
	})
}

// workflowList is the list that the command prints; a requested project is shown even if it has no workflows.
type workflowList struct {
	project   string
	workflows []client.Workflow
}

func (l workflowList) print(p cli.Printer) {
	last := l.project
	if last != "" {
		p.Line("  %s", last)
	}
	for _, w := range l.workflows {
		if w.Project.Name != last {
			last = w.Project.Name
			p.Line("  %s", last)
		}
		line := "    " + w.Name
		if len(w.Tags) > 0 {
			line += "  [" + strings.Join(w.Tags, ", ") + "]"
		}
		if what, _, _ := strings.Cut(w.Description, "\n"); what != "" {
			line += "  " + what
		}
		p.Line("%s", line)
	}
	p.Line("")
}

func (r *remote) listWorkflows(ctx context.Context, args []string, page client.Page, order, pattern string) (workflowList, error) {
	if len(args) == 0 {
		list, err := r.Workflows(ctx, page, order, pattern)
		return workflowList{workflows: list}, err
	}
	project, err := r.Project(ctx, args[0])
	if err != nil {
		return workflowList{}, err
	}
	list, err := r.ProjectWorkflows(ctx, project.ID, "")
	return workflowList{project.Name, list}, err
}

func (r *remote) showDefinition(ctx context.Context, project, name string) error {
	p, err := r.Project(ctx, project)
	if err != nil {
		return err
	}
	w, err := r.Workflow(ctx, p.ID, name, "")
	if err != nil {
		return err
	}
	return r.Show(w, func(p cli.Printer) { p.Line("%s", dig.FormatYAML(w.Config)) })
}
