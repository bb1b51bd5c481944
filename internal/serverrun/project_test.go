package serverrun

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/internal/projectfolder"
)

// TestSchedulerDoubts proves that the scheduler's log contains the warnings of a push, and reports that nothing can
// ever start.
func TestSchedulerDoubts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                 "No workflow (*.dig) in ",
		"+a: {echo>: x}\n": "has a schedule: attempts start only on request",
		"schedule: {daily>: \"07:00:00\"}\n+a: {loop>: 2.5, _do: {echo>: x}}\n": "loop> must be a whole number: 2.5 counts as 2",
		"schedule: {daily>: \"07:00:00\"}\n+a: {echo>: x}\n":                    "",
	} {
		folder := t.TempDir()
		if text != "" {
			if err := os.WriteFile(filepath.Join(folder, "main.dig"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := projectfolder.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		contents, err := p.Read()
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		local := NewProject(p)
		if err := local.doubts(contents, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
			t.Fatal(err)
		}
		if got := log.String(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: the log is %q, want %q", text, got, want)
		}
	}
}
