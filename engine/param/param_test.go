package param_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"zerodag/engine/param"
)

func tree(t testing.TB, text string) *param.Map {
	t.Helper()
	v, err := param.ParseJSON(text)
	m, ok := v.(*param.Map)
	if err != nil || !ok {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// TestMerge checks the rules of language.md 1.5: mappings merge into mappings, everything else is replaced, including
// null, and a key keeps the place of its first appearance.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, over, want string }{
		{`{}`, `{}`, `{}`},
		{`{"a":1}`, `{}`, `{"a":1}`},
		{`{}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1,"b":2}`, `{"b":3,"c":4,"a":5}`, `{"a":5,"b":3,"c":4}`},
		{`{"m":{"x":1,"y":2}}`, `{"m":{"y":3,"z":4}}`, `{"m":{"x":1,"y":3,"z":4}}`},
		{`{"m":{"x":1}}`, `{"m":null}`, `{"m":null}`},
		{`{"m":null}`, `{"m":{"x":1}}`, `{"m":{"x":1}}`},
		{`{"l":[1,2]}`, `{"l":[3]}`, `{"l":[3]}`},
		{`{"m":{"x":1}}`, `{"m":2}`, `{"m":2}`},
		{`{"m":{"n":{"x":1}}}`, `{"m":{"n":{"y":{}}}}`, `{"m":{"n":{"x":1,"y":{}}}}`},
	} {
		base, over := tree(t, c.base), tree(t, c.over)
		if got := param.Text(param.Merge(base, over)); got != c.want {
			t.Errorf("%s with %s: %s, want %s", c.base, c.over, got, c.want)
		}
		if param.Text(base) != c.base || param.Text(over) != c.over {
			t.Errorf("%s with %s: an argument was changed", c.base, c.over)
		}
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	m := tree(t, `{"a":{"b":1,"c":2},"d":3}`)
	for _, c := range []struct {
		path []string
		want string
	}{
		{[]string{"d"}, `{"a":{"b":1,"c":2}}`},
		{[]string{"a", "b"}, `{"a":{"c":2},"d":3}`},
		{[]string{"a", "x"}, `{"a":{"b":1,"c":2},"d":3}`},
		{[]string{"d", "x"}, `{"a":{"b":1,"c":2},"d":3}`},
		{nil, `{"a":{"b":1,"c":2},"d":3}`},
	} {
		if got := param.Text(param.Reset(m, c.path)); got != c.want {
			t.Errorf("%v: %s, want %s", c.path, got, c.want)
		}
	}
	if got := param.Text(m); got != `{"a":{"b":1,"c":2},"d":3}` {
		t.Errorf("the argument was changed: %s", got)
	}
}

// TestMapAgainstModel checks that a Map of any size behaves like a list of pairs, with and without its index.
func TestMapAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, keys, values := param.New(), []string{}, map[string]int64{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			key := fmt.Sprint("k", rapid.IntRange(0, 25).Draw(t, "key"))
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				m.Delete(key)
				if _, ok := values[key]; ok {
					delete(values, key)
					keys = remove(keys, key)
				}
				continue
			}
			v := rapid.Int64().Draw(t, "value")
			if _, ok := values[key]; !ok {
				keys = append(keys, key)
			}
			values[key] = v
			m.Set(key, v)
		}
		if strings.Join(m.Keys(), " ") != strings.Join(keys, " ") || m.Len() != len(keys) {
			t.Fatalf("keys %v, want %v", m.Keys(), keys)
		}
		for k, v := range m.All() {
			if v != values[k] {
				t.Fatalf("%s is %v, want %d", k, v, values[k])
			}
		}
		if m.Has("nosuch") || m.Map("k1") != nil {
			t.Fatal("finds what is not there")
		}
	})
}

func remove(keys []string, key string) []string {
	var left []string
	for _, k := range keys {
		if k != key {
			left = append(left, k)
		}
	}
	return left
}

// TestNilMap checks that a nil Map behaves like an empty one.
func TestNilMap(t *testing.T) {
	t.Parallel()
	var m *param.Map
	if m.Len() != 0 || m.Has("a") || m.Map("a") != nil || len(m.Keys()) != 0 || m.Clone().Len() != 0 || m.Without("a") != m {
		t.Error("a nil Map is not empty")
	}
	for range m.All() {
		t.Error("a nil Map has keys")
	}
}

