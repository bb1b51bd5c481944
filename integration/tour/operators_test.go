package tour

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators"
	"zerodag/operators/all"
)

// section returns the text below a heading.
func section(t *testing.T, file, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %s", file, heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}

var word = regexp.MustCompile("`([a-z0-9_]+)`")

// TestListOfOperators checks that docs/operators.md lists every built-in operator once and no others, and that the
// pages state their number correctly.
func TestListOfOperators(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range word.FindAllStringSubmatch(section(t, "docs/operators.md", "Built-in operators"), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	want := slices.Sorted(slices.Values(all.Registry().Names()))
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	const most = 55
	if len(want) <= most {
		t.Errorf("there are %d operators", len(want))
	}
	for _, page := range []string{"README.md", "docs/comparison.md"} {
		content, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		if count := fmt.Sprintf("[more than %d ", most); !strings.Contains(string(content), count) {
			t.Errorf("%s does not say %q", page, count)
		}
	}
}

// TestMissingOperators checks that no Digdag operator is missing, and that zerodag identifies the operators of
// Digdag's plugins as such.
func TestMissingOperators(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bq", "bq_ddl", "bq_extract", "bq_load", "call", "echo", "embulk", "emr", "fail", "for_each", "for_range", "gcs_wait", "http", "if",
		"loop", "mail", "notify", "param_get", "param_set", "pg", "py", "rb", "redshift", "redshift_load", "redshift_unload", "require", "s3_copy", "s3_delete", "s3_move",
		"s3_wait", "sh", "td", "td_ddl", "td_for_each", "td_load", "td_partial_delete", "td_result_export", "td_run", "td_table_export", "td_wait", "td_wait_table", "wait"} {
		if !slices.Contains(all.Registry().Names(), name) || operators.Missing(name) != "" {
			t.Errorf("%s>: %q", name, operators.Missing(name))
		}
	}
	if text := operators.Missing("athena.query"); !strings.Contains(text, "athena>") {
		t.Error(text)
	}
	if text := operators.Missing("ecoh"); text != "" {
		t.Error(text)
	}
}
