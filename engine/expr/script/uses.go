package script

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/token"

	"zerodag/engine/expr"
	"zerodag/engine/param"
)

// Uses lists what the expressions of a template do with parameters if the outcome depends on their types. It returns
// none for expressions that cannot be parsed.
func Uses(text string) []param.Use {
	parts := expr.Parse(text, "")
	if checkSource(expr.Code(parts)) != nil {
		return nil
	}
	var u uses
	for _, p := range parts {
		if !p.Code {
			continue
		}
		source := "(" + p.Text + ")"
		tree, err := parser.ParseFile(nil, "", source, 0)
		c := code{source: source}
		if err != nil || c.check(tree) != nil {
			return nil
		}
		if c.chained {
			u.mistake("write a < b && b < c", "a < b < c compares true or false with c")
		}
		if whole, is := tree.Body[0].(*ast.ExpressionStatement); is {
			u.printed(whole.Expression)
		}
		u.walk(reflect.ValueOf(tree.Body), false)
	}
	return slices.DeleteFunc(u.found, func(one param.Use) bool {
		if one.Kind == param.Assigned {
			return slices.Contains(u.declared, one.Name)
		}
		return slices.Contains(u.own, one.Name) || one.Kind == param.Compared && slices.Contains(u.own, one.Other)
	})
}

// uses collects the uses.
type uses struct {
	found    []param.Use
	own      []string // names that the expressions set themselves, such as arguments of functions
	declared []string // names that are not parameters: variables and arguments
}

// walk visits a part of the syntax tree; tried reports whether the code around it handles a missing value.
func (u *uses) walk(v reflect.Value, tried bool) {
	switch v.Kind() {
	case reflect.Interface:
		u.walk(v.Elem(), tried)
	case reflect.Pointer:
		if v.IsNil() || !v.CanInterface() {
			return
		}
		if !u.node(v.Interface(), tried) {
			u.walk(v.Elem(), tried)
		}
	case reflect.Slice:
		for i := range v.Len() {
			u.walk(v.Index(i), tried)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "DeclarationList" && f.Name != "File" {
				u.walk(v.Field(i), tried)
			}
		}
	}
}

// named checks nodes that give something a name.
func (u *uses) named(node any) {
	switch n := node.(type) {
	case *ast.Binding:
		if name, is := n.Target.(*ast.Identifier); is {
			u.own, u.declared = append(u.own, name.Name.String()), append(u.declared, name.Name.String())
		}
	case *ast.AssignExpression:
		if name := nameOf(n.Left); name != "" {
			u.own = append(u.own, name)
			u.add(param.Use{Kind: param.Assigned, Name: name})
		}
	case *ast.FunctionLiteral:
		if n.Name != nil {
			u.own = append(u.own, n.Name.Name.String())
		}
	}
}

// node checks one node, and reports whether it has visited everything below it.
func (u *uses) node(node any, tried bool) (visited bool) {
	visit := func(e any, tried bool) { u.walk(reflect.ValueOf(e), tried) }
	switch n := node.(type) {
	case *ast.Binding, *ast.AssignExpression, *ast.FunctionLiteral:
		u.named(n)
	case *ast.UnaryExpression:
		if n.Operator == token.NOT { // !this.x tests whether there is an x
			u.whole(param.Negated, n.Operand)
		}
		visit(n.Operand, tried || n.Operator == token.TYPEOF || n.Operator == token.NOT)
		return true
	case *ast.BinaryExpression:
		u.binary(n)
		visit(n.Left, tried || tries(n.Operator))
		visit(n.Right, tried || tries(n.Operator))
		return true
	case *ast.ConditionalExpression:
		visit([]ast.Expression{n.Test, n.Consequent, n.Alternate}, true)
		return true
	case *ast.OptionalChain:
		visit(n.Expression, true)
		return true
	case *ast.CallExpression:
		u.called(n)
		dot, is := n.Callee.(*ast.DotExpression)
		if is { // the property is a function: without it, the expression fails
			visit(dot.Left, tried)
			visit(n.ArgumentList, tried)
		}
		return is
	case *ast.BracketExpression:
		u.index(n)
	case *ast.DotExpression:
		return u.property(n, tried)
	}
	return false
}

// property records a part of a parameter, and reports whether it is one.
func (u *uses) property(n *ast.DotExpression, tried bool) bool {
	name, path := chain(n)
	if name == "" || len(path) == 0 {
		return false
	}
	u.add(param.Use{Kind: param.Property, Name: name, Path: path, Tried: tried})
	return true
}

