package dig

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
)

// compareValues lets cmp compare parameter trees, including the order of keys.
func compareValues() cmp.Option {
	return cmp.Options{
		cmp.Comparer(func(a, b *param.Map) bool { return param.Text(a) == param.Text(b) }),
		cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }),
	}
}

func TestScalarTypes(t *testing.T) {
	t.Parallel()
	huge, _ := new(big.Int).SetString("12345678901234567890", 10)
	for text, want := range map[string]param.Value{
		"yes": "yes", "No": "No", "on": "on", "TRUE": "TRUE", "true": true, "True": true, "false": false, "False": false,
		"~": nil, "null": nil, "Null": nil, "NULL": nil, "nULL": "nULL", "": nil,
		"0": int64(0), "-0": int64(0), "7": int64(7), "+7": int64(7), "-7": int64(-7),
		"010": int64(8), "-010": int64(-8), "08": "08", "0_7": int64(7), "1_000": int64(1000),
		"0x1F": int64(31), "-0xff": int64(-255), "0b101": int64(5), "0b2": "0b2",
		"9223372036854775807": int64(9223372036854775807), "12345678901234567890": huge,
		"1e3": 1000.0, "1.5e3": 1500.0, "1.": 1.0, "1.10": 1.1, ".5": 0.5, "-.5": -0.5, "0.5": "0.5", "1_0.5": 10.5,
		".inf": "Infinity", "-.INF": "-Infinity", ".NaN": "NaN", "1e400": "Infinity",
		"1:30.5": 90.5, "10:20:30": "10:20:30", "10:20:30.0": 37230.0, "10:00": "10:00",
		"2016-01-01": "2016-01-01", "2016-01-01 00:00:00": "2016-01-01 00:00:00",
		"'1'": "1", `"true"`: "true", "|\n  12": "12\n", "a # b": "a", "<<": "<<", "=": "=",
		"!!str 123": "123", "!!int '7'": int64(7), "!!int 0b11": int64(3), "!!float '0.5'": 0.5, "!!float 2": 2.0,
		"!!bool yes": true, "!!bool 'OFF'": false, "!!null x": nil, "!!str": "",
		`!!binary "aGVs bG8="`:   "aGVsbG8=",
		"!!timestamp 2001-12-14": int64(1008288000000),
		"!!seq [1, a]":           []param.Value{int64(1), "a"}, "!!set {a, b}": []param.Value{"a", "b"},
		"!!omap [a: 1, b: 2]": param.New("a", int64(1), "b", int64(2)),
		"!!pairs [a: 1]":      []param.Value{[]param.Value{"a", int64(1)}},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got, err := ParseYAML("f", []byte("k: "+text+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(param.New("k", want), got, compareValues()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeysBecomeText(t *testing.T) {
	t.Parallel()
	got, err := ParseYAML("f", []byte("1: a\n2.5: b\ntrue: c\n010: d\n'x y': e\n&k key: f\nalso: *k\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"1":"a","2.5":"b","true":"c","8":"d","x y":"e","key":"f","also":"key"}`
	if diff := cmp.Diff(want, param.Text(got)); diff != "" {
		t.Error(diff)
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "null"},
		{"# nothing\n", "null"},
		{"---\n", "null"},
		{"\ufeffa: 1\r\nb: 2\r\n", `{"a":1,"b":2}`},
		{"---\na: 1\n...\n", `{"a":1}`},
		{"[1, 2]", "[1,2]"},
		{"plain", `"plain"`},
		{"a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3, e: 4}", `{"a":{"b":1,"c":2},"d":{"b":1,"c":3,"e":4}}`},
		{"a: &x {b: 1}\nd: {b: 9, <<: *x}", `{"a":{"b":1},"d":{"b":9}}`},
		{"a: &x {b: 1}\nc: &y {b: 2, z: 3}\nd: {<<: [*x, *y]}", `{"a":{"b":1},"c":{"b":2,"z":3},"d":{"b":1,"z":3}}`},
		{"a: {<<: {b: 1}, b: 2}", `{"a":{"b":2}}`},
		{"a: {'<<': 1}", `{"a":{"<<":1}}`},
		{"a: &x 1\nb: *x\nc: &x 2\nd: *x", `{"a":1,"b":1,"c":2,"d":2}`},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			got, err := ParseYAML("f", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, param.Text(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestYAMLErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"flow not closed", "a: 1\nb: [c\n", "f:2:1: this is not YAML: did not find expected ',' or ']'"},
		{"tab", "a:\n\tb: 1\n", "f:2:2: this is not YAML: found character that cannot start any token\n  indent with spaces"},
		{"two colons", "a: b: c\n", "f:1:1: this is not YAML: mapping values are not allowed"},
		{"quote not closed", "a: 1\nb: \"c\n", "f:2:1: this is not YAML: found unexpected end of stream\n  a quote"},
		{"indentation", "a:\n  b: 1\n c: 2\n", "f:3:2: this is not YAML: did not find expected key"},
		{"end of file", "{\n", "f:1:1: this is not YAML: did not find expected node content"},
		{"unknown anchor", "a: 1\nb: *nosuch\n", "f:2:4: this is not YAML: unknown anchor 'nosuch'"},
		{"anchor in itself", "a: &x [*x]\n", "f:1:8: anchor &x contains itself"},
		{"duplicate", "a: 1\nb: 2\na: 3\n", "f:3:1: Duplicated keys: [a]\n  rename or remove one; the first a is on line 1"},
		{"duplicates", "{a: 1, b: 2, a: 3, b: 4, a: 5}", "Duplicated keys: [a, b]"},
		{"two merges", "a: &x {}\nb:\n  <<: *x\n  <<: *x\n", "f:4:3: Duplicated keys: [<<]"},
		{"null key", "~: 1\n", "f:1:1: a key cannot be empty or null"},
		{"empty key", ": 1\n", "f:1:1: this is not YAML: did not find expected key"},
		{"null in a key that is a mapping", "? {null: a}\n: 1\n", "a key cannot be empty or null"},
		{"merge of text", "a: {<<: b}\n", "f:1:9: expected a mapping or list of mappings for merging, but found string"},
		{"merge of texts", "a: {<<: [b]}\n", "expected a mapping for merging, but found string"},
		{"custom tag", "a: !foo x\n", "f:1:4: could not determine a constructor for the tag !foo"},
		{"python tag", "a: !!python/object:os.system x\n", "f:1:4: could not determine a constructor for the tag tag:yaml.org,2002:python/object:os.system"},
		{"tagged mapping", "a: !foo {}\n", "f:1:4: could not determine a constructor for the tag !foo"},
		{"tagged list", "a: !foo []\n", "f:1:4: could not determine a constructor for the tag !foo"},
		{"include in a parameter file", "!include : x\n", "f:1:1: could not determine a constructor for the tag !include"},
		{"wrong int", "a: !!int x\n", `f:1:4: "x" is not a whole number`},
		{"wrong float", "a: !!float x\n", `f:1:4: "x" is not a number`},
		{"wrong bool", "a: !!bool x\n", `f:1:4: "x" is not a boolean`},
		{"wrong binary", "a: !!binary '*'\n", "f:1:4: decode !!binary"},
		{"wrong timestamp", "a: !!timestamp x\n", `f:1:4: "x" is not a timestamp`},
		{"empty number", "a: 0b_\n", `f:1:4: "0b_" is not a whole number`},
		{"huge number", "a: " + strings.Repeat("9", 2000), "f:1:4: a number has more than 1000 digits"},
		{"two documents", "a: 1\n---\nb: 2\n", "f:2:1: expected a single document in the stream"},
		{"second document broken", "a: 1\n---\nb: [\n", "this is not YAML"},
		{"not UTF-8", "a: 1\nb: \xff\n", "f:2:4: byte 0xff is not UTF-8 text"},
		{"UTF-16", "\xff\xfea\x00", "f:1:1: byte 0xff is not UTF-8 text"},
		{"binary", "\x7fELF\x01", "f:1:1: control character U+007F is not allowed"},
		{"deep flow", strings.Repeat("[", 20000), "f:1:1: this is not YAML: exceeded max depth"},
		{"deep", strings.Repeat("[", 600) + strings.Repeat("]", 600), "f:1:502: nested deeper than 500 levels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseYAML("f", []byte(c.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

// TestAliasChain checks that aliases of aliases count as deeply nested as the same text written out.
func TestAliasChain(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("x0: &x0 1\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "x%d: &x%d [*x%d]\n", i+1, i+1, i)
	}
	_, err := ParseYAML("f", []byte(text.String()))
	if err == nil || !strings.HasPrefix(err.Error(), "f:501:") || !strings.Contains(err.Error(), "nested deeper than 500 levels") {
		t.Fatalf("got %.200v", err)
	}
}

// TestAliasBomb checks that a few lines cannot grow to gigabytes.
func TestAliasBomb(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("a0: &a0 lol\n")
	for i := range 20 {
		from, to := string(rune('a'+i)), string(rune('b'+i))
		list := strings.TrimSuffix(strings.Repeat("*"+from+"0, ", 10), ", ")
		text.WriteString(to + "0: &" + to + "0 [" + list + "]\n")
	}
	_, err := ParseYAML("f", []byte(text.String()))
	if err == nil || !strings.Contains(err.Error(), "aliases and included files add more than") {
		t.Fatalf("got %v", err)
	}
}
