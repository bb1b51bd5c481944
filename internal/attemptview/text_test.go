package attemptview

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/client"
	"zerodag/internal/term"
)

// TestOutcome proves that an attempt's outcome shows its outputs and, for a failure, the first failed tasks with
// reasons and remedies, the number of the others, and the command that resumes the attempt.
func TestOutcome(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 1, 1, 0, 1, 5, 0, time.UTC)
	a := client.Attempt{ID: "7", Project: client.Ref{Name: "p q"}, Workflow: client.Ref{Name: "w"}, Done: true, Status: "error", CreatedAt: end.Add(-65 * time.Second), FinishedAt: &end}
	var failed []Failure
	for i := range 5 {
		failed = append(failed, Failure{task: client.Task{FullName: fmt.Sprint("+w+t", i), Config: param.New("sh>", "x")}, message: "no\nluck", tries: i, lines: []string{"last"}, place: "w.dig:1:1"})
	}
	failed[0].message, failed[0].task.Config = "Secret not found for key: 'a b'", param.New("http>", "x")
	got := Outcome(a, failed, term.Palette{Red: "<", Dim: "~", Reset: ">"})
	want := strings.Join([]string{
		"Attempt 7 of p q/w: <error after 1m 5s>",
		"  <+w+t0>: Secret not found for key: 'a b'", "    ~| last>", "    at w.dig:1:1", "    hint: zerodag secrets --project 'p q' --set 'a b'=-   reads it from stdin",
		"  <+w+t1>: no", "    luck", "    ~| last>", "    at w.dig:1:1",
		"  <+w+t2> (2 tries): no", "    luck", "    ~| last>", "    at w.dig:1:1",
		"  ... and 2 more: zerodag tasks 7",
		"Fix it, push it, then resume with: zerodag retry 7 --latest-revision --resume", "",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	a.Status, a.Success, a.IgnoredErrors, a.Outputs = "success", true, true, param.New("rows", int64(3))
	if got := Outcome(a, nil, term.Palette{}); got != "Attempt 7 of p q/w: success, errors ignored after 1m 5s\n  rows: 3\n" {
		t.Errorf("%q", got)
	}
	a.FinishedAt, a.Done, a.Success, a.Outputs = nil, false, false, nil
	if got := Outcome(a, nil, term.Palette{}); got != "Attempt 7 of p q/w: success, errors ignored\n" {
		t.Errorf("%q", got)
	}
}

// TestIgnoredText proves that ignored errors are listed with their tasks, but only the first of many.
func TestIgnoredText(t *testing.T) {
	t.Parallel()
	task := func(name, message string) client.Task {
		return client.Task{FullName: name, Error: param.New("message", message)}
	}
	if got := IgnoredText("7", nil, term.Palette{}); got != "" {
		t.Errorf("of none %q", got)
	}
	if got := IgnoredText("7", []client.Task{task("+a", "no\nluck\n\tfrom x"), {FullName: "+b"}}, term.Palette{}); got != "  ignored: +a: no\n    luck\n  ignored: +b: the task failed without a message\n" {
		t.Errorf("%q", got)
	}
	many := make([]client.Task, 15)
	if got := IgnoredText("7", many, term.Palette{}); strings.Count(got, "\n") != 11 || !strings.HasSuffix(got, "  ... and 5 more: zerodag tasks 7\n") {
		t.Errorf("%q", got)
	}
}

// TestTaskTexts proves that the text about a task is correct no matter what is missing from the server's data.
func TestTaskTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		task    client.Task
		message string
		retries int
		counts  bool
	}{
		{client.Task{}, "", 0, false},
		{client.Task{Error: param.New("message", " no \n\tat x")}, "no", 0, false},
		{client.Task{Error: param.New("message", int64(1))}, "", 0, false},
		{client.Task{Skipped: "by _if", Error: param.New("message", "no")}, "skipped: by _if", 0, false},
		{client.Task{StateParams: param.New("retry_count", int64(2))}, "", 2, true},
		{client.Task{StateParams: param.New("retry_count", "2")}, "", 0, false},
		{client.Task{StateParams: param.New("retry_count", "many")}, "", 0, false},
	} {
		n, counts := RetriesOf(c.task)
		if got := ErrorOf(c.task); got != c.message || counts != c.counts || counts && n != c.retries {
			t.Errorf("%+v: %q, %d retries, %v", c.task, got, n, counts)
		}
	}
	if got := IncompleteLogs([]client.Task{{FullName: "+a"}, {FullName: "+b", LogIncomplete: true}}); len(got) != 1 || !strings.Contains(got[0], "+b") {
		t.Errorf("%q", got)
	}
	ink := term.Palette{Green: "g", Red: "r", Yellow: "y", Cyan: "c", Dim: "d"}
	for status, want := range map[string]string{"success": "g", "error": "r", "group_error": "r", "running": "c", "killed": "y", OfIgnored("success", true): "y", OfIgnored("success", false): "g", "blocked": "d", "": "d", "new state": "d"} {
		if got := StatusInk(ink, status); got != want {
			t.Errorf("%q is %s, want %s", status, got, want)
		}
	}
}

// TestAwait proves that an attempt is polled less and less often until it has ended, and no longer once the caller
// stops waiting.
func TestAwait(t *testing.T) {
	t.Parallel()
	asked := 0
	var pauses []time.Duration
	server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprintf(w, `{"id":"7","done":%t,"success":true}`, asked > 7)
	})
	r, _ := openedAt(t, server, func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil })
	a, err := r.Await(t.Context(), "7")
	if err != nil || !a.Success || asked != 8 || len(pauses) != 7 || pauses[0] != FollowFirst || pauses[6] != FollowLast {
		t.Errorf("%+v, %v, asked %d times, after %v", a, err, asked, pauses)
	}
	asked = 0
	r, _ = openedAt(t, server, func(context.Context, time.Duration) error { return context.Canceled })
	if _, err := r.Await(t.Context(), "7"); err == nil || asked != 1 {
		t.Errorf("%v after %d requests", err, asked)
	}
}
