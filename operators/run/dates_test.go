package run_test

import (
	"context"
	"strings"
	"testing"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/run"
)

// noDate evaluates each string to the text of a date that moment cannot parse.
type noDate struct{ plainText }

func (noDate) Eval(_ context.Context, all, _ *param.Map, _ expr.Scope) (*param.Map, error) {
	return param.Merge(all, param.New("x>", "until Invalid date")), nil
}

// TestInvalidDate checks that a date that moment cannot parse is reported in the log, because Digdag runs such a task,
// and that it fails the task in a file with `zerodag: 1`. It also checks that a string that only contains these words
// does not count as such a date.
func TestInvalidDate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		level         int
		written       string
		fails, logged bool
	}{
		{0, "until ${moment(day)}", false, true},
		{1, "until ${moment(day)}", true, false},
		{0, "until ${message}", false, false},
		{1, "until ${message}", false, false},
		{1, "until Invalid date ${moment(day)}", false, false},
	} {
		ran := false
		op := operators.Operator{Name: "x", Run: func(context.Context, *operators.Task) (operators.Result, error) {
			ran = true
			return operators.Result{}, nil
		}}
		w := operatortest.New(t, `{}`)
		j := &run.Job{Task: w.Task, Own: param.New("x>", c.written), Vars: param.New()}
		j.Level = c.level
		out := run.Run(t.Context(), operators.Registry{"x": op}, noDate{}, j)
		if failed := out.Error != nil; failed != c.fails || ran == c.fails || strings.Contains(w.Output.String(), "moment cannot parse") != (c.logged || c.fails) {
			t.Errorf("%q with level %d: failed %v, ran %v, log %q", c.written, c.level, failed, ran, w.Output.String())
		}
	}
}
