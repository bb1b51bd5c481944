package evaluators

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// attributes returns attributes that start an evaluator detached from the terminal; the kernel kills it with this
// process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// unbound changes the attributes so that the kernel does not kill an evaluator with this process, because sandboxes
// such as Lambda's refuse prctl(2). The evaluator still ends: its input is closed when this process ends, and each
// evaluation has a processor time limit.
func unbound(a *syscall.SysProcAttr, err error) bool {
	if a.Pdeathsig == 0 || !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOSYS) && !errors.Is(err, syscall.EACCES) {
		return false
	}
	a.Pdeathsig = 0
	return true
}

// program is the program that an evaluator runs: this very program, even after its file has been replaced.
const program = "/proc/self/exe"

// spent returns how much processor time a process has used; false if the system does not report it.
func spent(pid int) (time.Duration, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name in parentheses may contain any characters.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) < 13 {
		return 0, false
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // the kernel's unit of time, on every platform that Go supports
	return time.Duration(user+system) * tick, true
}
