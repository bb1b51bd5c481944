package script

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// isRelational reports whether goja's parser groups an operator from the right, while JavaScript groups it from the
// left.
func isRelational(op token.Token) bool {
	return slices.Contains([]token.Token{token.LESS, token.LESS_OR_EQUAL, token.GREATER, token.GREATER_OR_EQUAL, token.INSTANCEOF, token.IN}, op)
}

// chained returns the right side of a < b < c as goja reads it, which is a < (b < c); nil if there is none, or if the
// source has these parentheses. The tree does not keep parentheses, so chained searches for them in the source.
func chained(source string, n *ast.BinaryExpression) *ast.BinaryExpression {
	right, is := n.Right.(*ast.BinaryExpression)
	if !is || !isRelational(n.Operator) || !isRelational(right.Operator) {
		return nil
	}
	begin, end := int(right.Left.Idx0())-1, int(right.Right.Idx0())-1 // indexes begin at 1
	if begin < 0 || end < begin || end > len(source) {
		return nil
	}
	before := strings.TrimRight(source[:begin], "( \t\r\n")
	opened := strings.Count(source[len(before):begin], "(")
	if opened > closed(source[begin:end]) {
		return nil
	}
	return right
}

// closed counts the parentheses that end in a piece of source and began before it. It does not recognize regular
// expressions: an expression with a quote or a parenthesis, inside parentheses, may be misread.
func closed(source string) int {
	depth, least, quote := 0, 0, byte(0)
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
			least = min(least, depth)
		}
	}
	return -least
}

// fromLeft groups a < b < c as JavaScript does, (a < b) < c, and reports whether it had to. It is called before the
// parts of n are visited.
func fromLeft(source string, n *ast.BinaryExpression) bool {
	right := chained(source, n)
	if right == nil {
		return false
	}
	for ; right != nil; right = chained(source, n) {
		n.Left = &ast.BinaryExpression{Operator: n.Operator, Left: n.Left, Right: right.Left, Comparison: n.Comparison}
		n.Operator, n.Right, n.Comparison = right.Operator, right.Right, right.Comparison
	}
	return true
}
