package serverrun

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"zerodag/internal/logstream"
	"zerodag/internal/program"
	"zerodag/internal/tasklog"
)

// TestLogLines proves that a value in the server's log cannot end its line or move a cursor.
func TestLogLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logstream.New(&out, 2, tasklog.Digdag)
	logger := slog.New(&consoleHandler{console: log})
	const evil = "ev\x1b[31mil\r\n2026-01-01 00:00:00.000 +0000 [INFO] (main) zerodag.server: FAKE\u009bLINE\xff"
	logger.With("with", evil).Warn(evil, "project", evil, "error", program.ErrShown)
	if err := log.Flush(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Count(text, "\n") != 1 || strings.ContainsAny(text, "\x1b\r\u009b") || strings.Contains(text, "\xff") || !strings.Contains(text, `ev\x1b[31mil\x0d\n2026-01-01`) {
		t.Errorf("%q", text)
	}
}
