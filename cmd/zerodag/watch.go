package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/attemptview"
	"zerodag/internal/program"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
)

// newWatch returns the command that shows the progress of an attempt, as `run` does for its own.
func newWatch(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "watch attempt-id", Short: "Watch the tasks of an attempt until it ends; exit code 0 only if it succeeded"}
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		if !r.Ours() {
			return program.UsageError(fmt.Errorf("watch is interactive: with --output %s use `zerodag attempt` and `zerodag tasks`", r.Format))
		}
		a, err := r.attemptOf(ctx, args[0])
		if err != nil {
			return err
		}
		id := a.ID
		r.Hint("Attempt %s of %s/%s, session %s", a.ID, a.Project.Name, a.Workflow.Name, term.OffsetText(a.SessionTime))
		a, err = r.AttemptViews().Follow(ctx, id, r.newWatcher())
		if ctx.Err() != nil {
			r.Hint("The attempt continues: `zerodag watch %s` shows it again, `zerodag kill %s` ends it.", id, id)
		}
		if err != nil {
			return err
		}
		return r.TellOutcome(ctx, a, taskview.LastLines)
	})
}

// newWatcher returns the live tree for a terminal, and lines about changes for everything else.
func (r *remote) newWatcher() attemptview.Watcher {
	if file, ok := term.Watched(r.Out); ok {
		return taskview.NewTree(term.NewPicture(file, term.Size(file)), nil, term.WholeDuration)
	}
	return taskview.NewChanges(taskview.Lines{Out: r.Out, Whole: true})
}
