//go:build !windows

package notice_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"zerodag/internal/notice"
)

// TestShellLeavesNoProcesses proves that all processes of a command end when its time is up.
func TestShellLeavesNoProcesses(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	sent := make(chan error, 1)
	go func() {
		_, err := notice.Shell{Command: "exec 3>'" + fifo + "'; (echo ready >&3; exec sleep 60) | cat"}.Send(ctx, notice.Fields(failed, now()))
		sent <- err
	}()
	f, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.ReadFull(f, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	stop()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, f) // until no process has the other end open
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("a process of the command still runs")
	}
	if err := <-sent; err == nil {
		t.Error("a command that was killed counts as a delivery")
	}
}
