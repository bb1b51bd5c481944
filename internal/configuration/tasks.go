package configuration

import (
	"slices"

	"zerodag/internal/program"
	"zerodag/internal/tasklog"
	oprun "zerodag/operators/run"
)

// Stored reads the setting for whether values that operators stored are evaluated again.
func (r *Reading) Stored() oprun.Stored {
	switch r.OneOf("eval.stored", "project", "true", "false") {
	case "true":
		return oprun.StoredAsCode
	case "false":
		return oprun.StoredAsData
	}
	return oprun.StoredByProject
}

// LogForm reads the format that the engine's lines have in task logs. If the program is called digdag, Digdag's format
// is the default.
func (r *Reading) LogForm() tasklog.Form {
	forms := []string{string(tasklog.Short), string(tasklog.Digdag)}
	if program.AsDigdag() {
		slices.Reverse(forms)
	}
	return tasklog.Form(r.OneOf("task-log.format", forms...))
}
