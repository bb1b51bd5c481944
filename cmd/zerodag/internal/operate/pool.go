package operate

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// NewPool returns the commands that manage a server's pools.
func NewPool(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "pool",
		Short: "Set, show, hold and delete pools of slots that tasks share",
		RunE:  func(c *cobra.Command, _ []string) error { return cli.ShowUsage(c, s) },
	}
	hold := newPoolHold(s, true, "hold NAME", "Stop a pool from giving out slots: its tasks wait instead of failing")
	release := newPoolHold(s, false, "release NAME", "Let a held pool give out slots again")
	c.AddCommand(newPoolSet(s), newPoolList(s), newPoolShow(s), hold, release, newPoolDelete(s))
	return c
}

func registerPoolProject(c *cobra.Command, project *string) {
	c.Flags().StringVar(project, "project", "", "pool of the project `NAME` (default: of the whole site)")
}

func newPoolSet(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	project := ""
	c := &cobra.Command{Use: "set NAME SLOTS", Short: "Create a pool, or change its number of slots"}
	registerPoolProject(c, &project)
	return r.Command(c, 2, 2, func(ctx context.Context, args []string) error {
		slots, err := strconv.Atoi(args[1])
		if err != nil {
			return program.UsageError(fmt.Errorf("%q is not a number of slots: write, for example, zerodag pool set %s 5", args[1], args[0]))
		}
		if err := r.Open(ctx); err != nil {
			return err
		}
		p, err := r.SetPool(ctx, project, args[0], slots)
		if err != nil {
			return err
		}
		return r.Show(p, func(out cli.Printer) { printPool(out, p) })
	})
}

func newPoolList(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "list", Short: "Show the pools of the site and of its projects"}
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
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
		return r.List(list, func(out cli.Printer) {
			out.Line("Pools:")
			for _, p := range list {
				printPool(out, p)
			}
			out.Line("%d entries.", len(list))
		}, all, "There are no pools.")
	})
}

func newPoolShow(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	project := ""
	c := &cobra.Command{Use: "show NAME", Short: "Show the tasks that have slots of a pool, and the tasks that wait for them"}
	registerPoolProject(c, &project)
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		p, err := r.Pool(ctx, project, args[0])
		if err != nil {
			return err
		}
		return r.Show(p, func(out cli.Printer) {
			printPool(out, p.Pool)
			for _, t := range p.Taken {
				out.Block("  ", "slot", t.Slot, "attempt id", t.AttemptID, "task id", t.TaskID, "since", t.Since)
			}
			for _, w := range p.Waiting {
				out.Block("  ", "waits for slots", w.Slots, "attempt id", w.AttemptID, "task id", w.TaskID, "priority", w.Priority, "since", w.Since)
			}
			if !p.All {
				out.Line("More tasks are waiting.")
			}
		})
	})
}

func newPoolHold(s cli.Streams, held bool, use, short string) *cobra.Command {
	r := &cli.Remote{Streams: s}
	project := ""
	c := &cobra.Command{Use: use, Short: short}
	registerPoolProject(c, &project)
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		p, err := r.HoldPool(ctx, project, args[0], held)
		if err != nil {
			return err
		}
		return r.Show(p, func(out cli.Printer) { printPool(out, p) })
	})
}

func newPoolDelete(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	project := ""
	c := &cobra.Command{Use: "delete NAME", Short: "Delete a pool that no task uses"}
	registerPoolProject(c, &project)
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		p, err := r.DeletePool(ctx, project, args[0])
		if err != nil {
			return err
		}
		return r.Show(p, func(out cli.Printer) { out.Line("Deleted pool: %s", p.Name) })
	})
}

func printPool(p cli.Printer, of client.Pool) {
	p.Block("  ", "name", of.Name, "project", projectOf(of), "slots", of.Slots, "held", of.Held, "changed at", of.UpdatedAt)
}

// projectOf returns the project of a pool; "" if it belongs to the site.
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
