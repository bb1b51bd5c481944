package evaluators

import (
	"context"
	"runtime"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/operators"
)

// Here evaluates in this process, where only the engine's own guards bound a script: for
// tests, and for programs that run only workflows of their own. No more scripts run at
// a time than there are processors.
type Here struct {
	options expr.Options
	idle    chan *expr.Evaluator // nil: not made yet
}

// InProcess makes a Here; it is safe for concurrent use. moment may be nil.
func InProcess(moment func() *expr.Moment) *Here {
	n := runtime.GOMAXPROCS(0)
	h := &Here{options: expr.Options{Moment: moment}, idle: make(chan *expr.Evaluator, n)}
	for range n {
		h.idle <- nil
	}
	return h
}

// Eval implements operators.Evaluator.
func (h *Here) Eval(_ context.Context, all, vars *param.Map, s expr.Scope) (*param.Map, error) {
	return lend(h, func(e *expr.Evaluator) (*param.Map, error) { return e.Eval(all, vars, s) })
}

// Template implements operators.Evaluator.
func (h *Here) Template(_ context.Context, text string, vars *param.Map, s expr.Scope) (string, error) {
	return lend(h, func(e *expr.Evaluator) (string, error) { return e.Template(text, vars, s) })
}

func lend[T any](h *Here, do func(*expr.Evaluator) (T, error)) (T, error) {
	e := <-h.idle
	sound := false
	defer func() {
		if !sound {
			e = nil // it panicked: what state it is in is not known
		}
		h.idle <- e
	}()
	if e == nil {
		e = expr.New(h.options)
	}
	v, err := do(e)
	sound = true
	return v, err
}

var _ operators.Evaluator = (*Here)(nil)
