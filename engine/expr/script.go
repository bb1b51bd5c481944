package expr

import (
	_ "embed" // the scripts below
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"zerodag/engine/param"
)

//go:embed guard.js
var guardSource string

//go:embed date.js
var dateSource string

const (
	maxCalls    = 1000 // depth of calls
	maxAttempts = 3    // of an evaluation that the machine was too slow for
)

// Assets are the compiled libraries of scripts. A process that has many Evaluators
// compiles once and shares them; they do not change any more.
type Assets struct {
	guard, date, moment *goja.Program
	source              string
	momentErr           error
}

// Compile compiles the libraries, which takes some milliseconds.
func Compile(o Options) *Assets {
	a := compileBase(o)
	a.compileMoment()
	return a
}

func compileBase(o Options) *Assets {
	return &Assets{
		guard:  goja.MustCompile("guard.js", guardSource, false),
		date:   goja.MustCompile("date.js", dateSource, false),
		source: o.Moment,
	}
}

func (a *Assets) compileMoment() {
	if a.source == "" {
		a.momentErr = errors.New("moment is not in this build: run `make assets` and build again")
		return
	}
	a.moment, a.momentErr = goja.Compile("moment.js", a.source, false)
}

// New returns an Evaluator that shares the libraries.
func (a *Assets) New() *Evaluator { return &Evaluator{assets: a} }

// script is a JavaScript runtime. It evaluates one template, so that nothing which a
// script changes is seen by another, or any number of pure ones.
type script struct {
	rt      *goja.Runtime
	assets  *Assets
	scope   *Scope // of the evaluation under way
	guarded bool
}

// run evaluates a compiled template in a runtime of its own, except for the chains of
// moment's own functions that are most of what is written: those change nothing that
// another could see, and share a runtime, as loading moment costs more than they do.
func (e *Evaluator) run(c *compiled, sc scope, s *Scope) (string, error) {
	if c.plan.pure {
		if e.shared == nil {
			e.shared = e.newScript()
		}
		result, delayed, err := e.shared.eval(c, sc, s)
		if err == nil && !delayed {
			return result, nil
		}
		// Whatever it was: the runtime is not trusted any more, and a fresh one decides.
		e.shared = nil
	}
	for range maxAttempts - 1 {
		if result, delayed, err := e.newScript().eval(c, sc, s); !delayed {
			return result, err
		}
	}
	result, _, err := e.newScript().eval(c, sc, s)
	return result, err
}

func (e *Evaluator) newScript() *script {
	x := &script{rt: goja.New(), assets: e.library()}
	x.rt.SetMaxCallStackSize(maxCalls)
	x.rt.SetTimeSource(func() time.Time { return x.scope.Now })
	return x
}

