package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/docs"
	"zerodag/operators"
)

// literals returns the text literals in the programs of a folder.
func literals(t *testing.T, root string) map[string]bool {
	t.Helper()
	texts := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					texts[text] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestKeysOfDocker proves that the known keys of docker: are the keys on the page about commands.
func TestKeysOfDocker(t *testing.T) {
	t.Parallel()
	page, err := docs.Pages.ReadFile("commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| parameter of `docker:` |")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		rows = append(rows, m[1])
	}
	if diff := cmp.Diff(rows, operators.DockerKeys()); diff != "" || len(rows) == 0 {
		t.Error(diff)
	}
}

// TestMessagesNameNoFileOfTheDocs proves that messages name pages by the command that shows them: users of the program
// do not have the folder of its documentation.
func TestMessagesNameNoFileOfTheDocs(t *testing.T) {
	t.Parallel()
	file := regexp.MustCompile(`\bdocs/[a-z/-]+\.md\b`)
	for _, root := range []string{"../cmd/zerodag", "../engine", "../operators", "../internal"} {
		for text := range literals(t, root) {
			if strings.Contains(text, " ") && file.MatchString(text) && !strings.Contains(text, "](") {
				t.Errorf("%q", text)
			}
		}
	}
}