// TestFloatText checks that numbers are formatted as in Digdag, since commands see them as text.
func TestFloatText(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", -2.5: "-2.5", 1000: "1000.0", 9999999: "9999999.0", 1e7: "1.0E7", 1.25e10: "1.25E10",
		0.001: "0.001", 0.00025: "2.5E-4", 1e-10: "1.0E-10", 1e300: "1.0E300", math.Inf(1): `"Infinity"`, math.Inf(-1): `"-Infinity"`,
	} {
		if got := param.FloatText(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
	if got := param.FloatText(math.NaN()); got != `"NaN"` {
		t.Error(got)
	}
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` {"b":1,"a":[true,null,"x"]} `: `{"b":1,"a":[true,null,"x"]}`,
		`12345678901234567890123`:       `12345678901234567890123`,
		`1.0`:                           `1.0`,
		`1e3`:                           `1000.0`,
		`"\u00e9\ud83d\ude00\n"`:        `"é😀\n"`,
		`{"a":1,"a":2}`:                 `{"a":2}`,
		`[]`:                            `[]`,
	} {
		v, err := param.ParseJSON(text)
		if got := param.Text(v); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{``, `{`, `[1`, `{"a"}`, `1 2`, `{} x`, `nope`, `1e700`, strings.Repeat("[", 2000) + strings.Repeat("]", 2000)} {
		if v, err := param.ParseJSON(text); err == nil {
			t.Errorf("%.20q: %v, want an error", text, v)
		}
	}
}

// FuzzParseJSON checks that parsed values can be written and read again, and that the output is valid JSON for all
// other readers.
func FuzzParseJSON(f *testing.F) {
	f.Add(`{"a":[1,2.5,"x\n",null,true],"b":{"c":-1e-7}}`)
	f.Add(`123456789012345678901234567890`)
	f.Add("\"\xff\"")
	f.Add("1e700")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := param.ParseJSON(text)
		if err != nil {
			return
		}
		written := param.Text(v)
		if !json.Valid([]byte(written)) {
			t.Fatalf("%q is no JSON", written)
		}
		again, err := param.ParseJSON(written)
		if err != nil || !param.Equal(v, again) {
			t.Fatalf("%q became %q: %v", text, written, err)
		}
	})
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true}, {`{"a":1}`, `{"a":1.0}`, false}, {`{"a":1}`, `{"a":1,"b":null}`, false},
		{`[1,2]`, `[2,1]`, false}, {`[1]`, `{}`, false}, {`1`, `[1]`, false}, {`null`, `null`, true},
		{`99999999999999999999`, `99999999999999999999`, true}, {`99999999999999999999`, `1`, false}, {`"x"`, `"x"`, true}, {`1`, `{}`, false},
	} {
		a, _ := param.ParseJSON(c.a)
		b, _ := param.ParseJSON(c.b)
		if got := param.Equal(a, b); got != c.want {
			t.Errorf("%s and %s: %t", c.a, c.b, got)
		}
	}
}

