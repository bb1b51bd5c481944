package embedded_test

import (
	"os"
	"path/filepath"
	"testing"

	"zerodag/internal/embedded"
)

// TestWritable proves that a server's folders are tested, that nothing is left there, and that a folder that accepts no
// files is an error.
func TestWritable(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	e, err := embedded.Open(t.Context(), embedded.Options{Folder: folder, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Writable(t.Context()); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".health-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.RemoveAll(filepath.Join(folder, "blobs")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "blobs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.Writable(t.Context()); err == nil {
		t.Error("a file in place of a folder can be written to")
	}
}
