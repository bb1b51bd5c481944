package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryCommandTakesTheCommonOptions proves that scripts may give them to any command, also to
// one that makes no use of them.
func TestEveryCommandTakesTheCommonOptions(t *testing.T) {
	t.Parallel()
	seen := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			seen++
			for _, name := range []string{"config", "log", "log-level", "property", "logback-config"} {
				if sub.Flags().Lookup(name) == nil {
					t.Errorf("%s does not take --%s", sub.CommandPath(), name)
				}
			}
			visit(sub)
		}
	}
	visit(newRoot(streams{}))
	if seen < 30 {
		t.Fatalf("only %d commands were looked at", seen)
	}
}

// TestNameThatIsCalled proves that the program answers to the original's name and to no other but
// its own.
func TestNameThatIsCalled(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"zerodag": "zerodag", "/usr/bin/digdag": "digdag", "digdag.exe": "digdag", "./digdag2": "zerodag", "": "zerodag"} {
		if got := calledAs(path); got != want {
			t.Errorf("called as %q it says %s, want %s", path, got, want)
		}
	}
}

// FuzzAsCalled proves that only names of commands change.
func FuzzAsCalled(f *testing.F) {
	f.Add("use `zerodag retry 1`")
	f.Add("zerodag server")
	f.Fuzz(func(t *testing.T, text string) {
		if got := asCalled(text); len(got) != len(text) && !strings.Contains(text, ourName+" ") {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
