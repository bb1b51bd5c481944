package engine_test

import (
	"fmt"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
)

// TestJitter checks that tasks that failed at the same time are retried at different times, within the limits of
// jitter, and that each is retried at the same time no matter which process computes it.
func TestJitter(t *testing.T) {
	t.Parallel()
	policy, err := engine.ParseRetry(param.New("limit", int64(1), "interval", int64(1000), "jitter", 0.25), 1)
	if err != nil {
		t.Fatal(err)
	}
	const tasks = 400
	quarters := map[time.Duration]int{}
	for i := range tasks {
		of := fmt.Sprintf("0-7-%d", i)
		_, wait, _ := policy.Next(param.New(), of)
		if _, again, _ := policy.Next(param.New(), of); again != wait {
			t.Errorf("task %s waits for %v, and then for %v", of, wait, again)
		}
		if wait < 750*time.Second || wait > 1000*time.Second || wait%time.Second != 0 {
			t.Errorf("task %s waits for %v", of, wait)
		}
		quarters[(wait-751*time.Second)/(63*time.Second)]++
	}
	for q := range 4 {
		if n := quarters[time.Duration(q)]; n < tasks/6 || n > tasks/3 {
			t.Errorf("%d of %d tasks are in part %d of the time: %v", n, tasks, q, quarters)
		}
	}
}
