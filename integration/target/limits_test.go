package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEmbeddedOnly proves that each test which is said to need an embedded server exists.
func TestEmbeddedOnly(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for name := range embeddedOnly {
		if !strings.Contains(all.String(), "func "+name+"(t *testing.T)") {
			t.Errorf("there is no %s: take it out of embeddedOnly", name)
		}
	}
}
