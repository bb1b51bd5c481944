package term

import (
	"strings"
	"testing"
	"unicode/utf8"

	"zerodag/docs"
	"zerodag/operators"
	"zerodag/operators/all"
)

// pagesOf returns the documentation pages that the program shows.
func pagesOf(t *testing.T) map[string]string {
	t.Helper()
	groups, err := docs.Groups()
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, g := range groups {
		for _, file := range g.Files {
			text, err := docs.Pages.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pages[file] = string(text)
		}
	}
	if len(pages) < 20 {
		t.Fatalf("only %d pages were looked at", len(pages))
	}
	return pages
}

// TestBarsInTables proves that a vertical bar within code in a table is shown and does not split the cell.
func TestBarsInTables(t *testing.T) {
	t.Parallel()
	if got := PlainPage("| a | b |\n|---|---|\n| `k` | <code>/x (a&#124;b)/</code> |\n", same); !strings.Contains(got, "`/x (a|b)/`") {
		t.Error(got)
	}
	for name, page := range pagesOf(t) {
		for line := range strings.Lines(page) {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			for _, cell := range Cells(line) {
				if strings.Count(cell, "`")%2 > 0 && !strings.Contains(cell, "``") {
					t.Errorf("%s: code is taken apart: write <code>a&#124;b</code>: %q", name, line)
				}
			}
		}
		if text := PlainPage(page, same); strings.Contains(text, "<code>") || strings.Contains(text, "&#124;") {
			t.Errorf("%s has Markdown left", name)
		}
	}
}

// TestPagesFitATerminal proves that every page can be read without a renderer.
func TestPagesFitATerminal(t *testing.T) {
	t.Parallel()
	pages := pagesOf(t)
	for _, name := range all.Registry().Names() {
		pages[name+">"], _ = operators.Page(name)
	}
	for name, page := range pages {
		code := 0
		for line := range strings.Lines(PlainPage(page, same)) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "      ") || strings.HasPrefix(line, "  [") && strings.Contains(line, "] http") {
				code++ // samples and the targets of links are not wrapped
				continue
			}
			if utf8.RuneCountInString(line) > pageWidth {
				t.Errorf("%s: this line is longer than %d: %q", name, pageWidth, line)
			}
			for _, mark := range []string{"|", "```", "#"} {
				if strings.HasPrefix(strings.TrimSpace(line), mark) {
					t.Errorf("%s: Markdown is left: %q", name, line)
				}
			}
		}
		if code == 0 && strings.HasSuffix(name, ">") {
			t.Errorf("%s: no sample of code is shown", name)
		}
	}
}
