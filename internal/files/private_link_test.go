package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeyElsewhere proves that a link or a second file name in the data folder does not cause a file in another place
// to be closed to others.
func TestKeyElsewhere(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(from, to string) error{"symbolic": os.Symlink, "hard": os.Link} {
		folder := t.TempDir()
		elsewhere, key := filepath.Join(t.TempDir(), "passwd"), filepath.Join(folder, "secret.key")
		if err := os.WriteFile(elsewhere, []byte(strings.Repeat("x", 24)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := link(elsewhere, key); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, warning, err := ReadKey(key); err != nil || !strings.Contains(warning, "chmod 600") {
			t.Errorf("%s: %q %v", name, warning, err)
		}
		if _, err := Private(folder, "secret.key"); err != nil {
			t.Error(err)
		}
		info, err := os.Stat(elsewhere)
		if err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: the file elsewhere has the mode %v: %v", name, info.Mode(), err)
		}
	}
}
