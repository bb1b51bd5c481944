package executors_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"zerodag/internal/executors"
	"zerodag/operators"
)

// TestCut proves that a cut kills both a command that is in its grace time, because its context has ended, and a
// command whose context has not ended, and that no command begins afterwards although commands are started continuously
// during the cut.
func TestCut(t *testing.T) {
	t.Parallel()
	e, err := executors.New(executors.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	commands := e.In(t.TempDir(), operators.Identity{})
	var all sync.WaitGroup
	asked, ask := context.WithCancel(t.Context())
	for _, ctx := range []context.Context{asked, t.Context()} {
		out, in := io.Pipe()
		all.Go(func() {
			exit, err := commands.Run(ctx, operators.Command{Args: []string{"/bin/sh", "-c", "trap '' TERM; echo begun; sleep 1000; sleep 1000"}, Stdout: in})
			if err != nil || exit.Signal != 9 {
				t.Errorf("cut: got %+v, %v", exit, err)
			}
		})
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, out)
	}
	several := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for n := 0; ; n++ {
				if _, err := commands.Run(t.Context(), operators.Command{Args: []string{"/bin/sh", "-c", "sleep 0.01"}, Stdout: io.Discard}); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("after the cut: %v", err)
					}
					return
				}
				if n == 1 {
					several <- struct{}{}
				}
			}
		})
	}
	for range 4 {
		<-several
	}
	ask()
	e.Cut(t.Context())
	e.Cut(t.Context())
	all.Wait()
}