// eval evaluates a template, and says whether the machine was too slow to trust the
// result. A script that is used again must be pure.
func (x *script) eval(c *compiled, sc scope, s *Scope) (result string, delayed bool, err error) {
	if c.plan.call {
		w := watch(x.rt)
		defer func() { delayed = w.stop() }()
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
		return "", message(err)
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

// guard bounds the library of the runtime and adds what the original's has.
func (x *script) guard(p plan, params goja.Value) error {
	json := x.rt.Get("JSON").ToObject(x.rt)
	x.put(json, x.rt.ToValue("stringify"), x.rt.ToValue(x.stringify))
	if p.isBare() {
		return nil
	}
	host := x.host(hostFunction{"put", x.putCall},
		hostFunction{"checkCode", x.checkCode}, hostFunction{"checkNesting", x.checkNesting},
		hostFunction{"makeDate", x.makeDate}, hostFunction{"loadMoment", x.loadMoment})
	v, err := x.rt.RunProgram(x.assets.guard)
	if err != nil {
		return err
	}
	install, _ := goja.AssertFunction(v)
	names := x.rt.NewArray()
	for i, name := range p.names {
		if err := names.Set(strconv.Itoa(i), name); err != nil {
			return err
		}
	}
	_, err = install(goja.Undefined(), host, x.rt.GlobalObject(), params, names, x.needs(p))
	return err
}

// needs are the groups of a plan as guard.js reads them.
func (x *script) needs(p plan) *goja.Object {
	o := x.rt.NewObject()
	for _, group := range []struct {
		name string
		need bool
	}{{"lists", p.lists}, {"texts", p.texts}, {"code", p.code}, {"regexp", p.regexp},
		{"java", p.java}, {"memory", p.memory}, {"dates", p.dates}} {
		if err := o.Set(group.name, group.need); err != nil {
			panic(err) // a new object takes every name
		}
	}
	return o
}

// put(object, name, value) defines a property like those of the library.
func (x *script) putCall(call goja.FunctionCall) goja.Value {
	x.put(call.Argument(0).ToObject(x.rt), call.Argument(1), call.Argument(2))
	return goja.Undefined()
}

func (x *script) put(o *goja.Object, name, value goja.Value) {
	var err error
	if symbol, ok := name.(*goja.Symbol); ok {
		err = o.DefineDataPropertySymbol(symbol, value, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	} else {
		err = o.DefineDataProperty(name.String(), value, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
	if err != nil {
		panic(err)
	}
}

// hostFunction is a function that the guarding scripts call.
type hostFunction struct {
	name string
	call func(goja.FunctionCall) goja.Value
}

// host makes an object of functions; scripts of users cannot reach it.
func (x *script) host(functions ...hostFunction) *goja.Object {
	o := x.rt.NewObject()
	for _, f := range functions {
		if err := o.Set(f.name, f.call); err != nil {
			panic(err) // a new object takes every name
		}
	}
	return o
}

func (x *script) checkCode(call goja.FunctionCall) goja.Value {
	var c code
	text := call.Argument(0).String()
	if err := checkSource(text); err != nil {
		panic(x.rt.NewTypeError(err.Error()))
	}
	if tree, err := parser.ParseFile(nil, "eval", text, 0); err == nil {
		if err := c.check(tree); err != nil {
			panic(x.rt.NewTypeError(err.Error()))
		}
	}
	return goja.Undefined()
}

func (x *script) checkNesting(call goja.FunctionCall) goja.Value {
	if nesting(call.Argument(0).String()) > maxNesting {
		panic(x.rt.NewTypeError("the JSON text is nested too deep"))
	}
	return goja.Undefined()
}

func (x *script) loadMoment(goja.FunctionCall) goja.Value {
	if x.assets.moment == nil && x.assets.momentErr == nil {
		x.assets.compileMoment() // they are the Evaluator's own
	}
	if x.assets.momentErr != nil {
		panic(x.rt.NewGoError(x.assets.momentErr))
	}
	if _, err := x.rt.RunProgram(x.assets.moment); err != nil {
		panic(err)
	}
	return goja.Undefined()
}

func (x *script) makeDate(call goja.FunctionCall) goja.Value {
	v, err := x.rt.RunProgram(x.assets.date)
	if err != nil {
		panic(err)
	}
	install, _ := goja.AssertFunction(v)
	date, err := install(goja.Undefined(), x.dateHost(), call.Argument(0))
	if err != nil {
		panic(err)
	}
	return date
}

// visible is the part of the scope that the expressions can see: all of it when they
// could look at it as a whole, else the parameters whose names occur in them. Most
// scripts use a few of many parameters, and each of them gets a fresh copy.
func (sc scope) visible(c *compiled) *param.Map {
	if c.plan.whole {
		return sc.merged()
	}
	m := param.New()
	for key, value := range sc.vars.All() {
		if named(c.text, key) && !sc.siblings.Has(key) {
			m.Set(key, value)
		}
	}
	for key, value := range sc.siblings.All() {
		if named(c.text, key) {
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
