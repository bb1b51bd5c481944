package projectfiles

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zerodag/engine/dig"
	"zerodag/internal/host"
)

// foreign lists the refusals that concern only archives that Pack never creates.
func foreign() []string {
	return []string{
		"Archive is broken: %v", "Input is not in the .gz format",
		"Archive includes an invalid entry: %v", "Archive includes an invalid entry: %s", "Archive includes an invalid entry: %s appears twice",
		"Archive includes an invalid entry: %s is below %s, which is not a folder",
		"Archive includes an invalid entry: %s is a hard link to %s (create the archive with `zerodag archive`, or with tar's option --hard-dereference)",
		"Archive includes an invalid entry: %s is not a file, a folder or a symbolic link",
		"Archive includes an invalid symlink: %s -> %s",
		"Archive is too large when it is unpacked", // its entries exceed another limit first
		"Archive includes the data of a server (its database and the key of its secrets) in %s: it must not leave its machine. Move it out of the project, or create the archive with `zerodag push` or `zerodag archive`, which omit it",
	}
}

// TestAdmit proves that Admit reports each refusal of an archive that Pack can create, with the same message and
// without creating the archive, and that every refusal is either tested here or known to concern only other archives.
func TestAdmit(t *testing.T) {
	t.Parallel()
	random := make([]byte, 5000)
	for i, n := range slices.Repeat([]uint32{2463534242}, len(random)) {
		n += uint32(i) * 2654435761
		n ^= n >> 15
		random[i] = byte(n * 2246822519 >> 24)
	}
	deep := strings.Repeat("d/", 255) + "f"
	cases := []struct {
		name, format string
		files        map[string]string
		limits       Limits
	}{
		{"good", "", map[string]string{"a.dig": "+a: {}\n", "d/e": "", "d/l": "-> e"}, Limits{}},
		{"as large as allowed", "", map[string]string{"a": "12345", "b": "12345"}, Limits{Total: 10, File: 5, Entries: 2}},
		{"much that is packed well", "", map[string]string{"a": strings.Repeat("a", 5000)}, Limits{Compressed: 4000}},
		{"packed", "Size of the uploaded archive file exceeds limit (%d bytes)", map[string]string{"a": string(random)}, Limits{Compressed: 4000}},
		{"file", "Size of a file in the archive exceeds limit (%d > %d bytes): %s", map[string]string{"a": "123456"}, Limits{Total: 10, File: 5}},
		{"total", "Total size of the archive exceeds limit (%d > %d bytes)", map[string]string{"a": "12345", "b": "123456"}, Limits{Total: 10}},
		{"entries", "Number of files in the archive exceeds limit (%d)", map[string]string{"a": "", "b": "", "c": ""}, Limits{Entries: 2}},
		{"folders", "Number of files in the archive exceeds limit (%d)", map[string]string{"a/b/c/d/e/f": ""}, Limits{Entries: 2}},
		{"workflow", "Size of a workflow file in the archive exceeds limit (%d > %d bytes): %s", map[string]string{"sub/a.dig": strings.Repeat("#", dig.MaxFile+1)}, Limits{}},
		{"path", "Archive includes an invalid entry: the path %s... has %d bytes and %d folders, but at most %d and %d are allowed", map[string]string{deep: ""}, Limits{}},
	}
	proved := foreign()
	for _, c := range cases {
		proved = append(proved, c.format)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := folderOf(t, c.files)
			var archive bytes.Buffer
			if _, err := p.Pack(&archive, Packing{}); err != nil {
				t.Fatal(err)
			}
			want := Inspect(t.Context(), bytes.NewReader(archive.Bytes()), c.limits)
			got := p.Admit(false, c.limits)
			if c.format == "" && want != nil {
				t.Fatalf("the archive is refused: %v", want)
			}
			begin, _, _ := strings.Cut(c.format, "%")
			if c.format != "" && (want == nil || !strings.HasPrefix(want.Error(), begin)) {
				t.Fatalf("the archive is refused with %v, want %s", want, c.format)
			}
			if textOf(got) != textOf(want) || IsRefusal(got) != (want != nil) {
				t.Errorf("Admit reports %v, and the archive is refused with %v", got, want)
			}
		})
	}
	slices.Sort(proved)
	proved = slices.DeleteFunc(slices.Compact(proved), func(s string) bool { return s == "" })
	if all := refusals(t); !slices.Equal(all, proved) {
		t.Errorf("the package refuses archives with\n%s\nand this test knows\n%s", strings.Join(all, "\n"), strings.Join(proved, "\n"))
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// refusals returns the formats of all refusals in this package's source, sorted.
func refusals(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) == 0 {
				return true
			}
			if f, is := call.Fun.(*ast.Ident); is && f.Name == "refusef" {
				format, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				found[format] = true
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// TestAdmitPacks proves that Admit also reports why Pack fails.
func TestAdmitPacks(t *testing.T) {
	t.Parallel()
	p := folderOf(t, map[string]string{"a.dig": "", "out": "-> ../other"})
	err := p.Admit(false, Limits{})
	if err == nil || IsRefusal(err) || !strings.Contains(err.Error(), "Consider to add --copy-outgoing-symlinks") {
		t.Errorf("a link out of the project: %v", err)
	}
	if err := os.WriteFile(filepath.Join(p.Root(), "../other"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.Admit(true, Limits{}); err != nil {
		t.Errorf("the target is copied: %v", err)
	}
}

// TestPackedSource proves that files that are not packed do not exist, whatever link leads to them, with a hint that
// explains why, and that all others are read.
func TestPackedSource(t *testing.T) {
	t.Parallel()
	p := folderOf(t, map[string]string{".zerodagignore": "*.tmp\n", "a.dig": "a", "d/b": "b", "to_b": "-> d/b", "to_d": "-> d",
		".hidden": "x", "d/.h/x": "x", "x.tmp": "x", "to_hidden": "-> .hidden", "to_h": "-> d/.h", "own.tmp": "x", "link.tmp": "-> a.dig"})
	read, err := p.PackedSource("own.tmp")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.dig", "d/b", "to_b", "to_d/b", "own.tmp"} {
		if _, err := read(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{".hidden", "d/.h/x", "x.tmp", "to_hidden", "to_h/x", "link.tmp"} {
		_, err := read(name)
		var explained interface{ Hint() string }
		if !errors.Is(err, dig.ErrNotFound) || !errors.As(err, &explained) || explained.Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := read("none"); !errors.Is(err, dig.ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
	var archive bytes.Buffer
	if _, err := p.Pack(&archive, Packing{}); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "u")
	if err := Unpack(t.Context(), &archive, folder, Limits{}); err != nil {
		t.Fatal(err)
	}
	a, err := OpenArchive(folder)
	if err != nil {
		t.Fatal(err)
	}
	var _ host.Archive = a
	for _, name := range []string{"a.dig", "d/b", "to_b", "to_d/b", ".hidden", "d/.h/x", "x.tmp", "to_hidden", "to_h/x", "link.tmp"} {
		_, here := read(name)
		_, there := a.Read(name)
		if errors.Is(here, dig.ErrNotFound) != errors.Is(there, dig.ErrNotFound) {
			t.Errorf("%s: %v here, and %v in the archive", name, here, there)
		}
	}
}
