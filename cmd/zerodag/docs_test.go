package main

import (
	"strings"
	"testing"
)

// TestWordsAreTopics proves that a word of the documentation leads to what is said of it, also where it is a part of a
// heading, of the first column of a table, or of a page's name.
func TestWordsAreTopics(t *testing.T) {
	t.Parallel()
	list, err := topics()
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		"DIGDAG_STORE": "values that later tasks see", "DIGDAG_TRY": "which run of the task", "outcome": "how the task ended", "failed": "errors that were ignored",
		"sliding": "makes room", "dagu": "# From Dagu", "handler_on": "_finally", "continue_on": "_ignore_error", "_parallel": "With `_parallel: true`", "_retry": "`_retry: 3`",
		"pause a project": "nothing is lost by it", "labels": "Labels say what",
	} {
		found, ok := findTopic(list, word)
		if !ok || !strings.Contains(found.Page, want) {
			t.Errorf("%s: %v %s", word, ok, found.Page)
		}
	}
}

// TestBarsInTables proves that a bar within code of a table is shown, and takes nothing apart.
func TestBarsInTables(t *testing.T) {
	t.Parallel()
	if got := plainPage("| a | b |\n|---|---|\n| `k` | <code>/x (a&#124;b)/</code> |\n"); !strings.Contains(got, "`/x (a|b)/`") {
		t.Error(got)
	}
	list, err := topics()
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range list {
		for line := range strings.Lines(topic.Page) {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			for _, cell := range cellsOf(line) {
				if strings.Count(cell, "`")%2 > 0 && !strings.Contains(cell, "``") {
					t.Errorf("%s: code is taken apart: write <code>a&#124;b</code>: %q", topic.Name, line)
				}
			}
		}
		if text := plainPage(topic.Page); strings.Contains(text, "<code>") || strings.Contains(text, "&#124;") {
			t.Errorf("%s has Markdown left", topic.Name)
		}
	}
}
