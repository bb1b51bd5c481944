package run_test

import (
	"cmp"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/run"
)

// TestCutOff checks that a run that a kill cuts off asks for a cleanup, with the state of earlier runs if there is one,
// and that the cleanup itself never does.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state  *param.Map
		cancel bool
		later  bool
	}{{param.New("commandStatus", param.New("jobId", "7")), false, true}, {param.New(), false, false}, {nil, false, false}, {param.New("a", int64(1)), true, false}} {
		ctx, kill := context.WithCancel(t.Context())
		wait := func(ctx context.Context) error { kill(); return ctx.Err() }
		op := operators.Operator{Name: "x", Clean: func(ctx context.Context, _ *operators.Task) error { return wait(ctx) },
			Run: func(ctx context.Context, _ *operators.Task) (operators.Result, error) {
				return operators.Result{}, wait(ctx)
			}}
		w := operatortest.New(t, `{}`)
		w.State = c.state
		j := &run.Job{Task: w.Task, Own: param.New("x>", "y"), Vars: param.New(), Cancel: c.cancel}
		out := run.Run(ctx, operators.Registry{"x": op}, plainText{}, j)
		if (out.Later != nil) != c.later || out.Later != nil && !param.Equal(out.Later.State, c.state) || !c.later && out.Error == nil {
			t.Errorf("%s, cancel %v: %+v", param.Text(c.state), c.cancel, out)
		}
	}
}

// TestTimeJustBefore checks that a run whose time ran out just before its task was ended fails for that reason, and
// that the work that it had started elsewhere is still named for the cleanup.
func TestTimeJustBefore(t *testing.T) {
	t.Parallel()
	started := param.New("jobId", "7")
	for name, failure := range map[string]error{"runs": nil, "polls": &operators.Later{State: started}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			op := operators.Operator{Name: "x", Run: func(ctx context.Context, _ *operators.Task) (operators.Result, error) {
				<-ctx.Done()
				end(operators.ErrEnded)
				return operators.Result{}, cmp.Or(failure, ctx.Err())
			}}
			w := operatortest.New(t, `{}`)
			w.Now = time.Now()
			j := &run.Job{Task: w.Task, Own: param.New("x>", "y"), Vars: param.New(),
				Timeout: &claim.Timeout{Limits: claim.Limits{Try: time.Hour}, TryEnds: w.Now.Add(time.Hour)}}
			out := run.Run(ctx, operators.Registry{"x": op}, plainText{}, j)
			if failure == nil {
				if message, _ := out.Error.Get("message"); message != "timed out after 1h" {
					t.Errorf("%s: %+v", name, out)
				}
			} else if out.Later == nil || !param.Equal(out.Later.State, started) {
				t.Errorf("%s: %+v", name, out)
			}
		})
	}
}
