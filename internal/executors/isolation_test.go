package executors_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/internal/executors"
	"zerodag/internal/landlock"
	"zerodag/operators"
)

// TestIsolation proves that commands can access their workspace but nothing else that is hidden, not even through
// processes that they leave running, and that the server reports when it cannot hide its files.
func TestIsolation(t *testing.T) {
	if err := landlock.Supported(); err != nil {
		t.Skip(err)
	}
	data := t.TempDir()
	t.Setenv("HOME", data)
	own, other := filepath.Join(data, "workspaces/own"), filepath.Join(data, "workspaces/other")
	for path, text := range map[string]string{filepath.Join(data, "zerodag.db"): "the database", filepath.Join(other, "file"): "of another site", filepath.Join(own, "file"): "our own"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(s executors.Settings) (string, operators.Exit) {
		t.Helper()
		e, err := executors.New(s)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		exit, err := e.In(own, operators.Identity{}).Run(t.Context(), operators.Command{Stdout: &out,
			Args: []string{"sh", "-c", `cat file; echo "|$HOME|"; cat ../../zerodag.db; cat ../other/file; (sleep 0; cat ../../zerodag.db) & wait; echo x > new && cat new`}})
		if err != nil || exit.Code != 0 {
			t.Fatalf("%+v, %v: %s", exit, err, &out)
		}
		return out.String(), exit
	}
	out, _ := run(executors.Settings{Isolation: executors.IsolateAlways, Hidden: []string{data}})
	if !strings.Contains(out, "our own") || !strings.Contains(out, "|"+own+"|") || !strings.HasSuffix(out, "x\n") || strings.Contains(out, "the database") || strings.Contains(out, "of another site") {
		t.Errorf("isolated:\n%s", out)
	}
	if out, _ = run(executors.Settings{Isolation: executors.IsolateNone, Hidden: []string{data}}); !strings.Contains(out, "the database") || !strings.Contains(out, "|"+data+"|") {
		t.Errorf("not isolated:\n%s", out)
	}
	e, err := executors.New(executors.Settings{Isolation: executors.IsolateAuto, Hidden: []string{data}})
	if err != nil || e.Exposed() == "" {
		t.Errorf("a folder that the user may write to: %q, %v", e.Exposed(), err)
	}
	if _, err := executors.New(executors.Settings{Isolation: executors.IsolateAlways, Hidden: []string{"/"}}); err == nil || !strings.Contains(err.Error(), "process.isolation") {
		t.Errorf("hiding everything: %v", err)
	}
	for _, s := range []executors.Settings{{Isolation: executors.IsolateAuto}, {Isolation: executors.IsolateAuto, Hidden: []string{data}, Allow: []string{operators.InDocker}}} {
		if e, err := executors.New(s); err != nil || e.Exposed() != "" {
			t.Errorf("%+v: %q, %v", s, e.Exposed(), err)
		}
	}
}
