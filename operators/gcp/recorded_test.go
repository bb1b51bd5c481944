package gcp_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"zerodag/operators/operatortest"
)

// TestBesideDigdag checks that the requests for a task are those that Digdag sent for it. They were recorded
// (testdata/digdag.json) from Digdag 0.10.6-SNAPSHOT, whose requests to Google went to the fake in this repository.
// plain removes the intended differences (docs/compatibility.md).
func TestBesideDigdag(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/digdag.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Operator string
		Params   json.RawMessage
		Requests []string
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) != 12 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		b := newBed(t)
		b.PutDataset("my-project:d", "US")
		w := b.world(t, string(c.Params))
		w.File(t, "q.sql", "select ${session_date_compact}")
		w.File(t, "s.yml", "fields:\n  - {name: \"n${session_date_compact}\", type: STRING}\n")
		w.Template = func(text string) (string, error) {
			return strings.ReplaceAll(text, "${session_date_compact}", "20240229"), nil
		}
		if got := operatortest.UntilDone(t, operator(t, c.Operator), w); got.Error != "" {
			t.Errorf("%s> %s: %s", c.Operator, c.Params, got.Error)
		}
		same(t, plain(t, c.Requests), plain(t, b.sent()))
	}
}

var (
	location = regexp.MustCompile(`\?location=US$`)
	whole    = regexp.MustCompile(`^(GET|DELETE) /bigquery/v2/projects/[^/]+/datasets/[^/]+$`)
)

// plain returns requests without the intended differences, and with the keys of their contents sorted. The differences
// are the location where a job is searched for and started, and the requests that delete a dataset.
func plain(t *testing.T, requests []string) []string {
	t.Helper()
	var out []string
	for _, line := range requests {
		line = location.ReplaceAllString(strings.TrimSuffix(line, "?deleteContents=true"), "")
		if whole.MatchString(line) {
			continue
		}
		if head, content, found := strings.Cut(line, " {"); found {
			var v map[string]any
			if err := json.Unmarshal([]byte("{"+content), &v); err != nil {
				t.Fatal(err)
			}
			if reference, isJob := v["jobReference"].(map[string]any); isJob {
				delete(reference, "location")
			}
			sorted, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			line = head + " " + string(sorted)
		}
		out = append(out, line)
	}
	return out
}
