package expr_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"

	"zerodag/engine/param"
)

// expressions generates random expressions, whose operators often follow each other without parentheses.
type expressions struct{ *rand.Rand }

func (e expressions) pick(list ...string) string { return list[e.IntN(len(list))] }

// of generates an expression of the given depth.
func (e expressions) of(depth int) string {
	if depth == 0 {
		return e.pick("n", "m", "s", "t", "f", "yes", "no", "list", "thing", "nothing", "0", "1", "-1", "2.5", "'5'", `"abc"`, "true", "null", "undefined", "''", "[]", "[3, 1, 2]")
	}
	a, b := e.of(depth-1), e.of(e.IntN(depth))
	switch e.IntN(14) {
	case 0, 1, 2, 3:
		return a + " " + e.pick("<", "<=", ">", ">=", "==", "!=", "===", "!==", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>", "&&", "||", "in", ", ") + " " + b
	case 4:
		return a + e.pick(" < ", " <= ", " > ", " >= ") + b + e.pick(" < ", " <= ", " > ", " >= ", " == ", " + ") + e.of(0)
	case 5:
		return "(" + a + ")"
	case 6:
		return a + " ? " + b + " : " + e.of(0)
	case 7:
		return e.pick("!", "-", "+", "~", "typeof ", "!!") + "(" + a + ")"
	case 8:
		return e.pick("String", "Number", "Boolean", "isNaN", "parseInt", "parseFloat", "Math.floor", "Math.round", "Math.abs", "JSON.stringify", "Array.isArray", "encodeURIComponent") + "(" + a + ")"
	case 9:
		return e.pick("Math.max", "Math.min") + "(" + a + ", " + b + ")"
	case 10:
		return "String(" + a + ")" + e.pick(".length", ".toUpperCase()", ".slice(1)", ".slice(-2)", ".substring(1, 3)", ".indexOf('a')", ".split('').join('-')", ".padStart(6, '0')", ".replace('a', 'b')",
			".replace(/[a-c]/g, 'x')", ".charAt(0)", ".charCodeAt(0)", ".trim()", ".repeat(2)", ".startsWith('a')", ".includes('b')", ".concat('z')", ".lastIndexOf('1')", ".localeCompare('b')", ".match(/\\d+/)", ".codePointAt(0)")
	case 11:
		return "`" + e.pick("a", "$", "\\`", "\\n", "é") + "`" + e.pick("", " + "+a, ".concat("+b+")", "[0]", "?.length")
	case 12:
		return e.pick("[...", "[0, ...", "Math.max(...") + e.pick("list", "'ab'", "[n, m]") + e.pick("].length", "]", "][1]", ")", "].indexOf("+b+")")
	default:
		return "[n, m, f, " + b + "]" + e.pick(".length", ".map(x => x + 1)", ".filter(x => x < n)", ".reduce((p, x) => p + x)", ".join()", ".indexOf(n)", ".some(x => x > 2 < 3)", ".sort()", ".slice(1)", ".reverse()",
			".concat([1])", ".includes(m)", ".every(x => 0 < x < 100)", ".find(x => x > 3)", ".flat()", "[0].toFixed(2)", "[2].toString(2)", ".toString()")
	}
}

const nodeValues = `{"n": 12, "m": 3, "s": "5", "t": "abc", "f": 1.5, "yes": true, "no": false, "list": [1, 2, 3], "thing": {"a": 1, "b": "x"}, "nothing": null}`

// inNode evaluates each of a list of expressions as Digdag's template does; null if one throws.
const inNode = `const v = %s, list = JSON.parse(require('fs').readFileSync(0, 'utf8'))
process.stdout.write(JSON.stringify(list.map(text => {
  try {
    const t = new Function(...Object.keys(v), 'return (' + text + ')')(...Object.values(JSON.parse(JSON.stringify(v))))
    return '' + (t == null ? '' : typeof t == 'string' ? t : JSON.stringify(t))
  } catch { return null }
})))`

// TestExpressionsAsNode compares the results of random expressions with those of Node.
func TestExpressionsAsNode(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node is not on this machine")
	}
	const seed = 7
	e := expressions{rand.New(rand.NewPCG(seed, seed))} //nolint:gosec // a test that can be repeated
	list := []string{"9 <= n < 17", "1 < 2 < 5", "3 > 2 > 1", "1 < (2 < 5)", "(1 < 2) < 5", "1 < ((2) < 5)", "1 < (2) < (5)", "1 < ( 2 < (5) )", "'a' in thing in thing", "3 > (m + 1) >= 0 == true", "1 < (')'.length) < 2"}
	for range 4000 {
		list = append(list, e.of(1+e.IntN(4)))
	}
	in, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "-e", fmt.Sprintf(inNode, nodeValues))
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []*string
	if err := json.Unmarshal(out, &want); err != nil || len(want) != len(list) {
		t.Fatalf("%d results of %d: %v", len(want), len(list), err)
	}
	evaluator, values, wrong := newEvaluator(bundled), tree(t, nodeValues), 0
	for i, text := range list {
		got, err := evaluator.Template("${"+text+"}", values, scopeIn(t, "UTC"))
		if failed := err != nil; failed != (want[i] == nil) || !failed && got != *want[i] {
			if wrong++; wrong <= 20 {
				t.Errorf("${%s} is %q (%v), and %s in Node", text, got, err, param.Text(stringOr(want[i])))
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d differ", wrong, len(list))
	}
}

func stringOr(s *string) param.Value {
	if s == nil {
		return "an error"
	}
	return *s
}
