package node

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/tasklog"
)

// files holds logs by name; only reading works.
type files struct {
	host.Logs
	texts map[string]string
}

func (f files) Files(_ context.Context, _ host.Attempt, prefix string) (list []host.LogFile, _ error) {
	for name, text := range f.texts {
		if file, ok := tasklog.ParseName(name); ok && strings.HasPrefix(name, prefix) {
			file.Size = int64(len(text))
			list = append(list, file)
		}
	}
	return list, nil
}

func (f files) File(_ context.Context, _ host.Attempt, name string) (io.ReadCloser, int64, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, f.texts[name])
	z.Close()
	return io.NopCloser(&b), int64(b.Len()), nil
}

// TestLastLinesOfACommandElsewhere proves that a command's output is found in the file of the run that started it, if
// the run that found its end has another file, with only the server's messages.
func TestLastLinesOfACommandElsewhere(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	const server = "2024-01-01 00:00:00.000 +0000 [ERROR] (0001@[0:p:1:1]+w+a) io.digdag.core.agent.OperatorManager: Task +w+a failed.\nCommand failed with code 7\n"
	f := files{texts: map[string]string{
		tasklog.Name("+w+a", "agent", at):                    "said before\n",
		tasklog.Name("+w+a", "agent", at.Add(time.Minute)):   "line 1\nline 2\n",
		tasklog.Name("+w+a", "agent", at.Add(2*time.Minute)): server,
		tasklog.Name("+w+b", "agent", at.Add(3*time.Minute)): "of another task\n",
	}}
	if diff := cmp.Diff([]string{"line 1", "line 2"}, lastLines(t.Context(), f, host.Attempt{}, "+w+a")); diff != "" {
		t.Error(diff)
	}
	if lines := lastLines(t.Context(), f, host.Attempt{}, "+w+none"); lines != nil {
		t.Errorf("a task without a log: %q", lines)
	}
}
