package keys_test

import (
	"strings"
	"testing"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

func yamlMap(t testing.TB, text string) *param.Map {
	t.Helper()
	v, err := dig.ParseYAML("test", []byte(text))
	m, ok := v.(*param.Map)
	if err != nil || !ok {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// TestFill checks how the parameters of a start are converted, and which are refused.
func TestFill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ params, given, want, faults string }{
		{`{a: {type: integer}}`, `{a: "7"}`, `{"a":7}`, ""},
		{`{a: {type: integer}}`, `{a: "7.0"}`, `{"a":7}`, ""},
		{`{a: {type: integer}}`, `{a: null}`, `{}`, ""},
		{`{a: {type: integer, default: "7"}}`, `{a: null}`, `{"a":7}`, ""},
		{`{a: {type: string}}`, `{a: 7}`, "", "'a' must be of type string: 7"},
		{`{a: {enum: [1, x]}}`, `{a: x}`, `{"a":"x"}`, ""},
		{`{a: {type: number, enum: [1, 2.5]}}`, `{a: "2.5"}`, `{"a":2.5}`, ""},
		{`{a: {const: x}}`, `{a: y}`, "", `'a' must be "x": "y"`},
		{`{a: {type: number, minimum: 0.5}}`, `{a: 9007199254740993}`, `{"a":9007199254740993}`, ""},
		{`{a: {type: integer}}`, `{a: 9007199254740993}`, "", "'a' has more digits than ${...} keeps (at most 9007199254740991): declare it with `type: string`: 9007199254740993"},
		{`{a: {type: number, maximum: 9007199254740992}}`, `{a: 9007199254740993}`, "", "'a' must be 9007199254740992 or less: 9007199254740993"},
		{`{a: {type: string, minLength: 2, maxLength: 3}}`, `{a: é}`, "", `'a' must have 2 characters or more: "é"`},
		{`{a: {type: string, format: date-time}}`, `{a: "2026-01-01T00:00:00Z"}`, `{"a":"2026-01-01T00:00:00Z"}`, ""},
		{`{a: {type: string, format: uri}}`, `{a: "x y"}`, "", `'a' must be of the format uri: "x y"`},
		{`{a: {type: array, items: {type: array, items: {type: integer}}}}`, `{a: [["1"], [2, x]]}`, "", `'a[1][1]' must be of type integer: "x"`},
		{`{a: {type: object, properties: {b: {type: integer}}}}`, `{a: "{\"b\": \"1\", \"c\": 2}"}`, `{"a":{"b":1,"c":2}}`, ""},
		{`{a: {type: boolean, required: true}, b: {required: true}}`, `{a: "true"}`, "", "'b' is required"},
		{`{a: {default: 1, fixed: true}}`, `{a: 1}`, `{"a":1}`, ""},
		{`{additional: false, a: {type: string}}`, `{a: x, session_time: y, _retry: 1, b: 2}`, "", "'b' is not a parameter of the workflow"},
	} {
		filled, faults := keys.ReadParams(param.New("params", yamlMap(t, c.params))).Fill(yamlMap(t, c.given), false)
		if got := strings.Join(faults, "; "); got != c.faults {
			t.Errorf("%s with %s: %s, want %s", c.params, c.given, got, c.faults)
		} else if got := param.Text(filled); got != c.want && c.faults == "" {
			t.Errorf("%s with %s is %s, want %s", c.params, c.given, got, c.want)
		}
	}
}

// TestFillAgain checks that a fixed parameter of a further attempt has its current value, not the earlier one.
func TestFillAgain(t *testing.T) {
	t.Parallel()
	p := keys.ReadParams(yamlMap(t, `{params: {a: {default: 2, fixed: true}}}`))
	if _, faults := p.Fill(param.New("a", int64(1)), false); len(faults) != 1 {
		t.Errorf("another value passed: %v", faults)
	}
	if filled, faults := p.Fill(param.New("a", int64(1)), true); len(faults) > 0 || param.Text(filled) != `{"a":2}` {
		t.Errorf("%s %v", param.Text(filled), faults)
	}
}

// FuzzFill checks that any parameters of a start are accepted or refused, and that accepted ones are accepted again
// unchanged.
func FuzzFill(f *testing.F) {
	f.Add(`{"a": "7", "b": ["1"], "c": {"d": "x"}}`)
	f.Add(`{"a": 1e400, "b": "[[]]", "c": null}`)
	p := keys.ReadParams(yamlMap(f, `{params: {a: {type: number, minimum: 1}, b: {type: array, items: {type: integer, maximum: 9}}, c: {type: object, properties: {d: {type: string, pattern: "^x"}}}}}`))
	f.Fuzz(func(t *testing.T, text string) {
		v, err := param.ParseJSON(text)
		given, ok := v.(*param.Map)
		if err != nil || !ok {
			return
		}
		filled, faults := p.Fill(given, false)
		if len(faults) > 0 {
			return
		}
		again, faults := p.Fill(filled, false)
		if len(faults) > 0 || !param.Same(again, filled) {
			t.Errorf("%s: %s, then %s %v", text, param.Text(filled), param.Text(again), faults)
		}
	})
}
