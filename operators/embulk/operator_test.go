package embulk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/embulk"
	"zerodag/operators/operatortest"
)

// shows is a program that replaces Embulk and prints its arguments, so it does not show how Embulk itself behaves.
const shows = `#!/bin/sh
echo "$# $1 $(echo "$2" | sed 's/[0-9][0-9]*-[0-9][0-9]*/N/') $TOKEN"
cat "$2"
echo
grep -q fail "$2" && exit 3
grep -q slow "$2" && exec sleep 1000
exit 0
`

// world returns a task whose commands find the program.
func world(t *testing.T, params string) *operatortest.World {
	t.Helper()
	m := operatortest.Map(t, params)
	if !m.Has("_env") {
		m.Set("_env", operatortest.Map(t, `{"PATH": "`+program(t)+`:/usr/bin:/bin"}`))
	}
	w := operatortest.New(t, "{}")
	*w = *operatortest.New(t, text(t, m))
	w.File(t, "load.yml", "in: {type: file, n: 1.0}\nout:\n  password: \"<${secret:pg.password}>\"\n  list: ['${ secret:pg.password }', 1, null]\n")
	w.File(t, "list.yml", "- 1\n")
	w.File(t, "bad.yml", "a: [\n")
	w.File(t, "none.yml", "a: ${secret:none}\n")
	w.Vault["pg.password"] = `"s$1`
	return w
}

func text(t *testing.T, m interface{ MarshalJSON() ([]byte, error) }) string {
	t.Helper()
	b, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "embulk"), []byte(shows), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEmbulk(t *testing.T) {
	t.Setenv("PATH", program(t)+":"+os.Getenv("PATH"))
	operatortest.Exercise(t, operatortest.Subject{
		Operator: embulk.Operator(),
		Good:     `{"config": {"in": {}}}`,
		Slow:     `{"config": {"in": "slow"}}`,
		Wrong: []string{
			`{}`, `{"config": 1}`, `{"embulk": 1, "config": {}}`, `{"_command": "nosuch.yml"}`, `{"_command": [1]}`, `{"_command": {}}`,
			`{"_command": {"data": "- 1"}}`, `{"_command": {"data": "a: ["}}`, `{"_command": {"data": "a: ${x:y}"}}`, `{"config": {}, "_env": 1}`,
		},
	})
}

// TestWhatItIsTold compares the command line and the configuration.
func TestWhatItIsTold(t *testing.T) {
	t.Parallel()
	const file = `{"in":{"type":"file","n":1.0},"out":{"password":"<\"s$1>","list":["\"s$1",1,null]}}`
	for params, want := range map[string]string{
		`{"_command": "load.yml"}`:                                     "2 run .digdag/tmp/digdag-embulk-N/load.yml \n" + file + "\n",
		`{"_command": "../load.yml", "_workdir": "sub"}`:               "2 run ../.digdag/tmp/digdag-embulk-N/load.yml \n" + file + "\n",
		`{"config": {"in": {"a": "${secret:pg.password}"}}}`:           "2 run .digdag/tmp/digdag-embulk-N/load.yml \n" + `{"in":{"a":"${secret:pg.password}"}}` + "\n",
		`{"embulk": {"config": {"in": {"b": 1}}}, "config": {"o": 2}}`: "2 run .digdag/tmp/digdag-embulk-N/load.yml \n" + `{"o":2,"in":{"b":1}}` + "\n",
	} {
		w := world(t, params)
		w.Folder(t, "sub")
		if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, embulk.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
		if diff := cmp.Diff(want, w.Output.String()); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
		if left, err := filepath.Glob(filepath.Join(w.Files.Root(), ".digdag/tmp/*/load.yml")); err != nil || len(left) > 0 {
			t.Errorf("%s: the configuration, with its secrets, is left behind: %v, %v", params, left, err)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]operatortest.Ended{
		`{"config": {"fail": 1}}`:    {Error: "Command failed with code 3", Kind: "runtime"},
		`{"_command": "none.yml"}`:   {Error: "Secret not found for key: 'none'", Kind: "secret not found"},
		`{"_command": "nosuch.yml"}`: {Error: "File not found: ROOT/nosuch.yml", Kind: "config"},
		`{"_command": "list.yml"}`:   {Error: "Parameter 'embulk>' must be an object", Kind: "config"},
		`{"config": {"a": 1}, "_env": {"PATH": "/nonexistent"}}`: {
			Error: "embulk>: the program `embulk` or Java was not found: install both where commands run, or name an image that contains them in `docker: {image: …}`"},
	} {
		w := world(t, params)
		got := operatortest.RunOnce(t, embulk.Operator(), w)
		got.Error = strings.ReplaceAll(got.Error, w.Files.Root(), "ROOT")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

// TestSecretsInEnv checks that secrets also reach Embulk through `_env`.
func TestSecretsInEnv(t *testing.T) {
	t.Parallel()
	w := world(t, `{"config": {"a": 1}, "_env": {"TOKEN": "<${secret:pg.password}>", "PATH": "`+program(t)+`:/usr/bin:/bin"}}`)
	operatortest.RunOnce(t, embulk.Operator(), w)
	if !strings.Contains(w.Output.String(), `load.yml <"s$1>`) {
		t.Errorf("Embulk was told %s", w.Output)
	}
}
