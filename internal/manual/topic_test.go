package manual

import (
	"strings"
	"testing"
)

// TestWordsAreTopics proves that a word in the documentation leads to its section, even if it is only part of a
// heading, of the first column of a table, or of a page's name.
func TestWordsAreTopics(t *testing.T) {
	t.Parallel()
	list, err := Topics()
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		"ZERODAG_STORE": "values that later tasks see", "ZERODAG_TRY": "which run of the task", "DIGDAG_TRY": "set to the same value", "session_time": "| `session_time`", "cron>": "five fields",
		"handler_on": "_finally", "continue_on": "_ignore_error", "_parallel": "With `_parallel: true`", "_retry": "`_retry: 3`",
	} {
		found, ok := findTopic(list, word)
		if !ok || !strings.Contains(found.Page, want) {
			t.Errorf("%s: %v %s", word, ok, found.Page)
		}
	}
}

// TestFind proves that a page can be found under several names, and that for an unknown word, the nearest name of a
// page or heading is suggested.
func TestFind(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"schedules": "schedules", "schedules.md": "schedules", "http>": "http", "http": "http", "_retry:": "", "reference/engine": "reference/engine", "retries-and-errors#_retry": "retries-and-errors", "http#parameters": "http", "schedules.md#delay": "schedules"} {
		found, err := Find(word)
		if err != nil || found.Page == "" || want != "" && found.Name != want {
			t.Errorf("%s: %s, %v", word, found.Name, err)
		}
	}
	for word, want := range map[string]string{"schedulse": "did you mean schedules?", "_retyr": "did you mean _retry?", "nothing is like this": "`zerodag docs` lists all of them", "": "", "\x1b[2J": "lists all of them"} {
		found, err := Find(word)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v", word, found.Name, err)
		}
	}
	list, err := Topics()
	if err != nil || len(list) < 20 {
		t.Fatalf("%d topics, %v", len(list), err)
	}
	for _, name := range Names() {
		if _, err := Find(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	list[0].Name = "changed"
	if again, _ := Topics(); again[0].Name == "changed" {
		t.Error("a caller changes the list of the next one")
	}
}

// TestSections proves that a comment in a sample does not count as a heading, and that only the rows of a table about a
// word are shown.
func TestSections(t *testing.T) {
	t.Parallel()
	page := "# P\n\ntext\n\n```yaml\n# no heading\n```\n\n## `a` and `b: {c: d}`\n\n| key | |\n|---|---|\n| `x` | one |\n| `y>`, `z` | two |\n\nmore\n"
	list := sectionsOf(page)
	if len(list) != 2 || list[1].heading != "`a` and `b: {c: d}`" {
		t.Fatalf("%+v", list)
	}
	s := list[1]
	for word, want := range map[string]bool{"a": true, "A": true, "b": false, "c": false} {
		if got := s.called(word) != ""; got != want {
			t.Errorf("called %s: %v", word, got)
		}
	}
	if s.naming("c") == "" || s.naming("e") != "" {
		t.Error("a part of a heading is not found, or another one is")
	}
	for word, want := range map[string]string{"y": "| `y>`, `z` | two |", "y>": "| `y>`, `z` | two |", "z": "| `y>`, `z` | two |", "x": "| `x` | one |"} {
		got := s.row(word)
		if !strings.Contains(got, want) || strings.Count(got, "\n| `") != 1 || strings.Contains(got, "more") {
			t.Errorf("%s: %q", word, got)
		}
	}
	if got := s.row("one"); got != "" {
		t.Errorf("a word of another column: %q", got)
	}
}
