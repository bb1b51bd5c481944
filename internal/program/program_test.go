package program

import (
	"strings"
	"testing"
)

// TestNameThatIsCalled proves that the program recognizes Digdag's name and its own, and no other.
func TestNameThatIsCalled(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"zerodag": "zerodag", "/usr/bin/digdag": "digdag", "digdag.exe": "digdag", "./digdag2": "zerodag", "": "zerodag"} {
		if got := calledAs(path); got != want {
			t.Errorf("called as %q it says %s, want %s", path, got, want)
		}
	}
}

// FuzzAsCalled proves that only command names change.
func FuzzAsCalled(f *testing.F) {
	f.Add("use `zerodag retry 1`")
	f.Add("zerodag server")
	f.Fuzz(func(t *testing.T, text string) {
		if got := AsCalled(text); len(got) != len(text) && !strings.Contains(text, Name+" ") {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
