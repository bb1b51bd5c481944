package require_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/require"
)

const good = `{"_command": "child", "session_time": "2024-02-29T12:34:56+00:00"}`

func TestRequire(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: require.Operator(),
		Good:     good,
		Wrong: []string{
			`{"session_time": "2024-02-29T12:34:56+00:00"}`, `{"_command": "child"}`, `{"_command": "child", "session_time": "noon"}`,
			with(`"rerun_on": "x"`), with(`"params": 1`), with(`"ignore_failure": "x"`), with(`"project_id": 1, "project_name": "x"`),
			with(`"project_id": "x"`), with(`"retry_attempt_name": {}`),
		},
	})
}

func with(more string) string { return good[:len(good)-1] + ", " + more + "}" }

var (
	running = operators.StartedAttempt{SessionID: 7, AttemptID: 8}
	started = operators.StartedAttempt{SessionID: 7, AttemptID: 8, New: true}
	passed  = operators.StartedAttempt{SessionID: 7, AttemptID: 8, Done: true, Success: true}
	failed  = operators.StartedAttempt{SessionID: 7, AttemptID: 8, Done: true}
)

// TestSteps makes one run for each case, with a state and a response, and compares the pause and the new state.
func TestSteps(t *testing.T) {
	t.Parallel()
	const ids = `"target_session_id":7,"target_attempt_id":8`
	for name, c := range map[string]struct {
		params, state string
		answer        operators.StartedAttempt
		after         time.Duration
		next          string
	}{
		"starts":               {good, `{}`, started, time.Second, `{` + ids + `,"require_kicked":true,"retry":1}`},
		"waits":                {good, `{"require_kicked":true,"retry":2}`, running, 4 * time.Second, `{"require_kicked":true,"retry":3,` + ids + `}`},
		"waits long":           {good, `{"retry":40}`, running, 10 * time.Second, `{"retry":41,` + ids + `}`},
		"passed":               {good, `{"retry":3}`, passed, time.Second, `{"retry":4,` + ids + `,"task_finish_success":true}`},
		"failed":               {good, `{}`, failed, time.Second, `{` + ids + `,"task_finish_success":false,"retry":1}`},
		"failed and ignored":   {with(`"ignore_failure": true`), `{}`, failed, time.Second, `{` + ids + `,"task_finish_success":true,"retry":1}`},
		"all runs again":       {with(`"rerun_on": "all"`), `{}`, passed, time.Second, `{"rerun_on_retry_attempt_name":"UUID","retry":1}`},
		"failed runs again":    {with(`"rerun_on": "failed"`), `{}`, failed, time.Second, `{"rerun_on_retry_attempt_name":"UUID","retry":1}`},
		"passed is kept":       {with(`"rerun_on": "failed"`), `{}`, passed, time.Second, `{` + ids + `,"task_finish_success":true,"retry":1}`},
		"own run is not again": {with(`"rerun_on": "all"`), `{"require_kicked":true}`, passed, time.Second, `{"require_kicked":true,` + ids + `,"task_finish_success":true,"retry":1}`},
	} {
		w := operatortest.New(t, c.params)
		w.State = operatortest.Map(t, c.state)
		w.Grants.Answers = []operators.StartedAttempt{c.answer}
		_, err := require.Operator().Run(t.Context(), &w.Task)
		var later *operators.Later
		if !errors.As(err, &later) {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		next := uuid.ReplaceAllString(param.Text(later.State), "UUID")
		if diff := cmp.Diff([]string{c.after.String(), c.next}, []string{later.After.String(), next}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// TestPaused checks that the task keeps asking while the other workflow's project is paused.
func TestPaused(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, good)
	w.Grants.Err = fmt.Errorf("start: %w", operators.ErrPaused)
	for n, after := range []time.Duration{1, 2, 4, 8, 10, 10} {
		_, err := require.Operator().Run(t.Context(), &w.Task)
		var later *operators.Later
		if !errors.As(err, &later) || later.After != after*time.Second || param.Text(later.State) != fmt.Sprintf(`{"retry":%d}`, n+1) {
			t.Fatalf("look %d: %v", n+1, err)
		}
		w.State = later.State
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		params, state string
		err           error
		want          operatortest.Ended
	}{
		"success": {good, `{"task_finish_success":true}`, nil, operatortest.Ended{}},
		"failure": {good, `{"task_finish_success":false,"target_session_id":7,"target_attempt_id":8}`, nil,
			operatortest.Ended{Error: "Dependent workflow failed. Session id: 7, attempt id: 8"}},
		"no workflow": {good, `{}`, fmt.Errorf("look: %w", operators.ErrNoWorkflow),
			operatortest.Ended{Error: "Dependent workflow does not exist. projectId: 3, workflowName:child"}},
		"no project": {with(`"project_name": "other"`), `{}`, operators.ErrNoWorkflow,
			operatortest.Ended{Error: "Dependent workflow does not exist. projectName: other, workflowName:child"}},
		"too many": {good, `{}`, operators.ErrTooManyAttempts, operatortest.Ended{Error: "too many attempts running"}},
		"trouble": {good, `{}`, errors.New("no store"),
			operatortest.Ended{Error: "start workflow child: no store", Kind: "runtime"}},
	} {
		w := operatortest.New(t, c.params)
		w.State = operatortest.Map(t, c.state)
		w.Grants.Err = c.err
		if diff := cmp.Diff(c.want, operatortest.RunOnce(t, require.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"_command": "child", "session_time": "2024-01-01T09:00:00+09:00", "params": {"a": 1},
		"project_name": "other", "retry_attempt_name": "again"}`)
	operatortest.RunOnce(t, require.Operator(), w)
	w.Local = param.New() // an inherited parameter does not count
	w.State = param.New("rerun_on_retry_attempt_name", "rerun")
	operatortest.RunOnce(t, require.Operator(), w)
	want := []string{"other again", " rerun"}
	var got []string
	for _, r := range w.Grants.Requests {
		got = append(got, r.ProjectName+" "+r.RetryAttemptName)
		if r.Workflow != "child" || !r.SessionTime.Equal(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)) || param.Text(r.Params) != `{"a":1}` {
			t.Errorf("got %+v", r)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
