package process

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOwnChildren proves that the list of this program's children is current although its file stays open, and that a
// list too long for a single read is complete.
func TestOwnChildren(t *testing.T) {
	t.Parallel()
	adoptOrphans()
	if _, known := ownChildren(); !known {
		t.Skip("NOT RUN: this kernel does not list children")
	}
	for _, n := range []int{1, 500} {
		out, err := exec.Command("/bin/sh", "-c", "for i in $(seq "+strconv.Itoa(n)+"); do sleep 1000 >/dev/null 2>&1 & echo $!; done").Output()
		if err != nil {
			t.Fatal(err)
		}
		var orphans []int // their shell has ended
		for word := range strings.FieldsSeq(string(out)) {
			pid, _ := strconv.Atoi(word)
			orphans = append(orphans, pid)
		}
		if len(orphans) != n {
			t.Fatalf("%d of %d were started", len(orphans), n)
		}
		list, _ := ownChildren()
		for _, pid := range orphans {
			if !slices.Contains(list, pid) {
				t.Errorf("%d orphans: %d is missing among %d", n, pid, len(list))
			}
			syscall.Kill(pid, syscall.SIGKILL)
		}
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && len(orphans) > 0; {
			orphans = slices.DeleteFunc(orphans, func(pid int) bool {
				got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
				return got == pid || err != nil
			})
		}
		list, _ = ownChildren()
		if i := slices.IndexFunc(list, func(pid int) bool { return strings.Contains(" "+string(out)+" ", strconv.Itoa(pid)+"\n") }); i >= 0 || len(orphans) > 0 {
			t.Errorf("%d orphans: %d are left, of %v", n, len(orphans), list)
		}
	}
}
