package plugin

import (
	"context"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/operators"
)

// written is an operator in a workflow file: its keys are the `params` of the file, which runs as it would with call>.
type written struct{ name, file string }

func (w written) run(_ context.Context, t *operators.Task) (operators.Result, error) {
	config, err := t.Files.Load(w.file)
	if err != nil {
		return operators.Result{}, t.FileError(w.file, err)
	}
	if language, _ := keys.Gate(config); language.Level == 0 {
		return operators.Result{}, param.Errorf("%s", dig.OperatorGate(w.file))
	}
	given := param.New()
	for key, v := range t.Local.All() {
		if strings.HasPrefix(key, "_") || strings.HasSuffix(key, ">") {
			continue
		}
		t.Params.Get(key) // this marks it as used
		given.Set(key, v)
	}
	declared := keys.ParamsOf(config)
	command, _ := t.Params.Get("_command")
	filled, faults := declared.Arguments(w.name, command, given)
	if len(faults) > 0 {
		return operators.Result{}, param.Errorf("%s: %s", w.file, strings.Join(faults, "; "))
	}
	// The call is a separate task, so that the file is read, checked and run like any other called file.
	return operators.Result{Subtasks: param.New("call>", w.file, "_workdir", "."), Export: filled}, nil
}
