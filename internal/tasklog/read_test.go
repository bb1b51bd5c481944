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

// TestRead proves that the engine's lines are told from what a task prints, whatever that looks like.
func TestRead(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	line := strings.TrimSuffix(tasklog.Line(at, operators.Warn, "0001@[0:p:1:1]+a", "EchoOperator", "a: b"), "\n")
	want := tasklog.Text{Text: line, Engine: true, Moment: "2026-01-02 03:04:05.006 +0000", Level: "WARN", Logger: "io.digdag.standards.operator.EchoOperator", Message: "a: b", At: at}
	got := tasklog.Read(line)
	got.At = got.At.UTC()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, line := range []string{"", "2026-01-02 03:04:05 [INFO] mine", "[ERROR] (main) x: y", "x " + line} {
		if got := tasklog.Read(line); got.Engine || got.Text != line {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestLast proves that the last lines are those of the task, also of a file that is cut short.
func TestLast(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	z := gzip.NewWriter(&whole)
	for _, line := range []string{"one", "two\r", "", "three"} {
		z.Write([]byte(line + "\n"))
		z.Write([]byte(tasklog.Line(time.Now(), operators.Info, "main", "X", "said by the engine")))
	}
	z.Write([]byte("no end"))
	z.Flush()
	cut := bytes.Clone(whole.Bytes())
	z.Close()
	var failed bytes.Buffer
	z = gzip.NewWriter(&failed)
	z.Write([]byte("printed\n" + tasklog.Line(time.Now(), operators.Error, "main", "X", "Task failed:\nwhy\n\tfrom here\n  and there")))
	z.Write([]byte(tasklog.Line(time.Now(), operators.Debug, "main", "X", "again") + "printed again\n"))
	z.Close()
	for name, x := range map[string]struct {
		file []byte
		n    int
		want []string
	}{
		"all":     {whole.Bytes(), 10, []string{"one", "two", "three", "no end"}},
		"some":    {whole.Bytes(), 2, []string{"three", "no end"}},
		"cut":     {cut, 2, []string{"three", "no end"}},
		"failed":  {failed.Bytes(), 9, []string{"printed", "printed again"}}, // the error itself is told elsewhere
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

// FuzzRead proves that no line breaks the reader, and that none loses its text.
func FuzzRead(f *testing.F) {
	f.Add("2026-01-02 03:04:05.006 +0000 [WARN] (main) a.b: c")
	f.Fuzz(func(t *testing.T, line string) {
		if got := tasklog.Read(line); got.Text != line {
			t.Errorf("%q became %q", line, got.Text)
		}
	})
}
