package localrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/configuration"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/program"
	"zerodag/internal/projectfolder"
)

func TestMain(m *testing.M) {
	evaluator.Serve()
	os.Exit(m.Run())
}

// ran runs a workflow and returns its tasks' output, the messages about it, and its error.
func ran(t *testing.T, folder, text string, o Options, s configuration.Settings) (out, said string, err error) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "w.dig"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := projectfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	contents, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	var printed, errs strings.Builder
	if o.LogPath == "" {
		o.LogPath = "-"
	}
	o.Out, o.Err, o.LogLevel = &printed, &errs, "info"
	o.Again = func(at time.Time) string { return "again " + at.UTC().Format(time.DateOnly) }
	err = Run(t.Context(), o, Work{Settings: s, Params: param.New("given", "1"), Variables: []string{"OF_FILE=v"}, Folder: f, Workflows: contents.Workflows, Workflow: contents.Workflows[0]})
	return printed.String(), errs.String(), err
}

// TestRun proves that a run shows the output of its tasks and why it failed, resumes from its saved state, and shows
// how.
func TestRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const broken = "timezone: UTC\n+a:\n  sh>: echo $OF_FILE ${given}\n+b:\n  fail>: no luck\n"
	out, said, err := ran(t, folder, broken, Options{Session: "2026-01-02"}, nil)
	if !errors.Is(err, program.ErrShown) || !strings.Contains(out, "+w+a | v 1\n") {
		t.Errorf("%v: %q", err, out)
	}
	for _, want := range []string{"Session 2026-01-02T00:00:00+00:00\n", "error: +w+b: no luck\n", "at w.dig:5:3", "1 of 2 tasks succeeded, 1 failed", "resume with: again 2026-01-02\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("of the failure is said %q, without %q", said, want)
		}
	}
	whole := strings.Replace(broken, "fail>: no luck", "echo>: luck", 1)
	out, said, err = ran(t, folder, whole, Options{Session: "last"}, nil)
	if err != nil || strings.Contains(out, "v 1") || !strings.Contains(out, "+w+b | luck\n") || !strings.Contains(said, ", that of the last run") || !strings.Contains(said, "Success: 2 tasks") || !strings.Contains(said, "1 had already succeeded") {
		t.Errorf("%v: %q, %q", err, out, said)
	}
	out, said, err = ran(t, folder, whole, Options{Session: "last", Rerun: true, DryRun: true, ShowParams: true}, nil)
	if err != nil || strings.Contains(out, "v 1") || !strings.Contains(out, "given: '1'") && !strings.Contains(out, "given: \"1\"") && !strings.Contains(out, "given: 1") || !strings.Contains(said, "Nothing was run") {
		t.Errorf("%v: %q, %q", err, out, said)
	}
}

// TestRunAsDigdag proves that a run whose log is kept writes Digdag's lines for scripts, and no lines for people.
func TestRunAsDigdag(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	out, said, err := ran(t, folder, "timezone: UTC\n+a:\n  echo>: hello\n", Options{Session: "2026-01-02", Flags: configuration.Flags{LogPath: log}}, configuration.Settings{"param_server.type": "redis"})
	text, readErr := os.ReadFile(log)
	if err != nil || readErr != nil || out != "" {
		t.Fatalf("%v, %v: %q", err, readErr, out)
	}
	for _, want := range []string{"param_server.* are not used", "Starting a new session project id=1 workflow name=w session_time=2026-01-02T00:00:00+00:00", "Using session ", "hello\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the log lacks %q: %s", want, text)
		}
	}
	if strings.Contains(said, "Session 2026") {
		t.Errorf("of the run is said %q", said)
	}
}

// TestRunKeepsLogs proves that task logs are also stored, that --goal omits later tasks, and that no state is saved if
// it must not be.
func TestRunKeepsLogs(t *testing.T) {
	t.Parallel()
	folder, logs := t.TempDir(), t.TempDir()
	out, said, err := ran(t, folder, "+a:\n  echo>: one\n+b:\n  echo>: two\n", Options{Session: "daily", NoSave: true, TaskLog: logs}, nil)
	if err != nil || !strings.Contains(out, "one\n") || !strings.Contains(said, "Success: 2 tasks") {
		t.Errorf("%v: %q, %q", err, out, said)
	}
	files := 0
	filepath.WalkDir(logs, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files++
		}
		return err
	})
	if files == 0 {
		t.Error("no log is kept")
	}
	if _, err := os.Stat(filepath.Join(folder, ".zerodag/status")); err == nil {
		t.Error("state is saved")
	}
}

// TestRunStopped proves that a stopped run reports that it was stopped and what will run again, but does not report
// failed tasks.
func TestRunStopped(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	f, err := projectfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	workflows, err := dig.Load(func(string) ([]byte, error) { return []byte("+a:\n  echo>: x\n"), nil }, []string{"w.dig"})
	if err != nil {
		t.Fatal(err)
	}
	var out, said strings.Builder
	o := Options{Session: "daily", Save: "s", Out: &out, Err: &said, Flags: configuration.Flags{LogPath: "-", LogLevel: "info"}, Again: func(time.Time) string { return "again" }}
	err = Run(ctx, o, Work{Params: param.New(), Folder: f, Workflows: workflows, Workflow: workflows[0]})
	if err == nil || strings.Contains(said.String(), "error: +w+a") {
		t.Errorf("%v: %q, %q", err, out.String(), said.String())
	}
}

// TestWrongSettings proves that an impossible setting ends a run before a task runs.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for key, s := range map[string]configuration.Settings{
		"executor.task_max_run": {"executor.task_max_run": "many"}, "notification.type": {"notification.type": "mail"}, "eval.stored": {"eval.stored": "perhaps"},
		"task-log.format": {"task-log.format": "xml"}, "agent.command_executor.limits.memory": {"agent.command_executor.limits.memory": "2"}, "'a' is not a object": {"config.a": "1", "config.a.b": "2"},
	} {
		out, _, err := ran(t, t.TempDir(), "+a:\n  echo>: x\n", Options{Session: "daily"}, s)
		if err == nil || !strings.Contains(err.Error(), key) || out != "" {
			t.Errorf("%v: %v, %q", s, err, out)
		}
	}
}
