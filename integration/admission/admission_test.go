package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"zerodag/internal/catalogue"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/projectfiles"
	"zerodag/internal/projectfolder"
	"zerodag/internal/sqlite"
)

// project holds the files' text by their names; "-> x" is a link to x.
type project map[string]string

// server is a server that sets no limits.
type server struct {
	*node.Node
	pushes int
}

func newServer(t *testing.T) *server {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Migrate: true})
	must(err)
	t.Cleanup(func() { must(db.Close()) })
	blobs, err := files.NewBlobs(t.TempDir())
	must(err)
	spaces, err := files.NewWorkspaces(t.TempDir(), 0, projectfiles.Limits{}, func(ctx context.Context, key string) (io.ReadCloser, error) {
		r, _, err := blobs.Open(ctx, key)
		return r, err
	})
	must(err)
	t.Cleanup(func() { must(spaces.Close()) })
	return &server{Node: node.New(node.Options{Ports: host.Ports{Log: db, Events: db.Queue("events"), Tasks: db.Queue("tasks"), Projects: db, Workflows: db, Schedules: db, Attempts: db, Sessions: db, Pools: db,
		Blobs: blobs, Secrets: db, Unpack: func(ctx context.Context, key string) (host.Archive, error) { return spaces.Archive(ctx, key) }}})}
}

