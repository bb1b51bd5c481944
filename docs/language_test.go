package docs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/schedule"
)

// TestEveryKeyHasItsPlace proves that each key that the checks of workflows know is on the language page about it.
func TestEveryKeyHasItsPlace(t *testing.T) {
	t.Parallel()
	known := map[string][]string{
		"tasks":              slices.Concat(dig.TopKeys(), keys.GroupKeys(), keys.TaskKeys(), []string{"limit"}),
		"zerodag-1":          slices.Concat(keys.Added(keys.AtTop|keys.AtGroup|keys.AtTask), keys.AddedRetryKeys(), schedule.AddedKeys()),
		"parameters":         {"_export", "_env", "_secrets", "_workdir"},
		"retries-and-errors": slices.Concat(keys.RetryKeys(), []string{"_retry", "_error", "_check"}),
		"schedules":          slices.Concat(schedule.Kinds(), schedule.AddedKinds(), schedule.SLAKeys(), []string{"schedule", "sla", "timezone"}),
	}
	for _, kind := range schedule.Kinds() {
		known["schedules"] = append(known["schedules"], schedule.Keys(strings.TrimSuffix(kind, ">"))...)
	}
	for page, keys := range known {
		text := pageOfLanguage(t, page)
		if len(keys) < 4 {
			t.Errorf("only %d keys are known for %s", len(keys), page)
		}
		for _, key := range keys {
			if !names(text, key) {
				t.Errorf("docs/language/%s.md does not say what %s is", page, key)
			}
		}
	}
}

// names reports whether a page has a key in code, alone or followed by a value.
func names(page, key string) bool {
	for _, form := range []string{"`" + key + "`", "`" + key + ":", "`" + key + " ", "{" + key + ":"} {
		if strings.Contains(page, form) {
			return true
		}
	}
	return false
}

func pageOfLanguage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("language", name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTableOfKeys proves that the table of keys on the page about `zerodag: 1` is the one generated from the
// definitions of the keys.
func TestTableOfKeys(t *testing.T) {
	t.Parallel()
	const head = "| key | where | meaning |\n|---|---|---|\n"
	page := pageOfLanguage(t, "zerodag-1")
	before, rest, found := strings.Cut(page, head)
	if !found {
		t.Fatal("the page has no table of keys")
	}
	var rows strings.Builder
	for _, k := range keys.All() {
		rows.WriteString("| `" + k.Name + "` | " + k.Where.Short() + " | " + k.Doc + " |\n")
	}
	for isKey := true; isKey; {
		row, more, _ := strings.Cut(rest, "\n")
		name, _, _ := strings.Cut(strings.TrimPrefix(row, "| `"), "` |")
		if _, isKey = keys.Find(name); isKey {
			rest = more
		}
	}
	compareFile(t, filepath.Join("language", "zerodag-1.md"), before+head+rows.String()+rest, "TestTableOfKeys")
}
