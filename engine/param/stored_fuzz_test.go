package param_test

import (
	"testing"

	"zerodag/engine/param"
)

// FuzzStored checks that stored values are read back unchanged: text never becomes a Literal, nor a Literal code,
// whatever keys and text a caller chooses.
func FuzzStored(f *testing.F) {
	for _, text := range []string{`{"a":1}`, `{"$literal":"x"}`, `{"a":{"\u0000":"x"}}`, `{"\u0000\u0000":1,"\u0000":"y"}`, `[]`, `{"a":["${1+1}",{"a":null}]}`} {
		f.Add(text, "key", "${1+1}")
	}
	literal, _ := param.ParseJSON(string(param.AppendStored(nil, param.Literal("x"))))
	key := ""
	for k := range literal.(*param.Map).All() {
		key = k
	}
	f.Add(param.Text(param.New(key, "x")), key, "x")
	f.Add(param.Text(param.New(key+key, "x")), key+key, "x")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		v, err := param.ParseJSON(text)
		m, is := v.(*param.Map)
		if err != nil || !is {
			_, _ = param.ParseStored(text) // must return, no matter what the text is
			return
		}
		whole := param.New("plain", m, "mixed", param.New(key, param.Literal(value)), key, param.New(key, value), "list", []param.Value{param.Literal(value), value})
		stored := param.AppendStored(nil, whole)
		back, err := param.ParseStored(string(stored))
		if err != nil {
			t.Fatalf("%q: %v", stored, err)
		}
		if again := param.AppendStored(nil, back); string(again) != string(stored) || literals(back) != literals(whole) {
			t.Fatalf("%q became %q", stored, again)
		}
	})
}

// literals counts the Literals in a tree.
func literals(v param.Value) (n int) {
	switch x := v.(type) {
	case param.Literal:
		return 1
	case []param.Value:
		for _, e := range x {
			n += literals(e)
		}
	case *param.Map:
		for _, e := range x.All() {
			n += literals(e)
		}
	}
	return n
}
