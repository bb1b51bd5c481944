package param_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"zerodag/engine/param"
)

// TestStored checks that stored values are read back unchanged: data stays data, code stays code, whatever keys and
// text a foreign server invents to confuse them.
func TestStored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "a", "\x00", "\x00\x00", "\x00k", "${x}", `{"\u0000":"${x}"}`})
		var value *rapid.Generator[param.Value]
		tree := func() param.Value {
			m := param.New()
			for range rapid.IntRange(0, 3).Draw(t, "size") {
				m.Set(text.Draw(t, "key"), value.Draw(t, "value"))
			}
			return m
		}
		depth := 0
		value = rapid.Custom(func(t *rapid.T) param.Value {
			kind := rapid.IntRange(0, 4).Draw(t, "kind")
			if depth++; depth > 20 && kind > 1 {
				kind = 0
			}
			switch kind {
			case 0:
				return text.Draw(t, "text")
			case 1:
				return param.Literal(text.Draw(t, "data"))
			case 2:
				return []param.Value{value.Draw(t, "item")}
			case 3:
				return nil
			}
			return tree()
		})
		want := tree().(*param.Map)
		got, err := param.ParseStored(string(param.AppendStored(nil, want)))
		if err != nil || !param.Equal(got, want) {
			t.Fatalf("%s came back as %s: %v", param.AppendStored(nil, want), param.AppendStored(nil, got), err)
		}
		if plain := param.Text(want); strings.Contains(plain, `{"\u0000":`) != strings.Contains(param.Text(param.CodeMap(want)), `{"\u0000":`) {
			t.Fatalf("data is shown as %s", plain)
		}
	})
}

// TestData checks that exactly the text that could be evaluated becomes data.
func TestData(t *testing.T) {
	t.Parallel()
	tree := param.New("code", "${x}", "text", "x", "list", []param.Value{"$", int64(1), param.New("${k}", "a$")}, "none", nil)
	want := param.New("code", param.Literal("${x}"), "text", "x", "list",
		[]param.Value{param.Literal("$"), int64(1), param.New("${k}", param.Literal("a$"))}, "none", nil)
	if diff := cmp.Diff(param.DataMap(tree), want, cmp.Comparer(func(a, b *param.Map) bool { return param.Equal(a, b) })); diff != "" {
		t.Error(diff)
	}
	if !param.Same(tree, want) || param.Equal(tree, want) || !param.Equal(param.CodeMap(want), tree) {
		t.Error("data and code are told apart by something else than Same, Equal and Code")
	}
}
