package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/run"
)

// broken is an Evaluator that cannot be started.
type broken struct{ err error }

func (b broken) Eval(context.Context, *param.Map, *param.Map, expr.Scope) (*param.Map, error) {
	return nil, fmt.Errorf("evaluate: %w", b.err)
}

func (b broken) Template(context.Context, string, *param.Map, expr.Scope) (string, error) {
	return "", b.err
}

// TestNoEvaluator checks that a task waits about a minute for an evaluator that does not start, keeps the state of
// earlier runs in the meantime, and then fails with the reason. It also checks that the task keeps waiting if the
// machine lacks a resource only temporarily.
func TestNoEvaluator(t *testing.T) {
	t.Parallel()
	once := func(err error, state *param.Map) run.Outcome {
		w := operatortest.New(t, `{}`)
		own, retries, away := run.Resume(state, 0)
		w.State, w.RetryCount = own, retries
		return run.Run(t.Context(), operators.Registry{}, broken{err}, &run.Job{Task: w.Task, Own: param.New("x>", "y"), Vars: param.New(), Away: away})
	}
	for err, ends := range map[error]bool{operators.ErrNoEvaluator: true, operators.ErrUnavailable: false} {
		state, waited := param.New("jobId", "7"), time.Duration(0)
		out := once(err, state)
		for n := 0; out.Later != nil && n < 20; n++ {
			if own, _, _ := run.Resume(out.Later.State, 0); own.Len() != 1 || !own.Has("jobId") {
				t.Fatalf("the state of the run is lost: %s", param.Text(out.Later.State))
			}
			waited += out.Later.After
			out = once(err, out.Later.State)
		}
		if (out.Later == nil) != ends {
			t.Errorf("%v: after %v it ended: %v, want %v", err, waited, !ends, ends)
		}
		if message, _ := out.Error.Get("message"); ends && (waited < 25*time.Second || waited > time.Minute+5*time.Second || !strings.Contains(fmt.Sprint(message), err.Error())) {
			t.Errorf("%v: failed after %v with %v", err, waited, message)
		}
	}
}
