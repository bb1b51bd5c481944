// Package plugin implements all operators that a project defines itself: an executable that gets a request as JSON on
// stdin and may leave an answer as JSON in a file, or a workflow file with parameters. docs/plugins.md describes the
// protocol. Agents with a sandbox run it. It must start processes only through Commands, and must pass on only secrets
// that the task names.
package plugin

import (
	"context"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns the entry that finds projects' own operators.
func Operator() operators.Operator {
	return operators.Operator{Name: operators.AnyOther, Summary: "runs an executable of the project", Find: find}
}

func find(t *operators.Task, name string) (operators.Operator, bool, error) {
	command, err := commandOf(t, name)
	if err != nil || command == nil {
		return operators.Operator{}, false, err
	}
	if file := command[0]; len(command) == 1 && dig.IsOperatorFile(file) {
		return operators.Operator{Name: name, Summary: "runs a workflow file of the project", Retries: true, Run: written{name, file}.run}, true, nil
	}
	p := program{name, command}
	return operators.Operator{Name: name, Summary: "runs an executable of the project", Retries: true, Run: p.run, Clean: p.clean}, true, nil
}

// program is the executable for an operator name.
type program struct {
	name    string
	command []string // a program with a slash is relative to the project's folder
}

// Actions of a request.
const (
	actionRun    = "run"
	actionCancel = "cancel"
)

func (p program) run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	exit, err := p.start(ctx, t, actionRun)
	if err != nil {
		return operators.Result{}, err
	}
	a, err := p.read(exit)
	if err != nil {
		return operators.Result{}, err
	}
	if a.poll == nil {
		return a.result, nil
	}
	state := t.State.Clone() // it also contains the `_retry` count
	state.Set(stateKey, param.New(ownKey, a.poll.state, cancelKey, a.poll.cancel))
	return operators.Result{}, &operators.Later{After: a.poll.after, State: state}
}

// State params: the program's are separate from the engine's.
const (
	stateKey  = "plugin"
	ownKey    = "state"
	cancelKey = "cancel"
)

// clean notifies a program of the kill if its last poll requested that. Other programs would treat the call as another
// run.
func (p program) clean(ctx context.Context, t *operators.Task) error {
	wanted, err := operators.NewParams(t.State.Map(stateKey)).BoolOr(cancelKey, false)
	if err != nil || !wanted {
		return err
	}
	exit, err := p.start(ctx, t, actionCancel)
	if err != nil {
		return err
	}
	_, err = p.read(exit)
	return err
}

// read converts the program's exit to its answer.
func (p program) read(exit operators.Exit) (*answer, error) {
	a, err := parseAnswer(exit.Outputs[resultFile])
	switch {
	case err != nil && exit.Code != 0:
		return nil, operators.Faultf("", "%s> ended with code %d, and its answer cannot be read: %v", p.name, exit.Code, err)
	case err != nil:
		return nil, operators.Faultf("", "%s> wrote an answer that cannot be read: %v", p.name, err)
	case a.failure != "":
		return nil, &operators.Failure{Message: a.failure}
	case exit.Code == 126, exit.Code == 127:
		return nil, operators.Faultf("", "%s> ended with code %d: %s or the interpreter in its first line cannot be started; see the task's log",
			p.name, exit.Code, p.command[0])
	case exit.Code != 0:
		return nil, operators.Faultf("", "%s> ended with code %d; see the task's log", p.name, exit.Code)
	}
	return a, nil
}
