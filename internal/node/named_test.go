package node_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"zerodag/internal/node"
)

// lines keeps the logged lines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// TestAttemptsAreNamed proves that the program's own log names every attempt when it starts and when it ends, and, for
// a failed attempt, the first failed task and its error.
func TestAttemptsAreNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"+a:\n  echo>: a\n": `level=INFO msg="attempt ended"`,
		"+g:\n  +a:\n    _error:\n      echo>: x\n    fail>: it is broken\n": `level=WARN msg="attempt failed"`,
	} {
		inBubble(t, func(w *world) {
			log := &lines{}
			p := w.serve(func(o *node.Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) })
			p.end(p.run(text))
			synctest.Wait()
			log.mu.Lock()
			defer log.mu.Unlock()
			said := log.text.String()
			if strings.Count(said, `msg="attempt started"`) != 1 || strings.Count(said, want) != 1 || !strings.Contains(said, "workflow=") {
				t.Errorf("the log says:\n%s", said)
			}
			if strings.Contains(want, "failed") && (!strings.Contains(said, "task=+") || !strings.Contains(said, "+g+a error=\"it is broken")) {
				t.Errorf("it does not say what failed:\n%s", said)
			}
		})
	}
}
