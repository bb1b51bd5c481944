package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// newPool keeps the pools of a server.
func newPool(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "pool",
		Short: "Set, show, hold and delete pools of slots that tasks share",
		RunE:  func(c *cobra.Command, _ []string) error { return showUsage(c, s) },
	}
	hold := newPoolHold(s, true, "hold NAME", "Have a pool give no slots: its tasks wait and none fails")
	release := newPoolHold(s, false, "release NAME", "Have a pool that was held give slots again")
	c.AddCommand(newPoolSet(s), newPoolList(s), newPoolShow(s), hold, release, newPoolDelete(s))
	return c
}

func registerPoolProject(c *cobra.Command, project *string) {
	c.Flags().StringVar(project, "project", "", "the pool of the project `NAME` (default: of the whole site)")
}

func newPoolSet(s streams) *cobra.Command {
	r := &remote{streams: s}
	project := ""
	c := &cobra.Command{Use: "set NAME SLOTS", Short: "Make a pool, or change how many slots it has"}
	registerPoolProject(c, &project)
	return r.command(c, 2, 2, func(ctx context.Context, args []string) error {
		slots, err := strconv.Atoi(args[1])
		if err != nil {
			return program.UsageError(fmt.Errorf("%q is no number of slots: zerodag pool set %s 5", args[1], args[0]))
		}
		if err := r.open(ctx); err != nil {
			return err
		}
		p, err := r.SetPool(ctx, project, args[0], slots)
		if err != nil {
			return err
		}
		return r.show(p, func(out printer) { out.pool(p) })
	})
}

func newPoolList(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "list", Short: "Show the pools of the site and of its projects"}
	return r.command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		list, err := r.Pools(ctx)
		if err != nil {
			return err
		}
		all := term.NewTable(term.Column{Title: "POOL", Name: true}, term.Column{Title: "PROJECT", Name: true}, term.Column{Title: "SLOTS"}, term.Column{Title: "HELD"}, term.Column{Title: "CHANGED"})
		for _, p := range list {
			all.Add(p.Name, projectOf(p), strconv.Itoa(p.Slots), yesOrNo(p.Held), term.ShortTime(&p.UpdatedAt))
		}
		return r.list(list, func(out printer) {
			out.line("Pools:")
			for _, p := range list {
				out.pool(p)
			}
			out.line("%d entries.", len(list))
		}, all, "There are no pools.")
	})
}

func newPoolShow(s streams) *cobra.Command {
	r := &remote{streams: s}
	project := ""
	c := &cobra.Command{Use: "show NAME", Short: "Show who has the slots of a pool, and who waits for them"}
	registerPoolProject(c, &project)
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		p, err := r.Pool(ctx, project, args[0])
		if err != nil {
			return err
		}
		return r.show(p, func(out printer) {
			out.pool(p.Pool)
			for _, t := range p.Taken {
				out.block("  ", "slot", t.Slot, "attempt id", t.AttemptID, "task id", t.TaskID, "since", t.Since)
			}
			for _, w := range p.Waiting {
				out.block("  ", "waits for slots", w.Slots, "attempt id", w.AttemptID, "task id", w.TaskID, "priority", w.Priority, "since", w.Since)
			}
			if !p.All {
				out.line("More tasks wait.")
			}
		})
	})
}

func newPoolHold(s streams, held bool, use, short string) *cobra.Command {
	r := &remote{streams: s}
	project := ""
	c := &cobra.Command{Use: use, Short: short}
	registerPoolProject(c, &project)
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		p, err := r.HoldPool(ctx, project, args[0], held)
		if err != nil {
			return err
		}
		return r.show(p, func(out printer) { out.pool(p) })
	})
}

func newPoolDelete(s streams) *cobra.Command {
	r := &remote{streams: s}
	project := ""
	c := &cobra.Command{Use: "delete NAME", Short: "Delete a pool that no task uses"}
	registerPoolProject(c, &project)
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		p, err := r.DeletePool(ctx, project, args[0])
		if err != nil {
			return err
		}
		return r.show(p, func(out printer) { out.line("Deleted pool: %s", p.Name) })
	})
}

func (p printer) pool(of client.Pool) {
	p.block("  ", "name", of.Name, "project", projectOf(of), "slots", of.Slots, "held", of.Held, "changed at", of.UpdatedAt)
}

// projectOf names the project of a pool; "" where it belongs to the site.
func projectOf(p client.Pool) string {
	if p.Project == nil {
		return ""
	}
	return p.Project.Name
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
