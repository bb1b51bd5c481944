package datafolder

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHolds proves that a data folder is recognized by its contents, and that a project with its own key is not
// mistaken for one.
func TestHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names []string
		want  bool
	}{
		{[]string{"zerodag.db"}, true},
		{[]string{"a.dig", "Zerodag.DB", "logs"}, true},
		{[]string{"secret.key", "blobs"}, true},
		{[]string{"SECRET.KEY", "admin.token"}, true},
		{[]string{"secret.key", "a.dig"}, false},
		{[]string{"blobs", "logs", "admin.token"}, false},
		{[]string{"zerodag.db.txt", "my-zerodag.db"}, false},
		{nil, false},
	} {
		if got := Holds(c.names); got != c.want {
			t.Errorf("%v: %t", c.names, got)
		}
	}
}

// TestWithin proves that data folders are found both in folders and in lists of names, and that nothing else is removed
// with them.
func TestWithin(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	names := []string{"a.dig", "x/y/data/zerodag.db", "x/y/data/secret.key", "x/y/data/blobs/1", ".state/Zerodag.db", "keys/secret.key", "old/secret.key", "old/blobs/2"}
	write(t, root, names...)
	want := []string{".state", "old", "x/y/data"}
	found, err := Within(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, Among(names)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"."}, Among([]string{"a.dig", "zerodag.db", "secret.key"})); diff != "" {
		t.Error(diff)
	}
	write(t, root, "zerodag.db", "zerodag.db-wal", "secret.key", "admin.token")
	if found, err = Remove(root); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".", ".state", "old", "x/y/data"}, found); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"a.dig", "keys", "x"}, left); diff != "" {
		t.Error(diff)
	}
}

// TestReached proves that links to data, and to single data files, are recognized, and that a project inside a server's
// data folder still counts as a project.
func TestReached(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write(t, top, "srv/zerodag.db", "srv/secret.key", "srv/blobs/1", "project/in/zerodag.db", "project/a", "srv/w/project/b")
	for name, target := range map[string]string{
		"project/folder": "../srv", "project/key": "../srv/secret.key", "project/deep": top + "/srv/blobs/1",
		"project/inner": "in", "project/plain": "a", "project/gone": "nowhere", "srv/w/project/own": "b",
	} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"folder": true, "key": true, "deep": true, "inner": true, "plain": false, "gone": false} {
		if got := Reached(filepath.Join(top, "project"), filepath.Join(top, "project", name)); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if Reached(filepath.Join(top, "srv/w/project"), filepath.Join(top, "srv/w/project/own")) {
		t.Error("a file of a project that lies among the data is taken for data")
	}
}
