package run_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/run"
)

// plainText is for tasks without `${...}`.
type plainText struct{}

func (plainText) Eval(_ context.Context, all, _ *param.Map, _ expr.Scope) (*param.Map, error) {
	return all, nil
}

func (plainText) Template(_ context.Context, text string, _ *param.Map, _ expr.Scope) (string, error) {
	return text, nil
}

// TestErrorAsErrorTasksSeeIt checks which failures have a stack trace: failures with an exception have one, and
// failures with only a message have none. The trace never contains the message of a cause.
func TestErrorAsErrorTasksSeeIt(t *testing.T) {
	t.Parallel()
	secret := errors.New("password hunter2 is wrong")
	for want, err := range map[string]error{
		`{"message":"boom"}`: operators.Failf("boom"),
		`{"message":"Failed to connect","stacktrace":"*fmt.wrapError, *errors.errorString"}`:                      operators.Causedf(fmt.Errorf("dial: %w", secret), "Failed to connect"),
		`{"message":"code 3 (runtime)","stacktrace":"*operators.Fault"}`:                                          operators.Faultf("", "code 3"),
		`{"message":"bad (config)","stacktrace":"*param.ConfigError"}`:                                            param.Errorf("bad"),
		`{"message":"a\nb (runtime)","stacktrace":"*errors.joinError, *errors.errorString, *errors.errorString"}`: errors.Join(errors.New("a"), errors.New("b")),
		`{"message":"ValueError: x","stacktrace":"File y","exit_code":1}`:                                         &operators.Failure{Message: "ValueError: x", Trace: "File y", Properties: param.New("exit_code", int64(1))},
		`{"message":"no","code":7}`: &operators.Failure{Message: "no", Properties: param.New("code", int64(7))},
	} {
		op := operators.Operator{Name: "x", Run: func(context.Context, *operators.Task) (operators.Result, error) { return operators.Result{}, err }}
		w := operatortest.New(t, `{}`)
		j := &run.Job{Task: w.Task, Own: param.New("x>", "y"), Vars: param.New()}
		out := run.Run(t.Context(), operators.Registry{"x": op}, plainText{}, j)
		if got := param.Text(out.Error); got != want {
			t.Errorf("%v is seen as %s, want %s", err, got, want)
		}
	}
}
