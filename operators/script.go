package operators

import (
	"context"
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
	})
	if err != nil {
		return Exit{}, err
	}
	// A command that ends because it is told to must not look like one that failed.
	return exit, ctx.Err()
}

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
