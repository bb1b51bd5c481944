package projectfolder

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zerodag/internal/program"
)

// entry is an entry of a test archive; link is the target of a link.
type entry struct{ name, text, link string }

func packed(t *testing.T, list ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range list {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.text)), Typeflag: tar.TypeReg}
		if e.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(e.text))
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

// TestUnpack proves that the files of an archive replace only a folder's files, whatever links the folder has, that a
// server's data is never unpacked, and that an archive that is broken or hostile changes nothing.
func TestUnpack(t *testing.T) {
	t.Parallel()
	whole := packed(t, entry{"main.dig", "new", ""}, entry{"sub/x.sh", "new", ""}, entry{"to", "", "main.dig"})
	data := packed(t, entry{"main.dig", "new", ""}, entry{"data/zerodag.db", "SQLite format 3\x00", ""}, entry{"data/secret.key", "key", ""})
	for _, c := range []struct {
		name    string
		archive []byte
		there   map[string]string
		names   []string // nil: an error
		main    string
	}{
		{"into an empty folder", whole, nil, []string{"main.dig", "sub/x.sh", "to"}, "new"},
		{"over files", whole, map[string]string{"main.dig": "old", "sub/y.sh": "kept"}, []string{"main.dig", "sub/x.sh", "to"}, "new"},
		{"over a link to a folder elsewhere", whole, map[string]string{"main.dig": "old", "sub": "-> {outside}"}, nil, ""},
		{"cut off", whole[:len(whole)/2], map[string]string{"main.dig": "old"}, nil, "old"},
		{"no archive", []byte("<html>"), map[string]string{"main.dig": "old"}, nil, "old"},
		{"out of the folder", packed(t, entry{"main.dig", "new", ""}, entry{"../out", "x", ""}), map[string]string{"main.dig": "old"}, nil, "old"},
		{"a link out of the folder", packed(t, entry{"main.dig", "new", ""}, entry{"l", "", "../../etc"}, entry{"l/x", "x", ""}), map[string]string{"main.dig": "old"}, nil, "old"},
		{"data of a server", data, map[string]string{"main.dig": "old"}, []string{"main.dig"}, "new"},
	} {
		outside := t.TempDir()
		for name, text := range c.there {
			c.there[name] = strings.ReplaceAll(text, "{outside}", outside)
		}
		f := filled(t, c.there)
		var notes strings.Builder
		names, err := Unpack(t.Context(), bytes.NewReader(c.archive), f.Root(), &notes)
		if (err != nil) != (c.names == nil) || err == nil && !slices.Equal(names, c.names) {
			t.Errorf("%s: %v, %v", c.name, names, err)
		}
		if text, _ := os.ReadFile(filepath.Join(f.Root(), "main.dig")); c.main != "" && string(text) != c.main {
			t.Errorf("%s: main.dig is %q", c.name, text)
		}
		if entries, _ := os.ReadDir(outside); len(entries) > 0 {
			t.Errorf("%s: %v was written outside", c.name, entries)
		}
		if left, _ := filepath.Glob(filepath.Join(f.Root(), ".download-*")); len(left) > 0 {
			t.Errorf("%s: %v is left", c.name, left)
		}
		for name := range c.there {
			if _, err := os.Lstat(filepath.Join(f.Root(), name)); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestNamesFolder proves that a project name that leads elsewhere or contains terminal control characters cannot name a
// folder.
func TestNamesFolder(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"p": true, "my project": true, "..x": true, "": false, ".": false, "..": false, "/etc": false, "a/b": false, `a\b`: false, "\x1b[2J": false, "a\nb": false} {
		if got := NamesFolder(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestArchive proves that an archive contains the files of a folder but neither itself nor a server's data, and that
// this is reported.
func TestArchive(t *testing.T) {
	t.Parallel()
	f := filled(t, map[string]string{"main.dig": "+a: {echo>: x}\n", "sub/q.sql": "select 1", "link": "-> main.dig", ".digdagignore": "sub/no*\n", "sub/not": "x"})
	name := filepath.Join(f.Root(), "archive.tar.gz")
	to, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	var out strings.Builder
	workflows, err := f.Archive(to, name, false, &out, &out)
	if err != nil || len(workflows) != 1 {
		t.Fatalf("%d workflows, %v", len(workflows), err)
	}
	for text, want := range map[string]bool{"Creating " + name: true, "Archiving main.dig\n": true, "Archiving sub/q.sql\n": true, "Archiving link\n    symlink -> main.dig\n": true, "sub/not": false, "Archiving archive": false} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("%q: %v in %q", text, !want, out.String())
		}
	}
	broken := filled(t, map[string]string{"main.dig": "+a: {echo>: \n"})
	if _, err := broken.Archive(to, name, false, &out, &out); err == nil {
		t.Error("a project that a push refuses is archived")
	}
}

// TestCreate proves that each sample is a readable project and that existing files stay, and checks how the workflow is
// named in a folder whose name no workflow can have.
func TestCreate(t *testing.T) {
	t.Parallel()
	for kind := range strings.SplitSeq(Kinds, ", ") {
		dir := filepath.Join(t.TempDir(), "my-project")
		var out strings.Builder
		if err := Create(&out, dir, kind); err != nil || !strings.Contains(out.String(), "zerodag run my-project.dig") {
			t.Errorf("%s: %v, %q", kind, err, out.String())
		}
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := f.Read(); err != nil || len(c.Workflows) != 1 || c.Workflows[0].Name != "my-project" {
			t.Errorf("%s: %v, %v", kind, c.Names, err)
		}
	}
	for folder, want := range map[string]string{"a b": "a_b", "2026-load": "load", "äö": "main", "x.dig.d": "x.dig.d", "+++": "main", "a:b": "a_b", "123": "main"} {
		if got := workflowName(folder); got != want {
			t.Errorf("%q: %q, want %q", folder, got, want)
		}
	}
	there := filled(t, map[string]string{".gitignore": "mine\n"})
	if err := Create(&strings.Builder{}, there.Root(), "echo"); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(there.Root(), ".gitignore")); string(text) != "mine\n" {
		t.Errorf("a file of the user became %q", text)
	}
	for dir, kind := range map[string]string{filepath.Join(t.TempDir(), "x"): "perl", filepath.Join(t.TempDir(), "y.dig"): "echo"} {
		if err := Create(&strings.Builder{}, dir, kind); !program.IsUsageError(err) {
			t.Errorf("%s of %s: %v", dir, kind, err)
		}
	}
}
