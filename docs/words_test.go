package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// idiom is a phrase that is common in translated texts and rare in native ones.
type idiom struct {
	found   *regexp.Regexp
	instead string
}

func phrase(pattern, instead string) idiom {
	return idiom{regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`), instead}
}

// idioms are searched for in pages, comments and messages.
var idioms = []idiom{
	phrase(`(?:go|goes|went|going) on`, "continue, resume"),
	phrase(`(?:is|are|was|were|be|been) told`, "is notified, reports, shows"),
	phrase(`mend(?:s|ed|ing)?`, "fix, repair"),
	phrase(`somebody|nobody|anybody|everybody|whoever`, "the caller, a user, no one, or the passive"),
	phrase(`what (?:becomes|became|comes|came) (?:of|to)`, "the outcome, the result"),
	phrase(`of (?:its|their|one's|your) own`, "separate, dedicated"),
	phrase(`all the same|for good|of before`, "still, permanently, previous"),
	phrase(`(?:is|are|was|were) (?:not )?to be`, "must be, will be"),
	phrase(`looks? after`, "maintains, cleans up"),
	phrase(`(?:says?|knows?|tells?) whether`, "reports whether"),
	phrase(`is (?:a|no) success`, "succeeded, failed"),
	phrase(`(?:lies|stands) (?:in|at|there|below|beside)`, "is in, is stored in"),
}

// TestWords proves that no text gains an idiom of a translated text. testdata/words.txt lists the texts that still have
// some, and how many; with -rewrite it shrinks, and never grows.
func TestWords(t *testing.T) {
	t.Parallel()
	const list = "testdata/words.txt"
	allowed := map[string]int{}
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if allowed[name], err = strconv.Atoi(count); err != nil {
			t.Fatal(err)
		}
	}
	texts, left := 0, map[string]int{}
	walk(t, func(name string) {
		prose := proseOf(t, name)
		if prose == "" {
			return
		}
		texts++
		var problems []string
		for _, i := range idioms {
			for _, at := range i.found.FindAllStringIndex(prose, -1) {
				around := prose[max(0, at[0]-40):min(len(prose), at[1]+40)]
				problems = append(problems, fmt.Sprintf("%q in %q: write %s", prose[at[0]:at[1]], around, i.instead))
			}
		}
		if n := len(problems); n > allowed[name] && !*rewrite {
			t.Errorf("%s has %d idioms of a translated text, %d are allowed:\n%s", name, n, allowed[name], strings.Join(problems, "\n"))
		} else if n > 0 {
			left[name] = min(n, allowed[name])
		}
	})
	if texts < 1000 {
		t.Fatalf("only %d texts were read", texts)
	}
	if *rewrite {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(left)) {
			if left[name] > 0 {
				fmt.Fprintf(&b, "%s %d\n", name, left[name])
			}
		}
		if err := os.WriteFile(list, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	noProse = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\\]\\([^)]*\\)|<!--.*?-->")
	quoted  = regexp.MustCompile("`[^`\n]*`")
)

// proseOf returns the text that people read in a file: a page without its code, or the comments and messages of a Go
// file.
func proseOf(t *testing.T, name string) string {
	t.Helper()
	switch {
	case strings.Contains(name, "testdata/") || strings.HasSuffix(name, "_test.go"):
		return ""
	case filepath.Ext(name) == ".md":
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return noProse.ReplaceAllString(string(text), "X")
	case filepath.Ext(name) != ".go":
		return ""
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range file.Comments {
		b.WriteString(quoted.ReplaceAllString(c.Text(), "X") + "\n\n")
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && strings.Count(text, " ") > 2 {
				b.WriteString(quoted.ReplaceAllString(text, "X") + "\n\n")
			}
		}
		return true
	})
	return b.String()
}