// tries reports whether an operator handles a missing value, on either side.
func tries(op token.Token) bool {
	return slices.Contains([]token.Token{token.LOGICAL_OR, token.LOGICAL_AND, token.COALESCE, token.EQUAL, token.NOT_EQUAL, token.STRICT_EQUAL,
		token.STRICT_NOT_EQUAL, token.IN, token.INSTANCEOF}, op)
}

// compares reports whether an operator compares two values.
func compares(op token.Token) bool {
	return slices.Contains([]token.Token{token.EQUAL, token.NOT_EQUAL, token.STRICT_EQUAL, token.STRICT_NOT_EQUAL, token.LESS, token.GREATER, token.LESS_OR_EQUAL,
		token.GREATER_OR_EQUAL}, op)
}

func isTextOrName(e ast.Expression) bool {
	_, isText := e.(*ast.StringLiteral)
	return isText || nameOf(e) != ""
}

// whole records a parameter that is used as a whole, not a part of it.
func (u *uses) whole(kind param.UseKind, e ast.Expression) {
	if name, is := e.(*ast.Identifier); is {
		u.add(param.Use{Kind: kind, Name: name.Name.String()})
	}
}

func (u *uses) binary(n *ast.BinaryExpression) {
	u.comparison(n)
	left, right := nameOf(n.Left), nameOf(n.Right)
	if compares(n.Operator) {
		u.literal(n.Left, n.Right)
		u.literal(n.Right, n.Left)
	}
	switch n.Operator {
	case token.MINUS:
		if name := cmp.Or(hyphened(n), left); name != "" {
			u.add(param.Use{Kind: param.Minus, Name: name})
		}
	case token.STRICT_EQUAL, token.STRICT_NOT_EQUAL:
		if _, isNumber := n.Right.(*ast.NumberLiteral); isNumber && left != "" {
			u.add(param.Use{Kind: param.Exactly, Name: left})
		}
	case token.LESS, token.GREATER, token.LESS_OR_EQUAL, token.GREATER_OR_EQUAL:
		if left != "" && right != "" {
			u.add(param.Use{Kind: param.Compared, Name: left, Other: right})
		}
	case token.IN:
		if isTextOrName(n.Left) && right != "" {
			u.add(param.Use{Kind: param.Within, Name: right})
		}
	case token.LOGICAL_AND:
		u.whole(param.Both, n.Left)
		u.whole(param.Both, n.Right)
	case token.PLUS:
		u.plus(n)
	}
}

// plus checks sums of a parameter and a number.
func (u *uses) plus(n *ast.BinaryExpression) {
	for _, sides := range [][2]ast.Expression{{n.Left, n.Right}, {n.Right, n.Left}} {
		name := nameOf(sides[0])
		if _, isNumber := sides[1].(*ast.NumberLiteral); name != "" && isNumber {
			u.add(param.Use{Kind: param.Added, Name: name})
			return
		}
	}
}

// literal records a parameter that is compared with a string literal.
func (u *uses) literal(a, b ast.Expression) {
	name := nameOf(a)
	if text, isText := b.(*ast.StringLiteral); isText && name != "" {
		u.add(param.Use{Kind: param.Written, Name: name, Other: text.Value.String()})
	}
}

// hyphened returns a difference of names as one name with hyphens; "" if something else is subtracted.
func hyphened(n *ast.BinaryExpression) string {
	right := nameOf(n.Right)
	if inner, is := n.Left.(*ast.BinaryExpression); is && inner.Operator == token.MINUS && right != "" {
		if left := hyphened(inner); left != "" {
			return left + "-" + right
		}
		return ""
	}
	if left := nameOf(n.Left); left != "" && right != "" {
		return left + "-" + right
	}
	return ""
}

func (u *uses) add(one param.Use) { u.found = append(u.found, one) }

// nameOf returns the parameter that an expression refers to, as x or this.x; "" if it is not one.
func nameOf(e ast.Expression) string {
	switch n := e.(type) {
	case *ast.Identifier:
		return n.Name.String()
	case *ast.DotExpression:
		if _, isThis := n.Left.(*ast.ThisExpression); isThis {
			return n.Identifier.Name.String()
		}
	}
	return ""
}

// chain returns the parameter and the properties of a.b.c; no name if it begins with something else.
func chain(n *ast.DotExpression) (name string, path []string) {
	for {
		if name = nameOf(n); name != "" {
			return name, path
		}
		path = append([]string{n.Identifier.Name.String()}, path...)
		inner, isDot := n.Left.(*ast.DotExpression)
		if !isDot {
			return nameOf(n.Left), path
		}
		n = inner
	}
}
