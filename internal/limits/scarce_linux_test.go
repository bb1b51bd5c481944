package limits_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"zerodag/internal/limits"
)

// TestScarceAtTheLastDescriptor proves that a program that would get the last descriptor that this process is allowed
// is started later: in that case, the kernel reports that the descriptor is not open.
func TestScarceAtTheLastDescriptor(t *testing.T) {
	t.Parallel()
	if os.Getenv("FEW_DESCRIPTORS") != "" {
		startWithLast(t)
		return
	}
	c := exec.Command("/bin/sh", "-c", `ulimit -n 64 && exec "$0" -test.run "^TestScarceAtTheLastDescriptor$" -test.v`, os.Args[0])
	c.Env = append(os.Environ(), "FEW_DESCRIPTORS=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func startWithLast(t *testing.T) {
	t.Helper()
	var opened []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		opened = append(opened, f)
	}
	last := opened[len(opened)-1]
	for _, f := range opened[:len(opened)-1] {
		f.Close()
	}
	if last.Fd() != 63 {
		t.Fatalf("the last descriptor is %d", last.Fd())
	}
	p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Files: []*os.File{last, last, last}})
	if err == nil {
		p.Wait()
	}
	if !limits.Scarce(err) || limits.Scarce(syscall.EBADF) || limits.Scarce(&os.PathError{Op: "read", Path: "x", Err: syscall.EBADF}) {
		t.Errorf("got %v, of other trouble %v", err, limits.Scarce(syscall.EBADF))
	}
}
