package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/integration/badprojects"
)

// TestBadProjects checks that a faulty project ends with a non-zero exit code and one clear error, whether its text is
// invalid or it fails while it runs.
func TestBadProjects(t *testing.T) {
	t.Parallel()
	projects, err := badprojects.Load("../../integration/badprojects")
	if err != nil {
		t.Fatal(err)
	}
	if len(projects) < 60 {
		t.Fatalf("%d bad projects, want at least 60", len(projects))
	}
	for _, p := range projects {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.Abs(p.Dir)
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			args := []string{"run", "main", "--project", dir, "--no-save", "--session", "2024-01-01", "-c", "/dev/null"}
			code := run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, ProgramVersion: version()})
			if code != 1 {
				t.Errorf("exit code %d, want 1\n%s%s", code, &out, &errs)
			}
			for _, want := range p.Want {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("stderr does not say %q:\n%s", want, &errs)
				}
			}
			if place := "\n  at "; p.Run && p.Workflows != nil && !strings.Contains(errs.String(), place) {
				t.Errorf("stderr does not say where the task that failed is written:\n%s", &errs)
			}
			if n := strings.Count(errs.String(), "error: "); n != 1 {
				t.Errorf("%d errors, want one:\n%s", n, &errs)
			}
		})
	}
}

// TestFlagsOfOtherPrograms checks that the error about a flag of another program names zerodag's equivalent flag, if
// the command has one.
func TestFlagsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"server --host 0.0.0.0":         "unknown flag: --host: did you mean --bind?",
		"server --data-dir /data":       "unknown flag: --data-dir: did you mean --database?",
		"start a b --set x=1":           "did you mean --param?",
		"start a b --date 2026-01-01":   "did you mean --session?",
		"run a.dig --max-active-runs 3": "did you mean --max-task-threads?",
		"check --host x":                "unknown flag: --host",
		"run a.dig --task +a":           "name the task after the workflow, as in `zerodag run w.dig +task`; --start runs a task and all later tasks",
		"run a.dig --from +a":           "did you mean --start?",
		"run a.dig --force":             "did you mean --rerun?",
		"retry 1 --force":               "unknown flag: --force",
		"run a.dig --verbose":           "did you mean --log-level debug?",
		"run a.dig --resume":            "`zerodag run` resumes the last run of a session without an option; --rerun runs everything again",
		"start a b --task +a":           "reruns one task",
		"validate":                      `unknown command "validate": did you mean check?`,
		"unschedule a":                  `unknown command "unschedule": did you mean disable?`,
		"list":                          "did you mean workflows?",
		"trigger a b":                   "did you mean start?",
		"stop 1":                        "did you mean kill?",
		"pool create a 1":               "did you mean set?",
		"tokens rm 1":                   `unknown command "tokens rm": did you mean revoke?`,
		"run a.dig -l DEBUG":            "Unknown log level 'DEBUG': it must be one of error, warn, info, debug, trace",
		"import airflow dag.py":         "`zerodag import dagu FILE` translates a Dagu workflow",
		"import http://x":               "name the other server with an option: --from http://x",
		"backfill a b --from 2026-02-01 --to 2026-01-01": "--to 2026-01-01 is before --from 2026-02-01",
	} {
		var out, errs bytes.Buffer
		run(t.Context(), strings.Fields(line), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, ProgramVersion: version()})
		first, _, _ := strings.Cut(errs.String(), "\n")
		if !strings.HasSuffix(first, want) {
			t.Errorf("%s: %q, want %q", line, first, want)
		}
	}
}
