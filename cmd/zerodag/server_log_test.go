package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/cmd/zerodag/internal/cli"
)

// TestServerLogAsJSON checks that with `--log-format json` a server prints one JSON object per line and nothing else,
// and that these objects show the start and the end of an attempt: its workflow, its outcome, and the place and reason
// of a failure.
func TestServerLogAsJSON(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	config := filepath.Join(folder, "server.properties")
	workflow := "timezone: UTC\n+g:\n  +a:\n    fail>: |\n      it is broken\n      in two lines\n"
	project := filepath.Join(folder, "p")
	for name, text := range map[string]string{config: "unknown.key = 1\n", filepath.Join(project, "w.dig"): workflow} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &listening{found: make(chan string, 1)}
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"server", "--port", "0", "-c", config, "--memory", "--log-format", "json"}, cli.Streams{In: strings.NewReader(""), Out: out, Err: &errs, ProgramVersion: version()})
	}()
	var address string
	select {
	case address = <-out.found:
	case code := <-ended:
		t.Fatalf("the server ended with code %d\n%s%s", code, out, &errs)
	}
	client := func(args ...string) int {
		return run(ctx, append(args, "-e", address, "-c", config), cli.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, ProgramVersion: version()})
	}
	if code := client("push", "p", "--project", project); code != 0 {
		t.Fatalf("push: code %d", code)
	}
	client("start", "p", "w", "--session", "2024-03-01", "--wait")
	stop()
	<-ended

	said := map[string]map[string]any{}
	for line := range strings.Lines(out.String() + errs.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("no JSON: %s", line)
			continue
		}
		at, _ := entry["time"].(string)
		if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
			t.Errorf("the time of %s: %v", line, err)
		}
		message, _ := entry["msg"].(string)
		said[message] = entry
	}
	for message, want := range map[string]map[string]any{
		"attempt started": {"level": "INFO", "attempt": 1.0, "project": "p", "workflow": "w", "session": "2024-03-01T00:00:00Z"},
		"attempt failed":  {"level": "WARN", "attempt": 1.0, "project": "p", "workflow": "w", "session": "2024-03-01T00:00:00Z", "task": "+w+g+a", "error": "it is broken\nin two lines\n"},
	} {
		for key, value := range want {
			if got := said[message][key]; got != value {
				t.Errorf("%s: %s is %#v, want %#v", message, key, got, value)
			}
		}
	}
	if took, _ := said["attempt failed"]["took"].(float64); took <= 0 || took > 600 {
		t.Errorf("it took %v s", said["attempt failed"]["took"])
	}
}
