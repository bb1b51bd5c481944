package embulk_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/embulk"
	"zerodag/operators/operatortest"
)

// installed returns the folder of a real embulk program, in the cache of this user. If REQUIRE contains peers, the
// program is installed. Otherwise, a test that lacks it is skipped.
func installed(t *testing.T) string {
	t.Helper()
	folder, err := install()
	if err != nil {
		t.Fatal(err)
	}
	if folder == "" {
		t.Skip("NOT TESTED: no Embulk is installed: REQUIRE=peers installs it, with Maven")
	}
	return folder
}

// install searches once per process. It returns "" if there is no program and REQUIRE does not require one.
var install = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "zerodag", "embulk-0.11.4")
	if _, err := os.Stat(filepath.Join(folder, "bin", "embulk")); err != nil {
		if !strings.Contains(os.Getenv("REQUIRE"), "peers") {
			return "", nil
		}
		if out, err := exec.Command("testdata/install.sh", folder).CombinedOutput(); err != nil {
			return "", fmt.Errorf("install Embulk: %w\n%s", err, out)
		}
	}
	return filepath.Join(folder, "bin"), nil
})

// plugin returns one of Embulk's own plugins, from a Maven repository.
func plugin(name, version string) string {
	return `{source: maven, group: org.embulk, name: ` + name + `, version: ` + version + `}`
}

// TestRealEmbulk loads files with Embulk itself: with a value that is evaluated, a column that is a secret, and paths
// relative to the working folder.
func TestRealEmbulk(t *testing.T) {
	t.Parallel()
	bin := installed(t)
	w := operatortest.New(t, `{"_command": "load.yml", "_workdir": "sub", "_env": {"PATH": "`+bin+`:/usr/local/bin:/usr/bin:/bin:`+os.Getenv("PATH")+`"}}`)
	w.Template = func(text string) (string, error) { return strings.ReplaceAll(text, "${day}", "29"), nil }
	w.Vault["column"] = `"name"`
	w.File(t, "sub/load.yml", `
in:
  type: `+plugin("file", "0.11.1")+`
  path_prefix: day-${day}/
  parser:
    type: `+plugin("csv", "0.11.6")+`
    skip_header_lines: 1
    columns: [{name: id, type: long}, {name: '${secret:column}', type: string}]
out:
  type: `+plugin("file", "0.11.1")+`
  path_prefix: out
  file_ext: csv
  formatter: {type: `+plugin("csv", "0.11.2")+`}
exec: {max_threads: 1, min_output_tasks: 1}
`)
	w.File(t, "sub/day-29/in.csv", "id,name\n1,a\n2,ü\n")
	w.File(t, "sub/day-30/in.csv", "id,name\n3,no\n")
	if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, embulk.Operator(), w)); diff != "" {
		t.Fatalf("%s\n%s", diff, w.Output)
	}
	out, err := filepath.Glob(filepath.Join(w.Files.Root(), "sub", "out*.csv"))
	if err != nil || len(out) != 1 {
		t.Fatalf("want one file of rows, got %v, %v\n%s", out, err, w.Output)
	}
	content, err := os.ReadFile(out[0])
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Collect(strings.Lines(strings.ReplaceAll(string(content), "\r\n", "\n")))
	if diff := cmp.Diff([]string{"id,\"\"\"name\"\"\"\n", "1,a\n", "2,ü\n"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRealEmbulkFails checks that the task fails if Embulk itself fails.
func TestRealEmbulkFails(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"config": {"in": {"type": "nosuch"}, "out": {"type": "stdout"}}, "_env": {"PATH": "`+installed(t)+`:`+os.Getenv("PATH")+`"}}`)
	want := operatortest.Ended{Error: "Command failed with code 1", Kind: "runtime"}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, embulk.Operator(), w)); diff != "" {
		t.Errorf("%s\n%s", diff, w.Output)
	}
	if !strings.Contains(w.Output.String(), "nosuch") {
		t.Errorf("the log does not say why: %s", w.Output)
	}
}
