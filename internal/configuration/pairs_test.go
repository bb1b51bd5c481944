package configuration

import (
	"slices"
	"strings"
	"testing"
)

// TestPairsAreSplitAtCommas checks the rule of Digdag's option parser: commas separate pairs, and a part without "="
// belongs to the value before it.
func TestPairsAreSplitAtCommas(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]Pair{
		"a=1":                    {{"a", "1"}},
		"a=1,b=2":                {{"a", "1"}, {"b", "2"}},
		"list=[1,2,3],b=2":       {{"list", "[1,2,3]"}, {"b", "2"}},
		"a=1,2":                  {{"a", "1,2"}},
		"a=,b=":                  {{"a", ""}, {"b", ""}},
		"a=1,,b=2":               {{"a", "1,"}, {"b", "2"}},
		"a=1,,":                  {{"a", "1"}},
		"a=":                     {{"a", ""}},
		"a=x=y,b=k=v":            {{"a", "x=y"}, {"b", "k=v"}},
		"a={\"k\": \"v\",\"w\"}": {{"a", "{\"k\": \"v\",\"w\"}"}},
		"a=1|b=2":                {{"a", "1"}, {"b", "2"}},
		"a=1|a=2":                {{"a", "1"}, {"a", "2"}},
		"a=1|x,b=2":              {{"a", "1,x"}, {"b", "2"}},
		"a=1, b=2":               {{"a", "1"}, {" b", "2"}},
		"":                       nil,
	} {
		values := strings.FieldsFunc(line, func(r rune) bool { return r == '|' })
		got, err := SplitPairs("--param", values)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v, %v, want %v", line, got, err, want)
		}
	}
	for line, want := range map[string]string{
		"a":     "Parameter --param expected a value of the form a=b but got:a",
		"x,b=2": `--param x,b=2: "x" before the first comma has no "=": it must be of the form KEY=VALUE`,
		",b=2":  `--param ,b=2: "" before the first comma has no "=": it must be of the form KEY=VALUE`,
	} {
		if got, err := SplitPairs("--param", []string{line}); err == nil || err.Error() != want {
			t.Errorf("%s is %v, %v, want the error %q", line, got, err, want)
		}
	}
}

// FuzzPairs proves that only commas at the end are lost: joining the pairs yields the option's value again.
func FuzzPairs(f *testing.F) {
	for _, seed := range []string{"a=1", "a=1,b=2", "list=[1,2,3],b=2", "a=,", ",=", "=", "a=1,,b", "a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		pairs, err := SplitPairs("--param", []string{value})
		if err != nil {
			if first, _, _ := strings.Cut(value, ","); strings.Contains(first, "=") {
				t.Fatalf("%q is refused: %v", value, err)
			}
			return
		}
		var again []string
		for _, p := range pairs {
			again = append(again, p.Key+"="+p.Value)
		}
		if got := strings.Join(again, ","); got != strings.TrimRight(value, ",") {
			t.Fatalf("%q became %q", value, got)
		}
	})
}
