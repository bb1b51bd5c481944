package engine

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// banned are packages that the engine must not import, with the reason.
var banned = map[string]string{
	"os": "no I/O", "net": "no I/O", "net/http": "no I/O", "io/fs": "files come through a Source", "os/exec": "no I/O",
	"context": "nothing here waits", "sync/atomic": "a State belongs to one goroutine",
	"log": "logging is the host's", "log/slog": "logging is the host's", "math/rand": "randomness is an input",
	"math/rand/v2": "randomness is an input", "crypto/rand": "randomness is an input", "unsafe": "nothing is worth it",
}

// scripts is the only package that may have a timer and watch memory, to interrupt scripts, and that sets a variable of
// a library, once.
const scripts = "expr/script"

// TestPurity checks that the engine is a function of its inputs: no I/O, no clock, no randomness, no goroutines, no
// dependence on Go's map order.
func TestPurity(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "claim", "dig", "param", "resume", "schedule", "expr", scripts, "expr/assets"} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			for _, problem := range impurities(t, dir) {
				t.Error(problem)
			}
		})
	}
}

// TestPurityFindsSamples checks that TestPurity finds the mistakes that it is meant to find.
func TestPurityFindsSamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := "package bad\nimport (\"os\"; \"sync\"; \"time\")\nvar m = map[int]int{}\nvar l sync.Mutex\nvar o = sync.OnceValue(func() int { return 1 })\nfunc f() { _ = os.Args; _ = time.Now(); go f(); for range m {}; select {}; _, _ = time.LoadLocation(\"x\"); _ = time.Local }\n"
	if err := os.WriteFile(filepath.Join(dir, "bad.go"), []byte(bad), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := len(impurities(t, dir)); got != 8 {
		t.Errorf("found %d problems, want 8 (import, lock, clock, go, map, select, zones of the machine): %v", got, impurities(t, dir))
	}
}

func impurities(t *testing.T, dir string) []string {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(set, "source", nil), Error: func(error) {}}
	config.Check(dir, set, files, info) // the compiler reports type errors
	var problems []string
	say := func(n ast.Node, what string) { problems = append(problems, set.Position(n.Pos()).String()+": "+what) }
	for _, f := range files {
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			if why, bad := banned[path]; bad {
				say(i, path+": "+why)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				say(n, "go statement")
			case *ast.SelectStmt:
				say(n, "select statement")
			case *ast.RangeStmt:
				if tv, ok := info.Types[n.X]; ok && tv.Type != nil {
					if _, isMap := tv.Type.Underlying().(*types.Map); isMap {
						say(n, "range over a map: its order is random")
					}
				}
			case *ast.SelectorExpr:
				// A lazily created constant is still a constant.
				if name := of(info, n, "sync"); name != "" && name != "OnceValue" && (name != "Once" || dir != scripts) {
					say(n, "sync."+name+": a State belongs to one goroutine")
				}
				if name := of(info, n, "time"); name == "LoadLocation" || name == "Local" {
					say(n, "time."+name+": zones are those of schedule.Zone, the same on every machine")
				}
				if clock(info, n) && dir != scripts {
					say(n, "time."+n.Sel.Name+": time comes in with events")
				}
			}
			return true
		})
	}
	return problems
}

// clock reports whether a selector is a function of package time that reads the clock.
func clock(info *types.Info, n *ast.SelectorExpr) bool {
	switch of(info, n, "time") {
	case "Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep":
		return true
	}
	return false
}

// of returns the name that a selector takes from a package; empty if it is from a different package.
func of(info *types.Info, n *ast.SelectorExpr, path string) string {
	x, ok := n.X.(*ast.Ident)
	if !ok {
		return ""
	}
	pkg, ok := info.Uses[x].(*types.PkgName)
	if !ok || pkg.Imported().Path() != path {
		return ""
	}
	return n.Sel.Name
}
