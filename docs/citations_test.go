package docs_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the repository, as the tests of this package see it.
const root = ".."

// skipped lists folders whose texts are not checked: recordings, projects of tests, and downloaded or built files.
var skipped = []string{".git", "bin", "site", "node_modules", "integration/conformance/cases", "integration/badprojects", "integration/client/lib",
	"integration/localstack/plugin/lsproc-0.1.0.dist-info", "cmd/zerodag/testdata", "internal/projectfolder/templates", "infra/cdk.out"}

// TestCitations proves that every page, section, decision, test, file and recorded case that a comment or a page names
// exists in this repository, so that readers can follow it.
func TestCitations(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	files := 0
	walk(t, func(name string) {
		texts := textsOf(t, name)
		if len(texts) > 0 {
			files++
		}
		for _, x := range texts {
			for _, p := range l.check(name, x) {
				t.Errorf("%s:%d: %s", name, x.line(p.at), p.says)
			}
		}
	})
	if files < 500 {
		t.Fatalf("only %d files were read", files)
	}
}

// TestCitationsThatLeadNowhere proves that TestCitations finds each kind of broken citation.
func TestCitationsThatLeadNowhere(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	if got := l.check("docs/reference/x.md", source{text: "as before (2.7), and (2.99)", first: 1}); len(got) != 1 {
		t.Errorf("sections of the reference: %v", got)
	}
	for text, problems := range map[string]int{
		"(language.md 1.5)":                       0,
		"(language.md 9.5)":                       1,
		"(engine.md 2.6, 2.7)":                    0,
		"(engine.md 2.6, 2.99)":                   1,
		"(engine.md 2.4 to 2.99)":                 1,
		"see server.md#settings":                  0,
		"see server.md#no-such-section":           1,
		"nothing.md 1.2":                          1,
		"(spec language.md 1.5)":                  1,
		"(server.md 6.5)":                         1,
		"ADR 16 and ADRs 1, 99":                   1,
		"docs/adr/0018 and docs/adr/0099-no.md":   1,
		"(DESIGN section 3; HOLES 49)":            2,
		"shown by TestCitations":                  0,
		"shown by TestOfWhichThereIsNone":         1,
		"engine/testdata/sub_*.txt":               0,
		"engine/testdata/no_such_*.txt":           1,
		"integration/rules/names and internal/no": 1,
		"recorded cases a05 and e01 to e05":       0,
		"(case z99; observed: c01, y98)":          2,
		"`make test` and `make no-such-thing`":    1,
		"`go test ./engine ./internal/catalogue`": 1,
		"`go test ./engine/...` and more":         0,
		"retry (B.3)":                             1,
		"[here](adr/0018-data-is-not-code.md)":    0,
		"[there](server.md#no-such-section)":      2,
		"[there](no/such/file.yaml)":              1,
		"https://example.com/docs/other.md#there": 0,
	} {
		if got := l.check("docs/x.md", source{text: text, first: 1}); len(got) != problems {
			t.Errorf("%s: %d problems %v, want %d", text, len(got), got, problems)
		}
	}
}

// source is a text in a file that may contain citations: a page, a comment without its comment signs, or the comments
// of a script or a scenario.
type source struct {
	text  string
	first int   // its first line
	lines []int // where its other lines begin
}

func newSource(text string, first int) source {
	s := source{text: text, first: first}
	for i, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	s.text = strings.ReplaceAll(text, "\n", " ") // a citation may span two lines
	return s
}

func (s source) line(at int) int {
	n, found := slices.BinarySearch(s.lines, at)
	if found {
		n++
	}
	return s.first + n
}

// walk calls f with each file that may contain citations.
func walk(t *testing.T, f func(name string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (slices.Contains(skipped, name) || slices.Contains(skipped, d.Name())) {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			f(filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// textsOf returns the texts of a file that may contain citations.
func textsOf(t *testing.T, name string) []source {
	t.Helper()
	kind := filepath.Ext(name)
	scenario := kind == ".txt" && (strings.HasPrefix(name, "engine/testdata/") || strings.HasPrefix(name, "integration/rules/"))
	whole := slices.Contains([]string{".md", ".sh", ".py", ".js", ".mjs", ".java", ".yml"}, kind) || name == "Makefile" || name == ".ci/run"
	if kind != ".go" && !scenario && !whole {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case kind == ".go":
		return goTexts(t, name, text)
	case whole && kind != ".md":
		text = notComment.ReplaceAll(text, nil)
	case strings.HasPrefix(name, "integration/rules/"): // the rest is a project
		text, _, _ = bytes.Cut(text, []byte("\n-- "))
	case scenario:
		text, _, _ = bytes.Cut(text, []byte("\nworkflow"))
	}
	return []source{newSource(string(text), 1)}
}

// notComment matches a line of a script that is not a comment.
var notComment = regexp.MustCompile(`(?m)^[ \t]*[^#/ \t\n].*$`)

var goSigns = regexp.MustCompile(`(?m)^[ \t]*(//|/\*|\*/)[ \t]?`)

// goTexts returns the comments of a Go file, and the texts that name a page for users.
func goTexts(t *testing.T, name string, text []byte) []source {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var list []source
	for _, group := range f.Comments {
		var b strings.Builder
		for i, c := range group.List {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(goSigns.ReplaceAllString(c.Text, ""))
		}
		list = append(list, newSource(b.String(), files.Position(group.Pos()).Line))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		x, ok := n.(*ast.BasicLit)
		if !ok || x.Kind != token.STRING || name == "docs/citations_test.go" {
			return true
		}
		value, err := strconv.Unquote(x.Value)
		if err == nil && regexp.MustCompile(`(^|[^/\w])docs/[\w/-]+\.md`).MatchString(value) {
			list = append(list, newSource(value, files.Position(x.Pos()).Line))
		}
		return true
	})
	return list
}

// problem is a citation that leads nowhere.
type problem struct {
	at   int
	says string
}

func (p problem) String() string { return fmt.Sprintf("%d: %s", p.at, p.says) }

// FuzzCitations proves that any text can be read, and that each problem is within the text.
func FuzzCitations(f *testing.F) {
	for _, text := range []string{"(language.md 1.5)", "ADRs 1,\n2", "[a](b.md#c)", "`make x` `go test ./x`", "case a05\nand z99", "# h\n## 1.2 x\n```\n# no\n```"} {
		f.Add(text)
	}
	l := &library{pages: map[string]page{"docs/a.md": sections("# 1. A\n\n## 1.5 B")}, tests: map[string]bool{}, makes: map[string]bool{}}
	f.Fuzz(func(t *testing.T, text string) {
		sections(text)
		s := newSource(text, 1)
		for _, p := range l.check("docs/x.md", s) {
			if n := s.line(p.at); n < 1 || n > 1+strings.Count(text, "\n") {
				t.Errorf("problem %q is said to be in line %d", p.says, n)
			}
		}
	})
}
