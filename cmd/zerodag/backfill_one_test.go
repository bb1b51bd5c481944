package main

import (
	"testing"

	"zerodag/internal/client"
)

// TestFillingProgress checks that the progress does not count a session as running if its turn has come but it cannot
// start, for example because its project is paused.
func TestFillingProgress(t *testing.T) {
	t.Parallel()
	b := client.Filling{Sessions: 6, Succeeded: 1, Running: []client.FillingRun{{AttemptID: new(client.ID("7"))}, {}}}
	if got, want := fillingProgress(b), "1 of 6 sessions finished, 1 running, 1 waiting to start"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.Running = b.Running[:1]
	if got, want := fillingProgress(b), "1 of 6 sessions finished, 1 running"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
