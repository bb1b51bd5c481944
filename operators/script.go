package operators

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path"
	"strings"
)

// Script is a program that a command runs from a scratch folder: the common part of `sh>`, `py>` and `rb>`.
type Script struct {
	Operator string            // names the scratch folder: "sh"
	Files    map[string][]byte // put into the scratch folder
	Outputs  []string          // read from it after the end
	Env      []string          // below `_env`
	// Args returns the command line; file returns the name of a scratch file relative to the working folder.
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
	c := Command{
		Dir:     workdir,
		Env:     append(append(t.IdentityEnv(), s.Env...), local...),
		Scratch: t.scratch(s.Operator),
		Files:   s.Files,
		Outputs: s.Outputs,
		Stdout:  t.Log,
		Sandbox: sandbox,
		Secrets: given(t.Secrets),
		Status:  t.State.Map(commandKey),
	}
	c.Args = s.Args(workdir, c.ScratchFile)
	exit, err := t.Commands.Run(ctx, c)
	if err != nil {
		return Exit{}, t.pending(err)
	}
	t.State = t.State.Without(commandKey)
	if exit.Why != "" {
		return Exit{}, Failf("%s", exit.Why)
	}
	// A command that ends because it was asked to end must not look like a failed one.
	return exit, ctx.Err()
}

// given returns the secrets that a task has been given so far, if the provider records them.
func given(s Secrets) map[string]string {
	if known, ok := s.(interface{ Given() map[string]string }); ok {
		return known.Given()
	}
	return nil
}

// commandKey is the state param of a command that runs elsewhere.
const commandKey = "commandStatus"

// pending requests another run of a task whose command has not ended yet.
func (t *Task) pending(err error) error {
	var p *Pending
	if !errors.As(err, &p) {
		return err
	}
	next := t.State.Clone()
	next.Set(commandKey, p.Status)
	return &Later{After: p.After, State: next}
}

// StopCommand ends the command that an earlier run of the task left running elsewhere.
func (t *Task) StopCommand(ctx context.Context) error {
	if !t.HasCommand() || t.Commands == nil {
		return nil
	}
	return t.Commands.Stop(ctx, t.State.Map(commandKey))
}

// HasCommand reports whether an earlier run of the task left a command running elsewhere. Other operators store their
// own jobs under the same key.
func (t *Task) HasCommand() bool { return t.State.Map(commandKey).Has("command") }

// scratch returns a folder name that no other run of any task in this folder uses. It is the same if a run is delivered
// twice.
func (t *Task) scratch(operator string) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d", t.SessionUUID, t.AttemptID, t.Dispatch)
	folder := cmp.Or(t.RunFolder, DigdagRunFolder)
	return fmt.Sprintf("%s/%s-%s-%d-%d", TempFolder(folder), strings.TrimPrefix(folder, "."), operator, t.TaskID, h.Sum64())
}

// ScratchFile returns the path of a file in the scratch folder, relative to the working folder of the command.
func (c Command) ScratchFile(name string) string { return path.Join(upwards(c.Dir), c.Scratch, name) }

// upwards returns the path from a folder in the project back to the project's folder.
func upwards(dir string) string {
	if dir == "" {
		return ""
	}
	return strings.Repeat("../", strings.Count(dir, "/")+1)
}
