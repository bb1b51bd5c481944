package tasklog_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// TestForms proves that a line names its task but no Java class, and that Digdag's form is exact.
func TestForms(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 27, 10, 0, 0, 0, time.FixedZone("", 9*3600))
	id := operators.Identity{TaskID: 42, ProjectName: "p", SessionID: 7, AttemptID: 8, TaskName: "+w+t"}
	for _, x := range []struct {
		form           tasklog.Form
		source, logger string
		want           string
	}{
		{"", tasklog.Form("").Source(id), "OperatorManager", "+w+t: echo>: hi"},
		{tasklog.Short, tasklog.Short.Source(id), "io.digdag.X", "+w+t: echo>: hi"},
		{tasklog.Short, tasklog.Main, "io.digdag.cli.Run", "echo>: hi"},
		{tasklog.Digdag, tasklog.Digdag.Source(id), "OperatorManager", "(0042@[0:p:7:8]+w+t) io.digdag.core.agent.OperatorManager: echo>: hi"},
		{tasklog.Digdag, tasklog.Digdag.Source(id), "PgOperator", "(0042@[0:p:7:8]+w+t) io.digdag.standards.operator.PgOperator: echo>: hi"},
		{tasklog.Digdag, tasklog.Main, "io.digdag.cli.Run", "(main) io.digdag.cli.Run: echo>: hi"},
	} {
		got := x.form.Line(at, operators.Info, x.source, x.logger, "echo>: hi")
		if want := "2026-11-27 10:00:00.000 +0900 [INFO] " + x.want + "\n"; got != want {
			t.Errorf("%s: %q, want %q", x.form, got, want)
		}
	}
}

// TestRead proves that the engine's lines, in each form, are distinguished from a task's output, whatever the output
// looks like.
func TestRead(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	id := operators.Identity{TaskID: 1, ProjectName: "p", SessionID: 1, AttemptID: 1, TaskName: "+a+for-0=x=1&y=(b) c.d"}
	line := ""
	for _, form := range []tasklog.Form{tasklog.Short, tasklog.Digdag} {
		line = strings.TrimSuffix(form.Line(at, operators.Warn, form.Source(id), "EchoOperator", "a: b"), "\n")
		want := tasklog.Text{Text: line, Engine: true, Moment: "2026-01-02 03:04:05.006 +0000", Level: "WARN", Message: "a: b", At: at}
		got := tasklog.Read(line)
		got.At = got.At.UTC()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", form, diff)
		}
	}
	for _, line := range []string{"", "2026-01-02 03:04:05 [INFO] mine", "[ERROR] (main) x: y", "2026-01-02 03:04:05.006 +0000 [INFO] mine: x", "x " + line} {
		if got := tasklog.Read(line); got.Engine || got.Text != line {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestLast proves that the last lines are the task's output, even in a truncated file.
func TestLast(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	z := gzip.NewWriter(&whole)
	for _, line := range []string{"one", "two\r", "", "three"} {
		z.Write([]byte(line + "\n"))
		z.Write([]byte(tasklog.Short.Line(time.Now(), operators.Info, "+a", "X", "said by the engine")))
	}
	z.Write([]byte("no end"))
	z.Flush()
	cut := bytes.Clone(whole.Bytes())
	z.Close()
	var failed bytes.Buffer
	z = gzip.NewWriter(&failed)
	z.Write([]byte("printed\n" + tasklog.Short.Line(time.Now(), operators.Error, "+a", "X", "Task failed:\nwhy\n\tfrom here\n  and there")))
	z.Write([]byte(tasklog.Short.Line(time.Now(), operators.Debug, "+a", "X", "again") + "printed again\n"))
	z.Close()
	for name, x := range map[string]struct {
		file []byte
		n    int
		want []string
	}{
		"all":     {whole.Bytes(), 10, []string{"one", "two", "three", "no end"}},
		"some":    {whole.Bytes(), 2, []string{"three", "no end"}},
		"cut":     {cut, 2, []string{"three", "no end"}},
		"failed":  {failed.Bytes(), 9, []string{"printed", "printed again"}}, // the error itself is shown elsewhere
		"nothing": {nil, 2, nil},
		"begun":   {cut[:5], 2, nil},
	} {
		got, err := tasklog.Last(bytes.NewReader(x.file), x.n)
		if diff := cmp.Diff(x.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	if _, err := tasklog.Last(strings.NewReader("this is no gzip at all"), 1); err == nil {
		t.Error("what is no log was read")
	}
}

// TestNamesOperator proves that the first line of a run is recognized by its message, which both forms contain.
func TestNamesOperator(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{"sh>: make": true, "echo>: ": true, "my.op>: x": true, "type: sh": true, "Task +a failed.": false, "a b>: c": false, "": false, "Waiting: x": false} {
		if got := tasklog.NamesOperator(operators.Info, message); got != want {
			t.Errorf("%q: %t", message, got)
		}
	}
	if tasklog.NamesOperator(operators.Error, "sh>: make") {
		t.Error("an error is no heading")
	}
}

// FuzzRead proves that no line makes the reader panic or loses its text.
func FuzzRead(f *testing.F) {
	f.Add("2026-01-02 03:04:05.006 +0000 [WARN] (main) a.b: c")
	f.Add("2026-01-02 03:04:05.006 +0000 [WARN] +a+b: c")
	f.Fuzz(func(t *testing.T, line string) {
		if got := tasklog.Read(line); got.Text != line {
			t.Errorf("%q became %q", line, got.Text)
		}
	})
}
