package script

import (
	"errors"
	"fmt"
	"time"

	"github.com/dop251/goja"

	"zerodag/engine/expr"
	"zerodag/engine/param"
)

const (
	maxCalls    = 1000 // depth of calls
	maxAttempts = 3    // of an evaluation whose result is in doubt
)

// script is a JavaScript runtime. It evaluates one template, so that no other template sees its changes, or any number
// of pure ones.
type script struct {
	rt        *goja.Runtime
	libraries *libraries
	scope     *expr.Scope // of the evaluation under way
	guarded   bool
	spent     func() time.Duration // see Options
}

// run evaluates a compiled template in a separate runtime. The exceptions are chains of moment's own methods, which are
// most of what users write: they have no side effects and share a runtime, since loading moment costs more than running
// them.
func (e *Engine) run(c *compiled, vars *param.Map, s *expr.Scope) (string, error) {
	if c.plan.pure {
		if e.shared == nil {
			e.shared = e.newScript()
		}
		result, doubtful, err := e.shared.eval(c, vars, s)
		if err == nil && !doubtful {
			return result, nil
		}
		// Whatever happened, the runtime is no longer trusted, and a fresh one decides.
		e.shared = nil
	}
	for range maxAttempts - 1 {
		if result, doubtful, err := e.newScript().eval(c, vars, s); !doubtful {
			return result, err
		}
	}
	result, _, err := e.newScript().eval(c, vars, s)
	return result, err
}

func (e *Engine) newScript() *script {
	x := &script{rt: goja.New(), libraries: e.library(), spent: e.options.Spent}
	x.rt.SetMaxCallStackSize(maxCalls)
	x.rt.SetTimeSource(func() time.Time { return x.scope.Now })
	return x
}

// eval evaluates a template, and reports whether the result is in doubt. Only a pure script may be reused.
func (x *script) eval(c *compiled, vars *param.Map, s *expr.Scope) (result string, doubtful bool, err error) {
	if c.plan.call {
		w := watch(x.rt, x.spent)
		defer func() { doubtful = w.stop() }()
	}
	defer func() {
		// A bug in the engine must not end the process.
		if p := recover(); p != nil {
			result, err = "", fmt.Errorf("the JavaScript engine failed: %v", p)
		}
	}()
	x.scope = s
	x.rt.SetRandSource(random(s.Seed))
	result, err = x.evaluate(c, vars)
	return result, false, err
}

func (x *script) evaluate(c *compiled, vars *param.Map) (string, error) {
	params, err := x.params(visible(c, vars))
	if err != nil {
		return "", message(err)
	}
	if c.plan.call && !x.guarded {
		if err := x.guard(c.plan, params); err != nil {
			return "", message(err)
		}
		x.guarded = true
	}
	v, err := x.call(c.program, params)
	if err != nil {
		return "", nameCallee(message(err), err, c.source)
	}
	result := v.String()
	if len(result) > expr.MaxResult {
		return "", fmt.Errorf("the result is longer than %d bytes", expr.MaxResult)
	}
	return result, nil
}

// call runs a program that is a function, with params as its `this`.
func (x *script) call(program *goja.Program, params goja.Value) (goja.Value, error) {
	v, err := x.rt.RunProgram(program)
	if err != nil {
		return nil, err
	}
	fn, ok := goja.AssertFunction(v)
	if !ok {
		return nil, errors.New("SyntaxError: the expression closes its enclosing function")
	}
	return fn(params)
}

// params makes the object that expressions see as their variables and as `this`.
func (x *script) params(vars *param.Map) (goja.Value, error) {
	parse, ok := goja.AssertFunction(x.rt.Get("JSON").ToObject(x.rt).Get("parse"))
	if !ok {
		return nil, errors.New("JSON.parse is missing")
	}
	return parse(goja.Undefined(), x.rt.ToValue(param.Text(vars)))
}

// visible returns the parameters that the expressions can see: all of them if they could use them as a whole, otherwise
// those whose names occur in them. Most scripts use few of many parameters, and each script gets a fresh copy.
func visible(c *compiled, vars *param.Map) *param.Map {
	if c.plan.whole {
		return vars
	}
	m := param.New()
	for key, value := range vars.All() {
		if expr.Named(c.text, key) {
			m.Set(key, value)
		}
	}
	return m
}
