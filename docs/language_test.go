package docs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zerodag/engine/dig"
	"zerodag/engine/schedule"
)

// TestEveryKeyHasItsPlace proves that each key that the checks of workflows know is on the page
// of the language that is about it.
func TestEveryKeyHasItsPlace(t *testing.T) {
	t.Parallel()
	known := map[string][]string{
		"tasks":              slices.Concat(dig.TopKeys(), dig.GroupKeys(), dig.TaskKeys(), []string{"limit"}),
		"zerodag-1":          slices.Concat(dig.AddedKeys(dig.AtTop|dig.AtGroup|dig.AtTask), dig.AddedRetryKeys(), schedule.AddedKeys()),
		"parameters":         {"_export", "_env", "_secrets", "_workdir"},
		"retries-and-errors": slices.Concat(dig.RetryKeys(), []string{"_retry", "_error", "_check"}),
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

// names says whether a page has a key in code, alone or with a value behind it.
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
