package sandbox_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/host"
	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators/all"
	"zerodag/operators/operatortest"
	"zerodag/operators/run"
)

// throttled refuses End while on.
type throttled struct {
	sandbox.Commands
	n int
}

func (x *throttled) End(ctx context.Context, attempt int64, key, runner string, r sandbox.Result) (sandbox.Command, error) {
	if x.n > 0 {
		x.n--
		return sandbox.Command{}, fmt.Errorf("update command: %w", host.ErrUnavailable)
	}
	return x.Commands.End(ctx, attempt, key, runner, r)
}

// TestFunctionOnce proves that a command that succeeded does not run again if its end could not be stored at once.
func TestFunctionOnce(t *testing.T) {
	timed(t, func(t *testing.T) {
		s := newScene(func(context.Context, int, sandbox.Call) (sandbox.Result, error) { return sandbox.Result{}, nil })
		s.Function.Service.Commands = &throttled{s.Function.Service.Commands, 1}
		state := (*param.Map)(nil)
		for n := range 2 {
			w := operatortest.New(t, `{"_command": "true"}`)
			w.State = state
			w.Identity = sandboxtest.Task(1, 2, n+1)
			w.Identity.RetryCount = n
			w.Commands = s.For(w.Identity, "archive/0")
			j := &run.Job{Task: w.Task, Own: param.New("sh>", "true"), Vars: param.New(), Scope: expr.Scope{Zone: time.UTC, Now: operatortest.Now}}
			out := run.Run(t.Context(), all.Registry(), evaluator.InProcess(nil), j)
			t.Logf("run %d: result %v later %+v error %v calls %d", n, out.Result, out.Later, out.Error, s.count())
			if out.Later == nil {
				break
			}
			state = out.Later.State
		}
		if s.count() != 1 {
			t.Errorf("the command ran %d times though it succeeded the first time", s.count())
		}
	})
}