// TestCoercions checks the rules of language.md 1.13 about reading values as types.
func TestCoercions(t *testing.T) {
	t.Parallel()
	big, _ := new(big.Int).SetString("99999999999999999999", 10)
	type result struct {
		Value any
		Error string
	}
	of := func(v any, err error) result {
		if err != nil {
			return result{Error: err.Error()}
		}
		return result{Value: v}
	}
	text := func(v param.Value) result { s, err := param.AsString("k", v); return of(s, err) }
	number := func(v param.Value) result { n, err := param.AsInt("k", v); return of(n, err) }
	boolean := func(v param.Value) result { b, err := param.AsBool("k", v); return of(b, err) }
	whole := func(v param.Value) result { n, err := param.AsWhole("k", v); return of(n, err) }
	yes := func(v param.Value) result { b, err := param.AsYes("k", v); return of(b, err) }
	for _, c := range []struct{ got, want result }{
		{text("x"), result{Value: "x"}},
		{text(int64(3)), result{Value: "3"}},
		{text(2.5), result{Value: "2.5"}},
		{text(true), result{Value: "true"}},
		{text(big), result{Value: "99999999999999999999"}},
		{text(nil), result{Error: "Expected string type for key 'k' but got null (null)"}},
		{text([]param.Value{int64(1)}), result{Error: "Expected string type for key 'k' but got [1] (array)"}},
		{number("12"), result{Value: int64(12)}},
		{number(3.9), result{Value: int64(3)}},
		{number(1e300), result{Error: "Expected integer (int) type for key 'k' but got 1.0E300 (number)"}},
		{number("x"), result{Error: `Expected integer (int) type for key 'k' but got "x" (string)`}},
		{number(param.New()), result{Error: "Expected integer (int) type for key 'k' but got {} (object)"}},
		{whole("12"), result{Value: int64(12)}},
		{whole(3.0), result{Value: int64(3)}},
		{whole(3.9), result{Error: "Expected integer (int) type for key 'k' but got 3.9 (number)"}},
		{whole(nil), result{Error: "Expected integer (int) type for key 'k' but got null (null)"}},
		{yes(true), result{Value: true}},
		{yes("false"), result{Value: false}},
		{yes(int64(1)), result{Error: "Expected 'true' or 'false' for key 'k' but got 1 (number)"}},
		{yes(nil), result{Error: "Expected 'true' or 'false' for key 'k' but got null (null)"}},
		{boolean("true"), result{Value: true}},
		{boolean(""), result{Value: false}},
		{boolean(int64(0)), result{Value: false}},
		{boolean("yes"), result{Error: `Expected 'true' or 'false' for key 'k' but got "yes" (string)`}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := param.AsString("k", []param.Value{strings.Repeat("x", 200)}); len(err.Error()) > 170 {
		t.Errorf("a long value is shown whole: %v", err)
	}
	if m, err := param.ParseMap("k", `{"a":1}`); err != nil || m.Len() != 1 {
		t.Errorf("JSON text of a mapping: %v, %v", m, err)
	}
	if l, err := param.ParseList("k", `[1,2]`); err != nil || len(l) != 2 {
		t.Errorf("JSON text of a list: %v, %v", l, err)
	}
	if _, err := param.ParseList("k", `{}`); err == nil {
		t.Error("a mapping is no list")
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"3m": 3 * time.Minute, "1d 2h 3m 4s": 26*time.Hour + 3*time.Minute + 4*time.Second, "1D2H": 26 * time.Hour,
		" 10 s ": 10 * time.Second, "0s": 0,
	} {
		if got, ok := param.ParseDuration(text); !ok || got != want {
			t.Errorf("%q: %v, %t; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "3", "3x", "3m 1h", "-3m", "1.5h", "99999999999999999999s", "200000000d", "106751d 24h 9999999999m"} {
		if got, ok := param.ParseDuration(text); ok {
			t.Errorf("%q: %v, want none", text, got)
		}
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"ehco": "echo", "forech": "for_each", "x": "", "_paralel": "_parallel", "_fi": "_if", "_fx": "", "fi_": "", "a": ""} {
		if got := strings.Join(param.Suggest(key, []string{"echo", "for_each", "_parallel", "_if", "b"}), " "); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// TestNearest checks that two swapped letters count as one typo, and that a key of a different length does not match.
func TestNearest(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"dokcer": "docker", "contnet": "content", "dcoker": "docker", "docker": "", "dock": "", "dockers": "docker", "rekcod": "", "": "", "metod": "method", "_fi": "_if", "_fx": "", "_if": "", "ot": ""} {
		if got := param.Nearest(key, []string{"content", "docker", "method", "to", "_if"}); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	base := param.New()
	for i := range 30 {
		base.Set(fmt.Sprint("key", i), int64(i))
	}
	over := param.New("key3", "x", "new", "y")
	b.ReportAllocs()
	for b.Loop() {
		param.Merge(base, over)
	}
}

func BenchmarkGet(b *testing.B) {
	m := param.New()
	for i := range 30 {
		m.Set(fmt.Sprint("key", i), int64(i))
	}
	for b.Loop() {
		m.Get("key17")
	}
}
