package expr_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
)

// patience is how long a test waits before it gives up on an evaluation that does not end. Times are only logged, since
// the test must not fail on a slow or busy machine.
const patience = time.Minute

// TestLimits checks that expressions that would run forever or take all memory fail quickly, each with a reason, and
// leave the evaluator usable. They run one after the other, since the watched memory belongs to the whole process.
func TestLimits(t *testing.T) {
	e := newEvaluator(nil)
	for _, c := range []struct{ in, want string }{
		{"${(function() { while (true) {} })()}", "longer than 500ms"},
		{"${(function() { for (;;) { try { for (;;) {} } catch (e) {} finally {} } })()}", "longer than 500ms"},
		{"${(function() { var s = 'x'; while (1) s += s })()}", "the evaluation took"},
		{"${(function() { var a = []; for (;;) a.push({}) })()}", "the evaluation took"},
		{"${'x'.repeat(1e9)}", "too long"}, {"${'x'['rep' + 'eat'](1e9)}", "too long"}, {"${'x'.padEnd(1e9)}", "too long"},
		{"${new Array(1e9).join('x')}", "too long"}, {"${Array(1e9).fill(0)}", "too long"}, {"${[...Array(1e9)]}", "too long"},
		{"${Array.from({length: 1e9})}", "too long"}, {"${'' + Array(1e9)}", "too long"}, {"${new Set(Array(1e9)).size}", "too long"},
		{"${Math.max.apply(null, {length: 1e9})}", "too long"}, {"${[].concat(Array(1e9))}", "too long"},
		{"${'x'.repeat(1e6).replaceAll('', 'y'.repeat(1e6))}", "too long"}, {"${'x'.repeat(1e6).replace(/x/g, 'y'.repeat(1e6))}", "too long"},
		{"${'x'.repeat(1e6).replace(/x/g, '$`')}", "too long"}, {"${'x'.repeat(2e6)}", "longer than 1048576 bytes"},
		{"${/(a+)+\\1$/.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab!')}", "longer than 500ms"},
		{"${/^(?=a)(a+)+$/.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab!')}", "longer than 500ms"},
		{"${(function f() { return f() })()}", "Maximum call stack size exceeded"},
		{"${(function f() { return [1].map(f) })()}", "Maximum call stack size exceeded"},
		{"${(function() { var a = [1]; for (var i = 0; i < 40; i++) a = [a, a]; return a })()}", "JSON text would be too long"},
		{"${(function() { var a = [1]; for (var i = 0; i < 40; i++) a = [a, a]; return '' + a })()}", "the evaluation took"},
		{"${(function() { var a = []; for (var i = 0; i < 1e4; i++) a = [a]; return a })()}", "nested too deep"},
		{"${(function() { var a = {}; a.a = a; return a })()}", "Converting circular structure to JSON"},
		{"${JSON.parse('['.repeat(1e6))}", "nested too deep"}, {"${eval('('.repeat(1e5))}", "brackets nested deeper"},
		{"${new ArrayBuffer(1e9)}", "not defined"}, {"${new Float64Array(1e9)}", "not defined"},
		{"${BigInt(2)}", "not defined"}, {"${eval('2n')}", "BigInt"}, {"${(async function f() { await 0; return f() })()}", "the evaluation took"},
		{"${" + strings.Repeat("(", 1e5) + "}", "brackets nested deeper"}, {"${" + strings.Repeat("-1+", 1e6) + "1}", "bytes of expressions"},
		{"${1" + strings.Repeat("+1", 6e4) + "}", "operations in a row"}, {"${" + strings.Repeat("!", 1e5) + "1}", "operations in a row"},
		{"${" + strings.Repeat("a?a:", 3e4) + "1}", "operations in a row"}, {strings.Repeat("${+1}x", 1800), ""},
		{"${require('fs')}", "require is not defined"}, {"${console.log(1)}", "console is not defined"},
	} {
		started := time.Now()
		got, err := e.Template(c.in, nil, scopeIn(t, "UTC"))
		took := time.Since(started)
		short := c.in[:min(len(c.in), 70)]
		t.Logf("%.40s: %v", short, took) // under a second on an idle machine
		if took > patience {
			t.Errorf("%s: took %v", short, took)
		}
		var config *param.ConfigError
		if (c.want == "") != (err == nil) {
			t.Errorf("%s: %.200v", short, err)
		}
		if c.want != "" && (!errors.As(err, &config) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d bytes, %.200v; want %s", short, len(got), err, c.want)
		}
		if got, err := e.Template("${new Date(0).getFullYear()} ${[1].map(String)}", nil, scopeIn(t, "UTC")); got != `1970 ["1"]` {
			t.Fatalf("after %s: %s, %v", short, got, err)
		}
	}
}
