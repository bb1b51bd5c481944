package operatortest

import (
	"errors"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Look runs a task once; it must request another run.
func Look(t *testing.T, o operators.Operator, w *World) *operators.Later {
	t.Helper()
	_, err := o.Run(t.Context(), &w.Task)
	var later *operators.Later
	if !errors.As(err, &later) {
		t.Fatalf("got %v, want a request for another run", err)
	}
	return later
}

// UntilDone runs a task until it requests no further run; time passes only between runs.
func UntilDone(t *testing.T, o operators.Operator, w *World) Ended {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		result, err := o.Run(t.Context(), &w.Task)
		var later *operators.Later
		switch {
		case errors.As(err, &later):
			w.State = later.State
		case err != nil:
			return Ended{Error: err.Error()}
		default:
			return Ended{Store: param.Text(result.Store)}
		}
	}
	t.Fatal("the task did not end within two minutes")
	return Ended{}
}

// Waits checks how many seconds a task asks to wait before each of its next runs.
func Waits(t *testing.T, o operators.Operator, w *World, seconds ...int) {
	t.Helper()
	for i, want := range seconds {
		later := Look(t, o, w)
		if later.After != time.Duration(want)*time.Second {
			t.Errorf("run %d requested another run after %v, want %d s", i+1, later.After, want)
		}
		w.State = later.State
	}
}

// Stops checks that a task's cleanup does no harm if there is nothing to stop; then it starts the task, and cleans up
// without a state and with the state that the start left, each twice. It returns that state.
func Stops(t *testing.T, o operators.Operator, w *World) *param.Map {
	t.Helper()
	if err := o.Clean(t.Context(), &w.Task); err != nil {
		t.Errorf("clean up with nothing to stop: %v", err)
	}
	known := Look(t, o, w).State
	for _, state := range []*param.Map{param.New(), param.New(), known, known} {
		w.State = state
		if err := o.Clean(t.Context(), &w.Task); err != nil {
			t.Error(err)
		}
	}
	return known
}
