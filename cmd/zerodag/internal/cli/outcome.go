package cli

import (
	"context"
	"fmt"

	"zerodag/internal/attemptview"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// AttemptViews reads attempts from the server.
func (r *Remote) AttemptViews() attemptview.Attempts { return attemptview.Attempts{Client: r.Client} }

// TellOutcome reports on stderr how an attempt has ended. The error ends the program with code 1 if it did not succeed.
func (r *Remote) TellOutcome(ctx context.Context, a client.Attempt, lines int) error {
	if a.Success {
		return r.TellEnd(a, nil)
	}
	failed, err := r.AttemptViews().Failures(ctx, a, lines)
	if err != nil {
		return err
	}
	return r.TellEnd(a, failed)
}

// TellEnd is TellOutcome with failures that were already found.
func (r *Remote) TellEnd(a client.Attempt, failed []attemptview.Failure) error {
	_, ink := term.Look(r.Err)
	fmt.Fprint(r.Err, attemptview.Outcome(a, failed, ink))
	if !a.Success {
		return program.ErrShown
	}
	return nil
}

// TellFailed writes to stderr, after a list or a log, which logs of an attempt are incomplete, why it failed, and how
// to resume it. It writes nothing else about a successful attempt. tasks are those of the attempt, nil if they were not
// read.
func (r *Remote) TellFailed(ctx context.Context, id client.ID, tasks []client.Task) error {
	a, err := r.Attempt(ctx, id)
	if err != nil || !a.Done {
		return err
	}
	if tasks == nil {
		if tasks, err = r.Tasks(ctx, id); err != nil {
			return err
		}
	}
	r.Warnings(attemptview.IncompleteLogs(tasks))
	if a.Success {
		return nil
	}
	failed, err := r.AttemptViews().FailuresAmong(ctx, a, tasks, 0)
	if err != nil {
		return err
	}
	_, ink := term.Look(r.Err)
	fmt.Fprint(r.Err, attemptview.Outcome(a, failed, ink))
	return nil
}

// Warnings shows a server's warnings.
func (r *Remote) Warnings(list []string) {
	for _, w := range list {
		fmt.Fprintf(r.Err, "warning: %s\n", w)
	}
}
