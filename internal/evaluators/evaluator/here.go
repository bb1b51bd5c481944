package evaluator

import (
	"context"
	"runtime"

	"zerodag/engine/expr"
	"zerodag/engine/expr/script"
	"zerodag/engine/param"
)

// Here evaluates in this process, where only the engine's own checks limit a script: for tests, and for programs that
// run only their own workflows. No more scripts run at a time than there are processors.
type Here struct {
	options script.Options
	idle    chan *script.Engine // elements may be nil: not created yet
}

// InProcess returns a Here, which is safe for concurrent use. moment may be nil.
func InProcess(moment func() *script.Moment) *Here {
	n := runtime.GOMAXPROCS(0)
	h := &Here{options: script.Options{Moment: moment}, idle: make(chan *script.Engine, n)}
	for range n {
		h.idle <- nil
	}
	return h
}

// Eval implements run.Evaluator.
func (h *Here) Eval(_ context.Context, all, vars *param.Map, s expr.Scope) (*param.Map, error) {
	return expr.New(h.run).Eval(all, vars, s)
}

// Template implements run.Evaluator.
func (h *Here) Template(_ context.Context, text string, vars *param.Map, s expr.Scope) (string, error) {
	return expr.New(h.run).Template(text, vars, s)
}

func (h *Here) run(q expr.Script) (string, error) {
	e := <-h.idle
	sound := false
	defer func() {
		if !sound {
			e = nil // it panicked, so its state is unknown
		}
		h.idle <- e
	}()
	if e == nil {
		e = script.New(h.options)
	}
	text, err := e.Run(q)
	sound = true
	return text, err
}
