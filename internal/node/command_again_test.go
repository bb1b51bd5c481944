package node_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"zerodag/operators"
)

// TestCommandAfterCrashAndOutage proves that a run that is taken over while the store is unavailable still requests the
// command that the crashed run may have begun, by the name TASK.RUN.
func TestCommandAfterCrashAndOutage(t *testing.T) {
	inBubble(t, func(w *world) {
		var keys []string
		w.on("a", func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			keys = append(keys, fmt.Sprintf("%d.%d", t.TaskID, t.RetryCount))
			if len(keys) == 1 {
				<-ctx.Done() // the agent dies here
				return operators.Result{}, ctx.Err()
			}
			return operators.Result{}, nil
		})
		p := w.serve()
		a := p.run("+a: {work>: a}\n")
		pass(10 * time.Second)
		p.crash()
		p = w.serve(awayFor(30 * time.Minute))
		p.end(a)
		if len(keys) != 2 || keys[0] != keys[1] {
			t.Errorf("commands that were asked for: %v", keys)
		}
	})
}
