package param_test

import (
	"testing"

	"zerodag/engine/param"
)

// TestTypes checks which text and values have which type.
func TestTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind string
		v    param.Value
		want string // as JSON; "" if refused
	}{
		{"", "x", `"x"`}, {"string", "12", `"12"`}, {"string", int64(12), ""},
		{"integer", " 12 ", "12"}, {"integer", "12.0", "12"}, {"integer", "1.5", ""}, {"integer", "x", ""}, {"integer", "", ""}, {"integer", true, ""},
		{"number", "1.5", "1.5"}, {"number", "1e3", "1000.0"}, {"number", "NaN", ""}, {"boolean", "true", "true"}, {"boolean", "yes", ""},
		{"array", "[1]", "[1]"}, {"array", "{}", ""}, {"object", `{"a":1}`, `{"a":1}`}, {"object", "[]", ""},
	} {
		v, err := param.AsType(c.kind, c.v)
		if got := param.Text(v); err == nil && got != c.want || err != nil && c.want != "" {
			t.Errorf("%v as %q is %s, %v, want %s", c.v, c.kind, got, err, c.want)
		}
	}
}
