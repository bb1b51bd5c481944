package all_test

import (
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/engine/dig/keys"
	"zerodag/operators/all"
	"zerodag/operators/inline"
	"zerodag/operators/operatortest"
)

// TestEveryFolderIsListed fails when an operator's folder is not in the registry.
func TestEveryFolderIsListed(t *testing.T) {
	t.Parallel()
	imported := ""
	for _, list := range []string{".", "../inline"} {
		this, err := build.ImportDir(list, 0)
		if err != nil {
			t.Fatal(err)
		}
		imported += strings.Join(this.Imports, " ") + " "
	}
	folders, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		name := folder.Name()
		if !folder.IsDir() || name == "all" || name == "inline" || name == "run" || name == "operatortest" || name == "aws" || name == "sql" { // the other operators share these
			continue
		}
		if !strings.Contains(imported, "zerodag/operators/"+name+" ") {
			t.Errorf("operators/%s is in neither operators/all nor operators/inline", name)
		}
		for _, needed := range []string{"operator.go", "operator_test.go", "README.md"} {
			if _, err := os.Stat(filepath.Join("..", name, needed)); err != nil {
				t.Errorf("operators/%s has no %s", name, needed)
			}
		}
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	inlines := map[string]bool{
		"echo": true, "if": true, "for_each": true, "for_range": true, "loop": true, "call": true, "fail": true, "switch": true,
	}
	if got := inline.Registry().Names(); len(got) != len(inlines) {
		t.Errorf("operators/inline has %v", got)
	}
	plain := map[string]bool{ // operators that `_retry` does not retry
		"echo": true, "fail": true, "notify": true, "wait": true, "s3_wait": true, "if": true, "loop": true, "for_each": true, "for_range": true, "switch": true,
	}
	for _, name := range all.Registry().Names() {
		o := all.Registry()[name]
		if _, listed := inline.Registry()[name]; o.Inline != inlines[name] || listed != o.Inline {
			t.Errorf("%s>: Inline is %v, in operators/inline is %v: a function that runs inline operators alone links that list", name, o.Inline, listed)
		}
		if o.Retries == plain[name] {
			t.Errorf("%s>: Retries is %v", name, o.Retries)
		}
		if keys.RunsNoCommand(name) == o.Commands {
			t.Errorf("%s>: Commands is %v, and the list of RunsNoCommand in engine/dig/keys/command.go, by which a push refuses _store, says otherwise", name, o.Commands)
		}
	}
}

// TestEveryOperatorHasAPage checks that `zerodag operators NAME` has a page to show, in the form that all pages have.
func TestEveryOperatorHasAPage(t *testing.T) {
	t.Parallel()
	registry := all.Registry()
	for _, name := range registry.Names() {
		for _, problem := range operatortest.PageProblems(registry[name]) {
			t.Error(problem)
		}
	}
}
