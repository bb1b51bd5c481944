package run

import (
	"context"
	"errors"
	"strings"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/operators"
)

// report logs a failure as Digdag does and returns its error object.
func report(j *Job, err error) *param.Map {
	var plain *operators.Failure
	var config *param.ConfigError
	switch {
	case errors.As(err, &plain) && j.Cancel:
		j.Log.Line(operators.Warn, "OperatorManager", "Task "+j.TaskName+" is canceled.")
	case errors.As(err, &plain):
		j.Log.Line(operators.Error, "OperatorManager", "Task "+j.TaskName+" failed.\n"+plain.Message+indentedTrace(plain.Trace))
	case errors.As(err, &config):
		j.Log.Line(operators.Error, "OperatorManager", "Configuration error at task "+j.TaskName+": "+config.Message+" (config)")
	case errors.Is(err, context.Canceled):
		j.Log.Line(operators.Warn, "OperatorManager", "Task "+j.TaskName+" is canceled.")
	default:
		j.Log.Line(operators.Error, "OperatorManager", "Task failed with unexpected error: "+err.Error())
	}
	return objectOf(err)
}

// objectOf returns the error object of a failure.
func objectOf(err error) *param.Map {
	if plain := (*operators.Failure)(nil); errors.As(err, &plain) {
		return plain.Object()
	}
	object := engine.ErrorObject(err)
	if key, missing := operators.MissingKey(err); missing {
		object.Set(engine.SecretKey, key)
	}
	return object
}

// indentedTrace formats a traceback for the log, below the message. User interfaces hide lines that begin with a tab.
func indentedTrace(trace string) string {
	if trace == "" {
		return ""
	}
	return "\n\tfrom " + strings.ReplaceAll(trace, "\n", "\n\tfrom ")
}
