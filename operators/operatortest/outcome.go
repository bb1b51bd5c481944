package operatortest

import (
	"errors"
	"testing"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Ended describes how a run ended, as text for comparison.
type Ended struct {
	Subtasks, Export, Store string // JSON, "" for none
	Error                   string
	Kind                    string // of the error: "config", "runtime", ..., "" for a plain failure
}

// RunOnce runs an operator and returns how the run ended; Later is returned as an Error.
func RunOnce(t *testing.T, o operators.Operator, w *World) Ended {
	t.Helper()
	result, err := o.Run(t.Context(), &w.Task)
	for _, key := range unlisted(o, w.Params.Asked()) {
		t.Errorf("%s> reads %q, which its README.md does not list as a parameter", o.Name, key)
	}
	if err != nil {
		return Ended{Error: err.Error(), Kind: kind(err)}
	}
	return Ended{Subtasks: text(result.Subtasks), Export: text(result.Export), Store: text(result.Store)}
}

func text(m *param.Map) string {
	if m.Len() == 0 {
		return ""
	}
	return param.Text(m)
}

func kind(err error) string {
	var plain *operators.Failure
	var config *param.ConfigError
	var fault *operators.Fault
	var later *operators.Later
	switch {
	case errors.As(err, &later):
		return "later"
	case errors.As(err, &plain):
		return ""
	case errors.As(err, &config):
		return "config"
	case errors.As(err, &fault) && fault.Kind != "":
		return fault.Kind
	}
	return "runtime"
}
