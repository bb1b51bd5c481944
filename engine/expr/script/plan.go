package script

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/dop251/goja/ast"

	"zerodag/engine/expr"
)

// plan lists the parts of the library that must be guarded for a template. It is derived from the text: a script cannot
// reach what it does not name, unless it computes names, in which case everything is guarded. Guarding the library
// takes a while, and most expressions call one harmless function.
type plan struct {
	pure                                            bool     // only chains of moment's methods, which change nothing
	call                                            bool     // anything can be called at all
	whole                                           bool     // the parameters can be used as a whole
	names                                           []string // list methods that are named
	lists, texts, code, regexp, java, memory, dates bool
}

// isBare reports whether the library can stay unguarded.
func (p plan) isBare() bool {
	return len(p.names) == 0 && !p.lists && !p.texts && !p.code && !p.regexp && !p.java && !p.memory && !p.dates
}

// planOf returns the plan for a template's code; computed reports whether the code computes names.
func planOf(text string, computed bool) plan {
	names := func(words ...string) bool { return hasAny(text, words...) }
	all := expr.ReachesAll(text, computed)
	p := plan{
		call:   all || strings.ContainsAny(text, "(`") || names("new", "moment", "Date", "this"),
		whole:  expr.SeesAll(text, computed),
		lists:  all || names("Array", "length", "...", "for", "while", "function", "=>", "do", "class", "Set", "Map", "from", "join", "flat", "apply"),
		texts:  all || names("repeat", "pad", "split", "replace", "parse"),
		code:   all,
		regexp: all || names("RegExp"),
		memory: all || names("Array", "Buffer", "DataView", "BigInt", "Weak"),
		dates:  all || names("Date", "moment"),
	}
	for _, name := range javaMethods() {
		p.java = p.java || all || names(name)
	}
	for _, name := range listMethods() {
		if all || names(name) {
			p.names = append(p.names, name)
		}
	}
	return p
}

func hasAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// pureForm matches a moment and methods of moments without side effects, whose arguments are names and literals.
var pureForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*moment` + pureArguments + `(\.(format|add|subtract|startOf|endOf|utc|local|` +
		`utcOffset|unix|valueOf|toISOString|clone|diff|isValid|year|month|date|day|hour|hours|minute|second|weekday|` +
		`isoWeekday|week|isoWeek|weekYear|isoWeekYear|dayOfYear|quarter|daysInMonth|isBefore|isAfter|isSame)` + pureArguments + `)*\s*$`)
})

const (
	pureArguments = `\(\s*(` + pureArgument + `(\s*,\s*` + pureArgument + `)*)?\s*\)`
	pureArgument  = `([A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*|-?[0-9]+|'[^'\\\n]*'|"[^"\\\n]*")`
)

// isPure reports whether all expressions have the pure form.
func isPure(parts []expr.Part) bool {
	return !slices.ContainsFunc(parts, func(p expr.Part) bool { return p.Code && !pureForm().MatchString(p.Text) })
}

// listMethods returns the methods of lists that walk over a whole list, without the methods that guard.js reimplements.
func listMethods() []string {
	return []string{"at", "concat", "copyWithin", "entries", "every", "fill", "filter", "find", "findIndex",
		"findLast", "findLastIndex", "flatMap", "forEach", "includes", "indexOf", "keys", "lastIndexOf",
		"map", "push", "reduce", "reduceRight", "reverse", "shift", "slice", "some", "sort", "splice",
		"toReversed", "toSorted", "toSpliced", "unshift", "with"}
}

func javaMethods() []string {
	return []string{"replaceAll", "replaceFirst", "matches", "contains", "isEmpty", "isBlank", "equals",
		"compareTo", "strip", "hashCode", "toCharArray"}
}

// code holds what the reflection over a parsed script has found.
type code struct {
	source   string
	chained  bool // comparisons that goja reads from the right, now grouped from the left
	bigInt   bool // a BigInt literal
	computed bool // a property whose name is computed, or a huge index
	depth    int  // of the current node
	deepest  int
}

// check reports code that cannot be compiled: the compiler's time grows with the square of the nesting depth, and an
// operation on BigInts can take any amount of time and memory.
func (c *code) check(tree *ast.Program) error {
	c.inspect(reflect.ValueOf(tree.Body))
	switch {
	case c.bigInt:
		return errors.New("SyntaxError: BigInt is not available in expressions")
	case c.deepest > maxTree:
		return fmt.Errorf("an expression with more than %d operations in a row", maxTree)
	}
	return nil
}

// inspect walks over a syntax tree; the package of the tree has no walker.
func (c *code) inspect(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		c.inspect(v.Elem())
	case reflect.Pointer:
		if v.IsNil() || !v.CanInterface() {
			return
		}
		c.node(v.Interface())
		c.depth++
		c.deepest = max(c.deepest, c.depth)
		c.inspect(v.Elem())
		c.depth--
	case reflect.Slice:
		for i := range v.Len() {
			c.inspect(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			// The declarations of a function are also in its body.
			f := v.Type().Field(i)
			if f.IsExported() && f.Name != "DeclarationList" && f.Name != "File" {
				c.inspect(v.Field(i))
			}
		}
	}
}

func (c *code) node(node any) {
	switch n := node.(type) {
	case *ast.BinaryExpression:
		c.chained = fromLeft(c.source, n) || c.chained
	case *ast.NumberLiteral:
		if _, ok := n.Value.(*big.Int); ok {
			c.bigInt = true
		}
	case *ast.BracketExpression:
		c.computed = c.computed || isComputed(n.Member)
	case *ast.PropertyKeyed:
		c.computed = c.computed || n.Computed && isComputed(n.Key)
	}
}

// isComputed reports whether the name of a property is not a literal.
func isComputed(name ast.Expression) bool {
	switch n := name.(type) {
	case *ast.StringLiteral:
		return false
	case *ast.NumberLiteral:
		i, ok := n.Value.(int64)
		return !ok || i > 1000000
	}
	return true
}
