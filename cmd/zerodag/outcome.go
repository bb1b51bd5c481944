package main

import (
	"context"
	"fmt"

	"zerodag/internal/attemptview"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// attempts reads attempts of the server.
func (r *remote) attempts() attemptview.Attempts { return attemptview.Attempts{Client: r.Client} }

// tellOutcome says on the error output how an attempt has ended. The error ends the program with code 1
// if that is no success.
func (r *remote) tellOutcome(ctx context.Context, a client.Attempt, lines int) error {
	if a.Success {
		return r.tellEnd(a, nil)
	}
	failed, err := r.attempts().Failures(ctx, a, lines)
	if err != nil {
		return err
	}
	return r.tellEnd(a, failed)
}

// tellEnd is tellOutcome with failures that were found already.
func (r *remote) tellEnd(a client.Attempt, failed []attemptview.Failure) error {
	_, ink := term.Look(r.err)
	fmt.Fprint(r.err, attemptview.Outcome(a, failed, ink))
	if !a.Success {
		return program.ErrShown
	}
	return nil
}

// tellFailed writes to the error output of a list or a log which logs of an attempt are incomplete, why it failed, and
// what resumes it; nothing else about a success. tasks are those of the attempt, nil where they were not read.
func (r *remote) tellFailed(ctx context.Context, id client.ID, tasks []client.Task) error {
	a, err := r.Attempt(ctx, id)
	if err != nil || !a.Done {
		return err
	}
	if tasks == nil {
		if tasks, err = r.Tasks(ctx, id); err != nil {
			return err
		}
	}
	r.warnings(attemptview.IncompleteLogs(tasks))
	if a.Success {
		return nil
	}
	failed, err := r.attempts().FailuresAmong(ctx, a, tasks, 0)
	if err != nil {
		return err
	}
	_, ink := term.Look(r.err)
	fmt.Fprint(r.err, attemptview.Outcome(a, failed, ink))
	return nil
}
