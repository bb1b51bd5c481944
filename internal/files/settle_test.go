package files

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestSettle proves that the log of an ended run is stored before its result as soon as there is room, that the result
// waits for it for at most a minute, and that neither running tasks nor other attempts delay it.
func TestSettle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs, d, _ := onDisk(t)
		defer logs.Close()
		id, created := exampleRun("+a")
		if _, err := logs.Settle(id.AttemptID); err != nil {
			t.Error(err)
		}
		d.fails(syscall.ENOSPC)
		l := logs.Open(id, created)
		l.Write([]byte(strings.Repeat("x", gathered)))
		if _, err := logs.Settle(id.AttemptID); err != nil {
			t.Errorf("a task that runs holds a result: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := logs.Settle(id.AttemptID); err == nil {
			t.Error("the result may be stored, and the log is in memory")
		}
		if _, err := logs.Settle(id.AttemptID + 1); err != nil {
			t.Errorf("another attempt waits for it: %v", err)
		}
		d.works()
		if _, err := logs.Settle(id.AttemptID); err != nil || kept(t, logs) != strings.Repeat("x", gathered) {
			t.Errorf("there is room, and it is not stored: %v", err)
		}
		if err := logs.Trouble(); err != nil {
			t.Error(err)
		}
		d.fails(syscall.ENOSPC)
		l = logs.Open(id, created)
		l.Write([]byte("late"))
		l.Close()
		time.Sleep(holdResult - time.Second)
		if _, err := logs.Settle(id.AttemptID); err == nil {
			t.Error("the result did not wait")
		}
		time.Sleep(2 * time.Second)
		if unstored, err := logs.Settle(id.AttemptID); err != nil || !slices.Equal(unstored, []string{"+a"}) {
			t.Errorf("after a minute: %v, %v", unstored, err)
		}
		d.works()
	})
}
