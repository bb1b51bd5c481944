package dig

import (
	"fmt"
	"strings"
	"testing"
)

// TestMissingPools checks that each task that requests a missing pool is reported with its place, even in an included
// file or in a list, and that the number of errors is limited as elsewhere.
func TestMissingPools(t *testing.T) {
	t.Parallel()
	missing := func(files map[string]string) string {
		read := mapSource(files)
		workflows, err := Load(read, []string{"main.dig"})
		if err != nil {
			t.Fatal(err)
		}
		if err := MissingPools(NamedPools(read, workflows), []string{"x", "y"}, func(name string) string { return "no " + name }); err != nil {
			return err.Error()
		}
		return ""
	}
	text := "zerodag: 1\n+a:\n  _pool:\n    - z\n    - {name: y, slots: 2}\n  echo>: m\n+b: {!include : sub/i.dig}\n+c: {_pool: {name: x, limit: 2}, echo>: m}\n+d: {_pool: '${x}', echo>: m}\n"
	want := "main.dig:5:8: no y (task +main+a)\nsub/i.dig:1:1: no x (task +main+b)"
	if got := missing(map[string]string{"main.dig": text, "sub/i.dig": "_pool: x\necho>: m\n"}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := missing(map[string]string{"main.dig": "+a: {_pool: x, echo>: m}\n"}); got != "" {
		t.Errorf("a file without the gate: %s", got)
	}
	var many strings.Builder
	many.WriteString("zerodag: 1\n")
	for i := range maxReported + 1 {
		fmt.Fprintf(&many, "+a%d: {_pool: x, echo>: m}\n", i)
	}
	if got := strings.Count(missing(map[string]string{"main.dig": many.String()}), "\n") + 1; got != maxReported {
		t.Errorf("%d errors, want %d", got, maxReported)
	}
}
