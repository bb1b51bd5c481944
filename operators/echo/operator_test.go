package echo_test

import (
	"testing"

	"zerodag/operators/echo"
	"zerodag/operators/operatortest"
)

func TestEcho(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: echo.Operator(),
		Good:     `{"_command": "hello"}`,
		Wrong:    []string{`{}`, `{"_command": {"a": 1}}`, `{"_command": [1]}`},
	})
}

func TestWhatIsShown(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"_command": "a\nb"}`:               "a\nb",
		`{"_command": 42}`:                   "42",
		`{"_command": 1.0}`:                  "1.0",
		`{"_command": true}`:                 "true",
		`{"_command": "${secret:my.token}"}`: "${secret:my.token}",
	} {
		w := operatortest.New(t, params)
		operatortest.RunOnce(t, echo.Operator(), w)
		if got := w.Output.String(); got != want {
			t.Errorf("%s: got %q, want %q", params, got, want)
		}
	}
}
