package script

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"zerodag/engine/expr"
	"zerodag/engine/param"
)

const (
	maxSource  = 128 << 10 // bytes of code in one template
	maxNesting = 500       // brackets: the parser is recursive
	maxParts   = 20000     // one template's literal text and expressions
	maxTree    = 3000      // depth of the syntax tree
	groupParts = 100       // added up in one group, for the same reason
)

// source writes the script of a template: one function whose body is one statement inside a `with` over the parameters,
// as in Digdag. A variable set in one expression therefore exists in the next, and what print() outputs is overwritten.
func source(parts []expr.Part) string {
	var b strings.Builder
	b.WriteString("(function(){with(this){\nvar __t,__p='',__j=Array.prototype.join," +
		"print=function(){__p+=__j.call(arguments,'');};\n__p+=(''")
	for i, p := range parts {
		if i > 0 && i%groupParts == 0 {
			b.WriteString(")+(''")
		}
		if p.Code {
			b.WriteString("+\n((__t=(" + p.Text + "))==null?'':(typeof __t==\"string\"?__t:JSON.stringify(__t)))")
			continue
		}
		quoted, _ := expr.AppendString(nil, strings.ToValidUTF8(p.Text, "\uFFFD"))
		b.WriteString("+\n" + string(quoted))
	}
	b.WriteString(");\nreturn __p;}})")
	return b.String()
}

// compiled is a template compiled into a script.
type compiled struct {
	program *goja.Program
	source  string // of the program
	text    string // of all expressions
	plan    plan
}

// compile compiles a template into a script.
func compile(parts []expr.Part) (*compiled, error) {
	text := expr.Code(parts)
	if err := checkSource(text); err != nil {
		return nil, err
	}
	if len(parts) > maxParts {
		return nil, fmt.Errorf("more than %d expressions", maxParts/2)
	}
	script := source(parts)
	tree, err := parser.ParseFile(nil, scriptName, script, 0)
	if err != nil {
		return nil, syntaxError(parts, err)
	}
	c := code{source: script}
	if err := c.check(tree); err != nil {
		return nil, err
	}
	program, err := goja.CompileAST(tree, false)
	if err != nil {
		return nil, message(err)
	}
	p := planOf(text, c.computed)
	// All pure scripts need the same part of the library.
	if p.pure = isPure(parts); p.pure {
		p = plan{pure: true, call: true, dates: true}
	}
	return &compiled{program, script, text, p}, nil
}

// checkSource refuses code that would exhaust the recursive parser.
func checkSource(code string) error {
	if len(code) > maxSource {
		return fmt.Errorf("more than %d bytes of expressions", maxSource)
	}
	if nesting(code) > maxNesting {
		return fmt.Errorf("brackets nested deeper than %d", maxNesting)
	}
	return nil
}

// nesting counts how deep brackets are nested, including brackets in strings.
func nesting(code string) int {
	depth, deepest := 0, 0
	for i := range len(code) {
		switch code[i] {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth--
		}
	}
	return deepest
}

// syntaxError points to the invalid expression: its position in the generated script would mean nothing to the user.
func syntaxError(parts []expr.Part, whole error) error {
	for _, p := range parts {
		if !p.Code {
			continue
		}
		_, err := parser.ParseFile(nil, "", "("+p.Text+")", 0)
		if list := (parser.ErrorList)(nil); errors.As(err, &list) && len(list) > 0 {
			return fmt.Errorf("SyntaxError: %s at line %d, character %d of %s", explain(list[0].Message),
				list[0].Position.Line, column(list[0]), param.Text(p.Text))
		}
	}
	if list := (parser.ErrorList)(nil); errors.As(whole, &list) && len(list) > 0 {
		return fmt.Errorf("SyntaxError: %s", explain(list[0].Message))
	}
	return fmt.Errorf("SyntaxError: %w", whole)
}

// column returns the place in the line, without the parenthesis added before the first one.
func column(e *parser.Error) int {
	if e.Position.Line == 1 {
		return max(1, e.Position.Column-1)
	}
	return e.Position.Column
}

func explain(message string) string {
	return strings.Replace(message, "Unexpected token ILLEGAL", "Invalid or unexpected token", 1)
}

// message returns a failed script's error as the user sees it, in Digdag's words if the engine's differ.
func message(err error) error {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var thrown *goja.Exception
	switch {
	case errors.As(err, &interrupted):
		return fmt.Errorf("%v", interrupted.Value())
	case errors.As(err, &overflow):
		return errors.New("RangeError: Maximum call stack size exceeded")
	case errors.As(err, &thrown):
		return errors.New(rephrase(thrown.Value().String()))
	}
	return err
}

func rephrase(text string) string {
	if name, ok := strings.CutPrefix(text, "TypeError: Object has no member '"); ok {
		return "TypeError: " + strings.TrimSuffix(name, "'") + " is not a function"
	}
	if value, ok := strings.CutPrefix(text, "TypeError: Value is not an object: "); ok {
		return "TypeError: " + value + " is not a function"
	}
	if strings.HasPrefix(text, "TypeError: Cannot read property") {
		return strings.TrimSuffix(text, " or null")
	}
	return strings.TrimPrefix(text, "GoError: ")
}

// Check returns the faults in a template's expressions that can be found without evaluating them.
func Check(text string) error {
	parts := expr.Parse(text, "")
	for _, p := range parts {
		if p.Code {
			_, err := compile(parts)
			return err
		}
	}
	return nil
}
