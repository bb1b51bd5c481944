package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
)

// newAttempts lists attempts.
func newAttempts(s streams) *cobra.Command {
	r := &remote{streams: s}
	var page pageFlags
	c := &cobra.Command{Use: "attempts [session-id]", Short: "Show attempts of all sessions or of one"}
	page.registerShort(c, "attempts")
	return r.command(c, 0, 1, func(ctx context.Context, args []string) error {
		var session client.ID
		if len(args) == 1 {
			var err error
			if session, err = idArgument("session-id", args[0]); err != nil {
				return err
			}
		}
		if err := r.open(ctx); err != nil {
			return err
		}
		list, err := r.Attempts(ctx, session, page.page())
		if err != nil {
			return err
		}
		slices.Reverse(list)
		return r.show(list, func(p printer) {
			p.line("Session attempts:")
			for _, a := range list {
				p.attempt(a)
			}
			r.hintStart(len(list))
		})
	})
}

// openAttempt reads the id of an attempt, before the server is asked anything.
func (r *remote) openAttempt(ctx context.Context, argument string) (client.ID, error) {
	id, err := idArgument("attempt-id", argument)
	if err != nil {
		return "", err
	}
	return id, r.open(ctx)
}

// newAttempt shows one attempt.
func newAttempt(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "attempt attempt-id", Short: "Show an attempt"}
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		a, err := r.Attempt(ctx, id)
		if err != nil {
			return err
		}
		return r.show(a, func(p printer) { p.attempt(a) })
	})
}

func (p printer) attempt(a client.Attempt) {
	p.block("  ", "session id", a.SessionID, "attempt id", a.ID, "uuid", a.SessionUUID, "project", a.Project.Name, "workflow", a.Workflow.Name,
		"session time", offsetTime(a.SessionTime), "retry attempt name", a.RetryAttemptName, "params", a.Params,
		"created at", a.CreatedAt, "finished at", a.FinishedAt, "kill requested", a.CancelRequested, "status", a.Status)
}

// newKill ends an attempt.
func newKill(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "kill attempt-id", Short: "Kill a running attempt"}
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		a, err := r.Kill(ctx, id)
		if err != nil {
			return err
		}
		return r.show(a, func(p printer) { p.line("Kill requested for session attempt %s", id) })
	})
}

// newTasks lists the tasks of an attempt.
func newTasks(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "tasks attempt-id", Aliases: []string{"task"}, Short: "Show the tasks of an attempt"}
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		list, err := r.Tasks(ctx, id)
		if err != nil {
			return err
		}
		if len(list) == 0 { // an attempt that does not exist has none either
			if _, err := r.Attempt(ctx, id); err != nil {
				return err
			}
		}
		return r.show(list, func(p printer) {
			for _, t := range list {
				p.block("   ", "id", t.ID, "name", t.FullName, "state", t.State, "started", t.StartedAt, "updated", t.UpdatedAt,
					"config", t.Config, "parent", t.ParentID, "upstreams", t.Upstreams, "export params", t.ExportParams,
					"store params", t.StoreParams, "state params", t.StateParams)
			}
			p.line("%d entries.", len(list))
		})
	})
}
