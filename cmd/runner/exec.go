//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// execWord is this program's first argument when it becomes a command: between fork and exec, the new process must set
// limits for itself.
const execWord = "exec"

// prSetNoNewPrivs is PR_SET_NO_NEW_PRIVS of prctl(2): setuid programs (sudo, su) do not change the user.
const prSetNoNewPrivs = 38

// rlimitNproc is RLIMIT_NPROC.
const rlimitNproc = 6

// becoming holds the settings for become.
type becoming struct {
	Processes uint64 `json:"processes"` // of the user; 0 for no limit
	Image     string `json:"image"`
}

// codeNotExecutable is the exit code of a command that could not be started, as in shells.
const codeNotExecutable = 126

// failures is the descriptor to which become writes why the command could not start.
const failures = 3

// become sets limits and replaces itself with the command. It does not return.
func become(args []string) {
	var b becoming
	if len(args) < 2 || json.Unmarshal([]byte(args[0]), &b) != nil {
		fmt.Fprintln(os.Stderr, "zerodag: only this program itself may start it")
		os.Exit(codeNotExecutable) //nolint:forbidigo // this process only starts a command
	}
	args = args[1:]
	syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0)
	none := syscall.Rlimit{}
	syscall.Setrlimit(syscall.RLIMIT_CORE, &none)
	if b.Processes > 0 {
		syscall.Setrlimit(rlimitNproc, &syscall.Rlimit{Cur: b.Processes, Max: b.Processes})
	}
	syscall.CloseOnExec(failures) // closing it without output reports that the command runs
	program, err := exec.LookPath(args[0])
	if err == nil || errors.Is(err, exec.ErrDot) {
		if program == "" {
			program = args[0]
		}
		err = syscall.Exec(program, args, os.Environ())
	}
	syscall.Write(failures, []byte(whyNot(args[0], b.Image, err)))
	os.Exit(codeNotExecutable) //nolint:forbidigo // this process only starts a command
}

// whyNot returns why a program in an image cannot be started, and a hint.
func whyNot(program, image string, err error) string {
	where := "this image"
	instead := "choose another image (docker: {image: …})"
	if image != "" {
		where = "the image " + image
	}
	if image == functionImage {
		where, instead = image, "run it on a machine with an image that has it (sandbox: {executor: fargate}, docker: {image: …})"
	}
	if errors.Is(err, syscall.ENOEXEC) {
		return fmt.Sprintf("%s in %s cannot run on this machine: it is for a different architecture, or a script without a #! line", program, where)
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, exec.ErrNotFound) {
		return fmt.Sprintf("%s in %s cannot be run: %v", program, where, err)
	}
	need := "the program of this command"
	if strings.HasSuffix(program, "/sh") || strings.HasSuffix(program, "/bash") {
		need = "the shell that this command needs"
	}
	return fmt.Sprintf("%s has no %s, %s: %s", where, program, need, instead)
}
