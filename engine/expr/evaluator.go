package expr

import (
	"errors"
	"strings"

	"github.com/dop251/goja"

	"zerodag/engine/param"
)

// maxResult is the longest text that a template may become, in bytes.
const maxResult = 1 << 20

// Options is what an Evaluator is made of.
type Options struct {
	Moment string // the text of moment.js; "" when the build has none
}

// Evaluator evaluates templates. It is not safe for concurrent use, cheap to make,
// and stays usable after every error.
type Evaluator struct {
	moment *goja.Program
	source string
}

// New returns an Evaluator.
func New(o Options) *Evaluator { return &Evaluator{source: o.Moment} }

// evalText evaluates one string that has a `$`.
func (e *Evaluator) evalText(text string, sc scope, s *Scope) (string, error) {
	parts := parse(text)
	if result, ok := plain(parts, sc); ok {
		return result, nil
	}
	result, err := e.run(parts, sc, s)
	if err != nil {
		return "", param.Errorf("Failed to evaluate a variable %s (%s)", text, err)
	}
	return result, nil
}

// run evaluates a template by a script of the original's shape: one function whose
// body is one statement, inside of a `with` over the parameters.
func (e *Evaluator) run(parts []part, sc scope, s *Scope) (string, error) {
	program, err := goja.Compile("template", source(parts), false)
	if err != nil {
		return "", err
	}
	rt := goja.New()
	fn, err := rt.RunProgram(program)
	if err != nil {
		return "", message(err)
	}
	call, _ := goja.AssertFunction(fn)
	parse, _ := goja.AssertFunction(rt.Get("JSON").ToObject(rt).Get("parse"))
	params, err := parse(goja.Undefined(), rt.ToValue(param.Text(sc.merged())))
	if err != nil {
		return "", message(err)
	}
	v, err := call(params)
	if err != nil {
		return "", message(err)
	}
	return v.String(), nil
}

func message(err error) error {
	var thrown *goja.Exception
	if errors.As(err, &thrown) {
		return errors.New(thrown.Value().String())
	}
	return err
}

func source(parts []part) string {
	var b strings.Builder
	b.WriteString("(function(){with(this){\nvar __t,__p='',__j=Array.prototype.join,print=function(){__p+=__j.call(arguments,'');};\n__p+=''")
	for _, p := range parts {
		if p.expr {
			b.WriteString("+\n((__t=(" + p.text + "))==null?'':(typeof __t==\"string\"?__t:JSON.stringify(__t)))")
			continue
		}
		lit, _ := appendString(nil, strings.ToValidUTF8(p.text, "\uFFFD"))
		b.WriteString("+\n" + string(lit))
	}
	b.WriteString(";\nreturn __p;}})")
	return b.String()
}
