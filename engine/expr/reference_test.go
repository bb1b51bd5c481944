package expr_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"zerodag/engine/expr"
	"zerodag/engine/param"
)

// anyName draws names that collide with each other, with JavaScript, or not at all.
func anyName() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "c", "length", "name", "toString", "constructor", "undefined", "true",
		"Math", "JSON", "Array", "print", "__p", "__proto__", "this", "let", "of", "0", "10", "$", "_x", "a-b", "\u00e9", "NaN"})
}

// anyValue draws parameters as deep as references go.
func anyValue(depth int) *rapid.Generator[param.Value] {
	leaves := []*rapid.Generator[param.Value]{
		rapid.Just[param.Value](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(), rapid.String().AsAny(),
		rapid.SampledFrom([]string{"", "text", "${a}", "é\u2028\"\\\n\x01"}).AsAny(),
	}
	if depth > 0 {
		leaves = append(leaves, anyMap(depth-1).AsAny(), rapid.SliceOfN(anyValue(depth-1), 0, 3).AsAny())
	}
	return rapid.OneOf(leaves...)
}

func anyMap(depth int) *rapid.Generator[*param.Map] {
	return rapid.Custom(func(t *rapid.T) *param.Map {
		m := param.New()
		for range rapid.IntRange(0, 5).Draw(t, "keys") {
			m.Set(anyName().Draw(t, "key"), anyValue(depth).Draw(t, "value"))
		}
		return m
	})
}

// TestReferenceIsScript compares references with the same property read by a script; adding a comment makes a reference
// a script.
func TestReferenceIsScript(t *testing.T) {
	t.Parallel()
	e := newEvaluator(nil)
	rapid.Check(t, func(t *rapid.T) {
		vars := anyMap(2).Draw(t, "vars")
		ref := anyName().Draw(t, "name")
		for range rapid.IntRange(0, 2).Draw(t, "depth") {
			if rapid.Bool().Draw(t, "index") {
				ref += rapid.SampledFrom([]string{"[0]", "[1]", "[00]", "[-1]", "['a']"}).Draw(t, "item")
			} else {
				ref += "." + anyName().Draw(t, "property")
			}
		}
		s := expr.Scope{Now: time.Unix(0, 0)}
		plain, plainErr := e.Template("<${"+ref+"}>", vars, s)
		script, scriptErr := e.Template("<${"+ref+"/**/}>", vars, s)
		if (plainErr == nil) != (scriptErr == nil) || plainErr == nil && plain != script {
			t.Fatalf("%s in %s: %q %v, by script %q %v", ref, param.Text(vars), plain, plainErr, script, scriptErr)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"", "$", "${", "${a}", "p${1}m$$m${2}s", "${a.b[0]}", "${'}'}", "${secret:${a}}", "${[1,2].join()}",
		"${(function(){for(;;);})()}", "${new Date('2024-01-01').getDay()}", "${1 /*} ${ */}", "${`${a}`}", "${/(?=a)/.test('a')}"} {
		f.Add(seed)
	}
	e := newEvaluator(bundled)
	vars := param.New("a", param.New("b", []param.Value{int64(1), "x"}), "timezone", "UTC")
	f.Fuzz(func(t *testing.T, text string) {
		started := time.Now()
		got, err := e.Template(text, vars, expr.Scope{})
		if took := time.Since(started); took > patience {
			t.Errorf("%q took %v", text, took)
		}
		if err == nil && !strings.Contains(text, "$") && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
