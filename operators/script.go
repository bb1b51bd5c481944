package operators

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path"
	"strings"
)

// Script is a program text that a command runs out of a scratch folder: what `sh>`,
// `py>` and `rb>` have in common.
type Script struct {
	Operator string            // names the scratch folder: "sh"
	Files    map[string][]byte // put into the scratch folder
	Outputs  []string          // read from it after the end
	Env      []string          // below `_env`
	// Args makes the command line; file gives the name of a scratch file as seen from
	// the working folder.
	Args func(workdir string, file func(name string) string) []string
}

// RunScript runs a script in the task's working folder, with its output in the log.
func (t *Task) RunScript(ctx context.Context, s Script) (Exit, error) {
	workdir, err := t.Workdir()
	if err != nil {
		return Exit{}, err
	}
	local, err := t.LocalEnv()
	if err != nil {
		return Exit{}, err
	}
	sandbox, err := t.sandbox()
	if err != nil {
		return Exit{}, err
	}
	if t.captures != nil {
		s = t.captures.around(s)
	}
	scratch := t.scratch(s.Operator)
	args := s.Args(workdir, func(name string) string {
		return path.Join(upwards(workdir), scratch, name)
	})
	exit, err := t.Commands.Run(ctx, Command{
		Args:    args,
		Dir:     workdir,
		Env:     append(append(t.IdentityEnv(), s.Env...), local...),
		Scratch: scratch,
		Files:   s.Files,
		Outputs: s.Outputs,
		Stdout:  t.Log,
		Sandbox: sandbox,
		Secrets: given(t.Secrets),
		Status:  t.State.Map(commandKey),
	})
	if err != nil {
		return Exit{}, t.pending(err)
	}
	t.State = t.State.Without(commandKey)
	if t.captures != nil {
		t.captures.left(exit)
	}
	if exit.Why != "" {
		return Exit{}, Failf("%s", exit.Why)
	}
	// A command that ends because it is told to must not look like one that failed.
	return exit, ctx.Err()
}

// commandKey is the state param of a command that runs elsewhere.
const commandKey = "commandStatus"

// pending asks for another run of a task whose command is not over yet.
func (t *Task) pending(err error) error {
	var p *Pending
	if !errors.As(err, &p) {
		return err
	}
	next := t.State.Clone()
	next.Set(commandKey, p.Status)
	return &Later{After: p.After, State: next}
}

// stopCommand ends the command that an earlier run of the task left running elsewhere.
func (t *Task) stopCommand(ctx context.Context) error {
	if !t.hasCommand() || t.Commands == nil {
		return nil
	}
	return t.Commands.Stop(ctx, t.State.Map(commandKey))
}

// hasCommand says whether an earlier run of the task left a command running elsewhere. Other
// operators keep jobs of their own under the same key.
func (t *Task) hasCommand() bool { return t.State.Map(commandKey).Has("command") }

// scratch names a folder that no other run of any task in this folder uses. It is the
// same when a run is delivered twice.
func (t *Task) scratch(operator string) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d", t.SessionUUID, t.AttemptID, t.Dispatch)
	return fmt.Sprintf(".digdag/tmp/digdag-%s-%d-%d", operator, t.TaskID, h.Sum64())
}

// upwards is the way from a folder of the project back to the project's folder.
func upwards(dir string) string {
	if dir == "" {
		return ""
	}
	return strings.Repeat("../", strings.Count(dir, "/")+1)
}
