package main

import (
	"testing"

	"zerodag/internal/client"
)

// TestFillingProgress proves that a session whose turn has come, and that cannot start, since its project is paused
// say, is not told as one that runs.
func TestFillingProgress(t *testing.T) {
	t.Parallel()
	b := client.Filling{Sessions: 6, Succeeded: 1, Running: []client.FillingRun{{AttemptID: new(client.ID("7"))}, {}}}
	if got, want := fillingProgress(b), "1 of 6 sessions over, 1 running, 1 waiting to begin"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.Running = b.Running[:1]
	if got, want := fillingProgress(b), "1 of 6 sessions over, 1 running"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
