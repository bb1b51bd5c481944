package projectfiles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// folderOf creates a project; the content "-> x" creates a link to x.
func folderOf(t *testing.T, content map[string]string) Project {
	t.Helper()
	root := filepath.Join(t.TempDir(), "project")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			err = os.Symlink(strings.ReplaceAll(target, "ROOT", root), at)
		} else {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// listed shows an archive as "name" or "name -> target" with the mode.
func listed(t *testing.T, archive []byte) []string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		line := h.Name
		if h.Linkname != "" {
			line += " -> " + h.Linkname
		}
		all = append(all, line)
	}
}

// TestPack checks which files are packed, and that identical files produce identical archives that Unpack accepts.
func TestPack(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long/", 40) + "näme"
	p := folderOf(t, map[string]string{
		"a.dig": "+a: {}", "b.dig": "", "sub/c.dig": "", ".hidden": "", ".digdag/x": "", ".digdagignore": "*.tmp\n",
		"x.tmp": "", long: "deep", "run.sh": "#!/bin/sh", "out.tar.gz": "an older one",
	})
	if err := os.Chmod(filepath.Join(p.Root(), "run.sh"), 0o751); err != nil {
		t.Fatal(err)
	}
	pack := func() []byte {
		var b bytes.Buffer
		workflows, err := p.Pack(&b, Packing{Output: filepath.Join(p.Root(), "out.tar.gz")})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a.dig", "b.dig"}, workflows); diff != "" {
			t.Error(diff)
		}
		return b.Bytes()
	}
	first := pack()
	if err := os.Chtimes(filepath.Join(p.Root(), "a.dig"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, pack()) {
		t.Error("two archives of equal files differ")
	}
	if diff := cmp.Diff([]string{"a.dig", "b.dig", long, "run.sh", "sub/c.dig"}, listed(t, first)); diff != "" {
		t.Error(diff)
	}
	folder := filepath.Join(t.TempDir(), "u")
	if err := Unpack(t.Context(), bytes.NewReader(first), folder, Limits{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(folder, "run.sh")); err != nil || info.Mode() != 0o751 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestPackLinks proves that links at any depth to targets at any depth become relative, whatever form they were written
// in.
func TestPackLinks(t *testing.T) {
	t.Parallel()
	folders := []string{"", "d/", "d/e/"}
	back := []string{"", "../", "../../"}
	for i, from := range folders {
		for j, to := range folders {
			forms := map[string]string{
				"plain":    back[i] + to + "t",
				"detour":   "./" + strings.Repeat("../", i) + "../project/" + to + "t",
				"absolute": "ROOT/" + to + "t",
			}
			for form, target := range forms {
				t.Run(fmt.Sprintf("%d to %d %s", i, j, form), func(t *testing.T) {
					t.Parallel()
					p := folderOf(t, map[string]string{to + "t": "text", from + "link": "-> " + target})
					var b bytes.Buffer
					if _, err := p.Pack(&b, Packing{}); err != nil {
						t.Fatal(err)
					}
					relative, err := filepath.Rel("/"+from, "/"+to+"t")
					if err != nil {
						t.Fatal(err)
					}
					want := from + "link -> " + relative
					if got := strings.Join(listed(t, b.Bytes()), "\n"); !strings.Contains(got, want) {
						t.Errorf("archive has\n%s\nwithout %s", got, want)
					}
					if err := Unpack(t.Context(), &b, filepath.Join(t.TempDir(), "u"), Limits{}); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// TestPackOutgoing proves that a link out of the project is refused, or copied if that is requested.
func TestPackOutgoing(t *testing.T) {
	t.Parallel()
	outside := folderOf(t, map[string]string{"one": "1", "sub/two": "2", ".hidden": "", "back": "-> one"})
	p := folderOf(t, map[string]string{"file": "-> " + outside.Root() + "/one", "folder": "-> " + outside.Root()})
	_, err := p.Pack(io.Discard, Packing{})
	if err == nil || !strings.Contains(err.Error(), "Invalid symbolic link: Given path '"+outside.Root()+"/one' is outside of project directory '"+p.Root()+"'. Consider to add --copy-outgoing-symlinks option") {
		t.Errorf("error %v", err)
	}
	var b bytes.Buffer
	var told []string
	_, err = p.Pack(&b, Packing{CopyOutgoing: true, Packed: func(name, target string) { told = append(told, name+target) }})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"file", "folder/back -> one", "folder/one", "folder/sub/two"}
	if diff := cmp.Diff(want, listed(t, b.Bytes())); diff != "" {
		t.Error(diff)
	}
	if len(told) != len(want) {
		t.Errorf("told %v", told)
	}
}

// TestPackRefuses proves that files that cannot be archived are named in an error, and that no read waits for them.
func TestPackRefuses(t *testing.T) {
	t.Parallel()
	p := folderOf(t, map[string]string{"a.dig": ""})
	if err := syscall.Mkfifo(filepath.Join(p.Root(), "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Pack(io.Discard, Packing{}); err == nil || !strings.Contains(err.Error(), "archive pipe: it is not a file") {
		t.Errorf("fifo: %v", err)
	}
	p = folderOf(t, map[string]string{"loop": "-> ROOT/.."})
	if _, err := p.Pack(io.Discard, Packing{CopyOutgoing: true}); err == nil || !strings.Contains(err.Error(), "leads to a folder that contains it") {
		t.Errorf("loop: %v", err)
	}
}