// write creates the project's folder.
func (p project) write(t *testing.T) projectfolder.Folder {
	t.Helper()
	root := t.TempDir()
	for name, text := range p {
		at := filepath.Join(root, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if err == nil {
			if target, isLink := strings.CutPrefix(text, "-> "); isLink {
				err = os.Symlink(target, at)
			} else {
				err = os.WriteFile(at, []byte(text), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := projectfolder.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// checked returns the error of `zerodag check`.
func checked(f projectfolder.Folder) error {
	_, _, err := f.Check("", projectfolder.Admission{AllowEmpty: true}, io.Discard)
	return err
}

// pushed returns the error that a client gets if it pushes the folder without checking it.
func (s *server) pushed(t *testing.T, f projectfolder.Folder) error {
	t.Helper()
	var archive bytes.Buffer
	if _, err := f.Pack(&archive, projectfiles.Packing{}); err != nil {
		return err
	}
	s.pushes++
	_, err := s.Push(t.Context(), catalogue.PushRequest{Project: "p", Revision: strconv.Itoa(s.pushes)}, &archive, int64(archive.Len()))
	var refused *host.Error
	if err != nil && !errors.As(err, &refused) {
		t.Fatalf("the server failed: %v", err)
	}
	return err
}

// samples returns valid and invalid projects from other tests.
func samples(t *testing.T) []project {
	t.Helper()
	var list []project
	for _, pattern := range []string{"../gated/cases/*.txtar", "../gated/bad/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p := project{}
			for _, f := range a.Files {
				p[f.Name] = string(f.Data)
			}
			list = append(list, p)
		}
	}
	folders, err := os.ReadDir("../badprojects")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		p, root := project{}, filepath.Join("../badprojects", folder.Name())
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(name)
			p[filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 300 {
		t.Fatalf("only %d projects were found", len(list))
	}
	return list
}

// parts are parts of lines that change a workflow's meaning.
var parts = []string{"+a:\n", "  sh>: x\n", "zerodag: 1\n", "schedule: {daily>: \"07:00:00\"}\n", "schedule: {cron>: \"* * 31 2 *\"}\n", "timezone: Europe/Berlin\n", "timezone: Nowhere\n", "_retry: 3\n", "  _pool: none\n",
	"!include : .hidden.dig\n", "!include : sub/x.dig\n", "sla: {time: 09:00}\n", "params: {n: {type: int, pattern: \"(\"}}\n", "_export: {a: ${b}}\n", "calendar: days.txt\n", "_env_files: [x.env]\n", "foo: 1\n", "\t", "]", "\x00", ": ", "- ", "'", "\"", "&a ", "*a "}

// mutate returns the project with one to four random changes to its files.
func (p project) mutate(r *rand.Rand) project {
	p = maps.Clone(p)
	for range 1 + r.IntN(4) {
		names := slices.Sorted(maps.Keys(p))
		if len(names) == 0 {
			break
		}
		name := names[r.IntN(len(names))]
		text := p[name]
		at := r.IntN(len(text) + 1)
		switch r.IntN(9) {
		case 0: // a part of a line
			p[name] = text[:at] + parts[r.IntN(len(parts))] + text[at:]
		case 1: // a missing line
			lines := strings.SplitAfter(text, "\n")
			i := r.IntN(len(lines))
			p[name] = strings.Join(slices.Delete(lines, i, i+1), "")
		case 2: // a repeated line
			lines := strings.SplitAfter(text, "\n")
			i := r.IntN(len(lines))
			p[name] = strings.Join(slices.Insert(lines, i, lines[i]), "")
		case 3: // another byte
			if at < len(text) {
				p[name] = text[:at] + string(rune(r.IntN(256))) + text[at+1:]
			}
		case 4: // a missing file
			delete(p, name)
		case 5: // a renamed file
			delete(p, name)
			p[[]string{"." + name, "sub/" + name, "1" + name, name + ".dig", strings.Repeat("n", 251) + ".dig", "ä" + name, "a b.dig", "a\n.dig", "a\u202e.dig", "a\xff.dig"}[r.IntN(10)]] = text
		case 6: // a link in place of a file
			p["link.dig"] = "-> " + []string{name, "../" + name, "." + name, "none", "/etc/hostname"}[r.IntN(5)]
		case 7: // a file that is not pushed
			p[".zerodagignore"] = name + "\n"
		case 8: // an end
			p[name] = text[:at]
		}
	}
	clean := project{}
	for name, text := range p { // a file cannot be a folder at the same time, and names are limited
		if len(filepath.Base(name)) <= 255 && !slices.ContainsFunc(slices.Collect(maps.Keys(p)), func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			clean[name] = text
		}
	}
	return clean
}

// mutants is the number of changed projects that are compared.
const mutants = 1500

// TestCheckIsPush proves that `check` reports an error exactly if a push is refused: for the projects of other tests,
// and for random changes to them.
func TestCheckIsPush(t *testing.T) {
	t.Parallel()
	s, list := newServer(t), samples(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range mutants {
		list = append(list, list[r.IntN(len(list))].mutate(r))
	}
	noPool, _, _ := strings.Cut(host.NoPool("NAME"), "NAME")
	accepted, refused := 0, 0
	for i, p := range list {
		f := p.write(t)
		here, there := checked(f), s.pushed(t, f)
		var user *host.Error
		if errors.As(there, &user) && strings.Contains(user.Message, noPool) {
			there = nil // only the server knows its pools
		}
		if (here == nil) != (there == nil) {
			t.Errorf("project %d: check finds %v, and the push %v\n%s", i, here, there, p)
		}
		if there == nil {
			accepted++
		} else {
			refused++
		}
	}
	if accepted < len(list)/5 || refused < len(list)/5 {
		t.Errorf("%d pushes were accepted and %d refused: too few of one kind", accepted, refused)
	}
}

// String returns the project's files for a message.
func (p project) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "-- %q --\n%s\n", name, p[name])
	}
	return b.String()
}

// ofRequest lists the refusals of a push that do not depend on the folder's content, and what they depend on.
func ofRequest() map[string]string {
	return map[string]string{
		"%s= is required": "the names in the request",
		"Validating %s failed\nname must not %s: %q":                                   "the names in the request",
		"Invalid project name %q: it must not be . or .. and must not contain a slash": "the names in the request",
		"Resource already exists: revision=%s in project id=%d":                        "the revisions of the project",
		"The upload is %d bytes instead of the announced %d":                           "the transport",
		"%s does not exist": "the schedules to clear",
	}
}

// TestRefusals proves that the server refuses a push only because of the request, or through the code that also reads
// archives and workflows for `check`. A refusal that is added elsewhere must be added to `check`.
func TestRefusals(t *testing.T) {
	t.Parallel()
	known, found := ofRequest(), map[string]bool{}
	f, err := parser.ParseFile(token.NewFileSet(), "../../internal/catalogue/push.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names, err := parser.ParseFile(token.NewFileSet(), "../../internal/catalogue/names/names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	collect := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is && len(call.Args) > 0 {
				if s, is := call.Fun.(*ast.SelectorExpr); is && slices.Contains([]string{"Invalidf", "Conflictf"}, s.Sel.Name) {
					format, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					found[format] = true
				}
			}
			return true
		})
	}
	collect(f)
	for _, d := range names.Decls {
		if fn, is := d.(*ast.FuncDecl); is && slices.Contains([]string{"Project", "Check"}, fn.Name.Name) {
			collect(fn)
		}
	}
	if want, got := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(found)); !slices.Equal(want, got) {
		t.Errorf("a push is refused with\n%q\nand this test knows\n%q", got, want)
	}
}
