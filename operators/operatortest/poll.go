package operatortest

import (
	"errors"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Look runs a task once; it must ask for another run.
func Look(t *testing.T, o operators.Operator, w *World) *operators.Later {
	t.Helper()
	_, err := o.Run(t.Context(), &w.Task)
	var later *operators.Later
	if !errors.As(err, &later) {
		t.Fatalf("want another look, got %v", err)
	}
	return later
}

// UntilDone runs a task until it asks for no other run; time passes only between looks.
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
	t.Fatal("it does not end within two minutes")
	return Ended{}
}
