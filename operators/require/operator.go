// Package require implements `require>`: it starts another workflow for a session time, unless it has already run, and
// waits for it to finish. Any agent may run it; it must hold no thread while it waits.
package require

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns `require>`.
func Operator() operators.Operator {
	return operators.Operator{
		Name: "require", Summary: "waits for another workflow, starting it if needed", Retries: true, Run: run,
	}
}

// State params, with Digdag's names.
const (
	retryKey   = "retry" // polls so far
	kickedKey  = "require_kicked"
	sessionKey = "target_session_id"
	attemptKey = "target_attempt_id"
	rerunKey   = "rerun_on_retry_attempt_name"
	successKey = "task_finish_success"
)

const longestPoll = 10 * time.Second

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	o, err := read(t)
	if err != nil {
		return operators.Result{}, err
	}
	state := operators.NewParams(t.State)
	if t.State.Has(successKey) {
		return operators.Result{}, finish(state)
	}
	attempt, err := t.Workflows.StartAttempt(ctx, o.request)
	if errors.Is(err, operators.ErrPaused) {
		return operators.Result{}, poll(t, "", nil, operators.StartedAttempt{})
	}
	if err != nil {
		return operators.Result{}, startFailure(o.request, t.ProjectID, err)
	}
	if attempt.New {
		return operators.Result{}, poll(t, kickedKey, true, attempt)
	}
	if !attempt.Done {
		return operators.Result{}, poll(t, "", nil, attempt)
	}
	kicked, err := state.BoolOr(kickedKey, false)
	if err != nil {
		return operators.Result{}, err
	}
	if !kicked && o.reruns(attempt) {
		return operators.Result{}, poll(t, rerunKey, rerunName(t), operators.StartedAttempt{})
	}
	later := poll(t, successKey, attempt.Success || o.ignoreFailure, attempt)
	later.After = time.Second
	return operators.Result{}, later
}

// poll requests another run, with additional state; each wait is twice the previous one.
func poll(t *operators.Task, key string, v param.Value, attempt operators.StartedAttempt) *operators.Later {
	polls, _ := operators.NewParams(t.State).IntOr(retryKey, 0) // ours: always a number
	state := t.State.Clone()
	if attempt.AttemptID != 0 {
		state.Set(sessionKey, attempt.SessionID)
		state.Set(attemptKey, attempt.AttemptID)
	}
	if key != "" {
		state.Set(key, v)
	}
	state.Set(retryKey, polls+1)
	wait := longestPoll
	if polls < 4 {
		wait = min(wait, time.Second<<polls)
	}
	return &operators.Later{After: wait, State: state}
}

func finish(state *operators.Params) error {
	success, err := state.BoolOr(successKey, false)
	if err != nil || success {
		return err
	}
	session, err := state.IntOr(sessionKey, 0)
	if err != nil {
		return err
	}
	attempt, err := state.IntOr(attemptKey, 0)
	if err != nil {
		return err
	}
	return operators.Failf("Dependent workflow failed. Session id: %d, attempt id: %d", session, attempt)
}

func startFailure(r operators.StartRequest, own int64, err error) error {
	switch {
	case errors.Is(err, operators.ErrNoWorkflow):
		project := "projectName: " + r.ProjectName
		if r.ProjectName == "" {
			id := r.ProjectID
			if id == 0 {
				id = own
			}
			project = fmt.Sprintf("projectId: %d", id)
		}
		return operators.Failf("Dependent workflow does not exist. %s, workflowName:%s", project, r.Workflow)
	case errors.Is(err, operators.ErrTooManyAttempts):
		return operators.Causedf(err, "%v", err)
	}
	return fmt.Errorf("start workflow %s: %w", r.Workflow, err)
}

// rerunName returns a name that is unique to each task, and the same if a run is delivered twice.
func rerunName(t *operators.Task) string {
	return operators.Derived(t.IdempotencyKey(), t.SessionUUID, t.Dispatch)
}
