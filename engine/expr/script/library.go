package script

import (
	_ "embed" // the scripts below
	"errors"
	"strconv"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

//go:embed guard.js
var guardSource string

//go:embed date.js
var dateSource string

// Moment is moment.js, compiled. A process compiles it once, when the first script needs it, and shares it: it never
// changes afterward.
type Moment struct {
	program *goja.Program
	err     error
}

// CompileMoment compiles the source of moment.js, which takes a few milliseconds. Without the source, expressions that
// need moment fail with a hint.
func CompileMoment(text string) *Moment {
	if text == "" {
		return &Moment{err: errors.New("this build lacks moment: run `make assets` and build again")}
	}
	program, err := goja.Compile("moment.js", text, false)
	return &Moment{program, err}
}

// libraries are the scripts that run before a user's script.
type libraries struct {
	guard, date *goja.Program
	moment      func() *Moment
}

func compileLibraries(o Options) *libraries {
	moment := o.Moment
	if moment == nil {
		moment = func() *Moment { return CompileMoment("") }
	}
	return &libraries{
		guard:  goja.MustCompile("guard.js", guardSource, false),
		date:   goja.MustCompile("date.js", dateSource, false),
		moment: moment,
	}
}

// guard limits the runtime's library and adds the functions that Digdag's library has.
func (x *script) guard(p plan, params goja.Value) error {
	json := x.rt.Get("JSON").ToObject(x.rt)
	x.put(json, x.rt.ToValue("stringify"), x.rt.ToValue(x.stringify))
	if p.isBare() {
		return nil
	}
	host := x.host(hostFunction{"put", x.putCall},
		hostFunction{"checkCode", x.checkCode}, hostFunction{"checkNesting", x.checkNesting},
		hostFunction{"makeDate", x.makeDate}, hostFunction{"loadMoment", x.loadMoment})
	v, err := x.rt.RunProgram(x.libraries.guard)
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

// needs returns the groups of a plan as guard.js reads them.
func (x *script) needs(p plan) *goja.Object {
	o := x.rt.NewObject()
	for _, group := range []struct {
		name string
		need bool
	}{{"lists", p.lists}, {"texts", p.texts}, {"code", p.code}, {"regexp", p.regexp},
		{"java", p.java}, {"memory", p.memory}, {"dates", p.dates}} {
		if err := o.Set(group.name, group.need); err != nil {
			panic(err) // a new object accepts every name
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

// hostFunction is a function that the guard scripts call.
type hostFunction struct {
	name string
	call func(goja.FunctionCall) goja.Value
}

// host creates an object with functions that user scripts cannot reach.
func (x *script) host(functions ...hostFunction) *goja.Object {
	o := x.rt.NewObject()
	for _, f := range functions {
		if err := o.Set(f.name, f.call); err != nil {
			panic(err) // a new object accepts every name
		}
	}
	return o
}

func (x *script) checkCode(call goja.FunctionCall) goja.Value {
	text := call.Argument(0).String()
	if err := checkSource(text); err != nil {
		panic(x.rt.NewTypeError(err.Error()))
	}
	tree, err := parser.ParseFile(nil, "eval", text, 0)
	if err != nil { // the body of a function may return
		text = "(function(){" + text + "\n})"
		tree, err = parser.ParseFile(nil, "eval", text, 0)
	}
	if err == nil {
		c := code{source: text}
		if err := c.check(tree); err != nil {
			panic(x.rt.NewTypeError(err.Error()))
		}
		if c.chained { // the engine parses it again, and would compare from the right
			panic(x.rt.NewTypeError("comparisons in a row: write parentheses, as in (a < b) < c"))
		}
	}
	return goja.Undefined()
}

func (x *script) checkNesting(call goja.FunctionCall) goja.Value {
	if nesting(call.Argument(0).String()) > maxNesting {
		panic(x.rt.NewTypeError("the JSON text is nested too deeply"))
	}
	return goja.Undefined()
}

func (x *script) loadMoment(goja.FunctionCall) goja.Value {
	moment := x.libraries.moment()
	if moment.err != nil {
		panic(x.rt.NewGoError(moment.err))
	}
	if _, err := x.rt.RunProgram(moment.program); err != nil {
		panic(err)
	}
	return goja.Undefined()
}

func (x *script) makeDate(call goja.FunctionCall) goja.Value {
	v, err := x.rt.RunProgram(x.libraries.date)
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
