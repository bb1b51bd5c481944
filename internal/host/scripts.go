package host

import (
	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/operators"
)

// scripts evaluates `${...}` for all runs with a few evaluators, each lent for one
// evaluation: no more scripts run at a time than there are processors, and a command that
// takes hours holds no evaluator.
type scripts struct {
	fresh func() operators.Evaluator
	idle  chan operators.Evaluator // nil: not made yet
}

func newScripts(n int, fresh func() operators.Evaluator) scripts {
	s := scripts{fresh: fresh, idle: make(chan operators.Evaluator, n)}
	for range n {
		s.idle <- nil
	}
	return s
}

// Eval implements operators.Evaluator.
func (s *scripts) Eval(all, vars *param.Map, scope expr.Scope) (*param.Map, error) {
	return lend(s, func(e operators.Evaluator) (*param.Map, error) { return e.Eval(all, vars, scope) })
}

// Template implements operators.Evaluator.
func (s *scripts) Template(text string, vars *param.Map, scope expr.Scope) (string, error) {
	return lend(s, func(e operators.Evaluator) (string, error) { return e.Template(text, vars, scope) })
}

func lend[T any](s *scripts, do func(operators.Evaluator) (T, error)) (T, error) {
	e := <-s.idle
	sound := false
	defer func() {
		if !sound {
			e = nil // it panicked: nobody knows what state it is in
		}
		s.idle <- e
	}()
	if e == nil {
		e = s.fresh()
	}
	v, err := do(e)
	sound = true
	return v, err
}
