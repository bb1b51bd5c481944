package expr

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"

	"zerodag/engine/param"
)

const (
	maxCalls    = 1000 // depth of calls
	maxAttempts = 3    // of an evaluation whose result is in doubt
)

// script is a JavaScript runtime. It evaluates one template, so that nothing which a
// script changes is seen by another, or any number of pure ones.
type script struct {
	rt        *goja.Runtime
	libraries *libraries
	scope     *Scope // of the evaluation under way
	guarded   bool
	spent     func() time.Duration // see Options
}

// run evaluates a compiled template in a runtime of its own, except for the chains of
// moment's own functions that are most of what is written: those change nothing that
// another could see, and share a runtime, as loading moment costs more than they do.
func (e *Evaluator) run(c *compiled, sc scope, s *Scope) (string, error) {
	if c.plan.pure {
		if e.shared == nil {
			e.shared = e.newScript()
		}
		result, doubtful, err := e.shared.eval(c, sc, s)
		if err == nil && !doubtful {
			return result, nil
		}
		// Whatever it was: the runtime is not trusted any more, and a fresh one decides.
		e.shared = nil
	}
	for range maxAttempts - 1 {
		if result, doubtful, err := e.newScript().eval(c, sc, s); !doubtful {
			return result, err
		}
	}
	result, _, err := e.newScript().eval(c, sc, s)
	return result, err
}

func (e *Evaluator) newScript() *script {
	x := &script{rt: goja.New(), libraries: e.library(), spent: e.options.Spent}
	x.rt.SetMaxCallStackSize(maxCalls)
	x.rt.SetTimeSource(func() time.Time { return x.scope.Now })
	return x
}

// eval evaluates a template, and says whether the result is in doubt. A script that is used again must be pure.
func (x *script) eval(c *compiled, sc scope, s *Scope) (result string, doubtful bool, err error) {
	if c.plan.call {
		w := watch(x.rt, x.spent)
		defer func() { doubtful = w.stop() }()
	}
	defer func() {
		// A defect of the engine must not end the process.
		if p := recover(); p != nil {
			result, err = "", fmt.Errorf("the JavaScript engine failed: %v", p)
		}
	}()
	x.scope = s
	x.rt.SetRandSource(random(s.Seed))
	result, err = x.evaluate(c, sc)
	return result, false, err
}

func (x *script) evaluate(c *compiled, sc scope) (string, error) {
	params, err := x.params(sc.visible(c))
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
	if len(result) > maxResult {
		return "", fmt.Errorf("the result is longer than %d bytes", maxResult)
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
		return nil, errors.New("SyntaxError: the expression ends its own function")
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

// visible is the part of the scope that the expressions can see: all of it when they
// could look at it as a whole, else the parameters whose names occur in them. Most
// scripts use a few of many parameters, and each of them gets a fresh copy.
func (sc scope) visible(c *compiled) *param.Map {
	if c.plan.whole {
		return sc.merged()
	}
	return sc.seen(c.text)
}

// reach is what a template can see at most, as far as that shows without parsing it: more
// than visible, never less.
func (sc scope) reach(parts []part) *param.Map {
	text := expressions(parts)
	if seesAll(text, mayCompute(text)) {
		return sc.merged()
	}
	return sc.seen(text)
}

// seen are the parameters whose names occur in the text of expressions.
func (sc scope) seen(text string) *param.Map {
	m := param.New()
	for key, value := range sc.vars.All() {
		if named(text, key) && !sc.siblings.Has(key) {
			m.Set(key, markCode(value, sc.mark))
		}
	}
	for key, value := range sc.siblings.All() {
		if named(text, key) {
			m.Set(key, value)
		}
	}
	return m
}

// named says whether the script may see key: it is in its text, or the code around
// the expressions uses it.
func named(text, key string) bool {
	switch key {
	case "JSON", "Array", "print", "undefined":
		return true
	}
	return strings.HasPrefix(key, "__") || strings.Contains(text, key)
}
