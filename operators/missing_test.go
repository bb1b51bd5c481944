package operators

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pluginRow matches a row of the page about plugin operators, whose first names are in code.
var pluginRow = regexp.MustCompile("(?m)^\\| (`.*?) \\| ([^|`]+) \\| (.*) \\|$")

// TestPluginOperators checks that the page about plugin operators and the program's hints agree: the hints name every
// operator on the page with its plugin and its replacement, and the page contains all known operators.
func TestPluginOperators(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/how-to/plugin-operators.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := pluginRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 30 {
		t.Fatalf("only %d rows were found", len(rows))
	}
	var names []string
	for _, row := range rows {
		for _, name := range strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ") {
			names = append(names, name)
			instead := strings.ReplaceAll(row[3], "`", "")
			if text := Missing(name); !strings.Contains(text, "to the plugin "+row[2]+",") || !strings.Contains(text, "use "+instead+" (`zerodag docs plugin-operators`)") {
				t.Errorf("%s>: %q, and the page says %s: %s", name, text, row[2], instead)
			}
			if slices.Contains(Named(), name) {
				t.Errorf("%s> is built in", name)
			}
		}
	}
	for _, p := range ofPlugins {
		if listed := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, p.name) }); !listed && !strings.Contains(string(page), p.name) {
			t.Errorf("the page has not %s", p.name)
		}
	}
	if text := Missing("ecs_task.new"); !strings.Contains(text, "use ecs>") {
		t.Errorf("an operator of a known plugin that the page does not name: %q", text)
	}
}

// TestDigdagsOperators checks that every Digdag operator is either built in here or reported as a Digdag operator, so
// that the error does not suggest another name.
func TestDigdagsOperators(t *testing.T) {
	t.Parallel()
	for name := range strings.FieldsSeq(`bq bq_ddl bq_extract bq_load call echo embulk emr fail for_each for_range gcs_wait http http_call if loop mail notify
		param_get param_set pg py rb redshift redshift_load redshift_unload require s3_wait sh td td_ddl td_for_each td_load td_partial_delete
		td_result_export td_run td_table_export td_wait td_wait_table wait`) {
		if !slices.Contains(Named(), name) && !strings.Contains(Missing(name), "Digdag has "+name+"> built in") {
			t.Errorf("%s>: %q", name, Missing(name))
		}
	}
}
