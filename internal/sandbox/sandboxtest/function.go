package sandboxtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"zerodag/internal/sandbox"
)

// Environment is a function with a single instance: each call is a process of the runner, in the same folder as the
// previous call.
type Environment struct {
	Env []string // the variables that Lambda sets and the handler passes on
	// Dir is the function's own folder.
	Dir string
	// Said holds what the last runner wrote in addition to its response.
	Said bytes.Buffer
	// Calls counts the calls in progress.
	Calls sync.WaitGroup

	runner string
	user   *syscall.Credential
}

// NewEnvironment returns an environment. If the test runs as root, it runs as another user, as on Lambda.
func NewEnvironment(t testing.TB, runner string) *Environment {
	dir, err := os.MkdirTemp("", "function-") // not t.TempDir: other users must have access
	if err != nil {
		t.Fatal(err)
	}
	e := &Environment{Dir: dir, runner: runner, Env: []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}}
	t.Cleanup(func() {
		e.Calls.Wait()
		os.RemoveAll(dir)
	})
	if os.Getuid() == 0 {
		const nobody = 65534
		e.user = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// Call implements sandbox.Caller. As on Lambda, a call continues when its caller no longer waits for it; Calls waits
// for all calls.
func (e *Environment) Call(ctx context.Context, c sandbox.Call) (sandbox.Result, error) {
	type end struct {
		sandbox.Result
		error
	}
	over := make(chan end, 1)
	e.Calls.Go(func() {
		r, err := e.call(c)
		over <- end{r, err}
	})
	select {
	case x := <-over:
		return x.Result, x.error
	case <-ctx.Done():
		return sandbox.Result{}, fmt.Errorf("%w: %w", sandbox.ErrUnknown, ctx.Err())
	}
}

func (e *Environment) call(c sandbox.Call) (sandbox.Result, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return sandbox.Result{}, err
	}
	x := exec.Command(e.runner, "once", e.Dir)
	x.Dir, x.Env, x.Stdin, x.Stderr = e.Dir, e.Env, bytes.NewReader(text), &e.Said
	x.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: e.user}
	var r sandbox.Result
	answer, err := x.Output()
	if err == nil {
		err = json.Unmarshal(answer, &r)
	}
	if err != nil {
		return r, fmt.Errorf("%w: %w: %s", sandbox.ErrCrashed, err, e.Said.String())
	}
	return r, nil
}
