package notify_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/notify"
	"zerodag/operators/operatortest"
)

func TestNotify(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: notify.Operator(),
		Good:     `{"_command": "hello"}`,
		Wrong:    []string{`{}`, `{"_command": {}}`},
	})
}

func TestPeopleAreTold(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"_command": "hello"}`)
	operatortest.RunOnce(t, notify.Operator(), w)
	if diff := cmp.Diff([]string{"hello"}, w.Told.Messages); diff != "" {
		t.Error(diff)
	}
	w.Told.Err = errors.New("no way")
	want := operatortest.Ended{Error: "send notification: no way"}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, notify.Operator(), w)); diff != "" {
		t.Error(diff)
	}
}
