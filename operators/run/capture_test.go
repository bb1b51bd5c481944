package run

import (
	"errors"
	"testing"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/operators"
)

// FuzzStored checks that every output of a command is read as values or as an error, and never as more than the output
// contains.
func FuzzStored(f *testing.F) {
	for _, text := range []string{"a=1\nb=x = y\n", `{"a": {"b": [1, null]}}`, "no pair", "\x00=\xff", `{"a":`, "id=1\nid=2"} {
		f.Add([]byte(text), "json", "integer")
	}
	specs := map[string]string{"stdout": `{a: stdout}`, "match": `{a: {from: stdout, match: "id=(.*)"}}`}
	f.Fuzz(func(t *testing.T, text []byte, decode, kind string) {
		if m, err := storedPairs(text); err == nil && m == nil {
			t.Error("neither values nor an error")
		}
		for _, spec := range specs {
			v, err := dig.ParseYAML("spec", []byte(spec))
			if err != nil {
				t.Fatal(err)
			}
			list, err := keys.ParseStore(v)
			if err != nil {
				t.Fatal(err)
			}
			s := list[0]
			s.Decode, s.Rule.Type = decode, kind
			s.Select = []string{"a", "0"}
			_, err = storedValue(s, text, true)
			if failure := (*operators.Failure)(nil); err != nil && !errors.As(err, &failure) {
				t.Errorf("%v is no failure of the task", err)
			}
		}
	})
}

// TestStoredPairs checks that spaces around = are not part of a value, and that other spaces are.
func TestStoredPairs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"n = 10\n": `{"n":"10"}`, "n=10": `{"n":"10"}`, "n\t=\t10": `{"n":"10"}`, "n= 10": `{"n":" 10"}`, " n=10 ": `{"n":"10 "}`, "n =": `{"n":""}`, "a=b = c": `{"a":"b = c"}`,
	} {
		m, err := storedPairs([]byte(text))
		if got := param.Text(m); err != nil || got != want {
			t.Errorf("%q is read as %s (%v), want %s", text, got, err, want)
		}
	}
}
