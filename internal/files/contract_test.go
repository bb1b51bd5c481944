package files

import (
	"testing"
	"time"

	"zerodag/internal/host/hosttest"
)

// TestContract runs the suites of the ports that files implement.
func TestContract(t *testing.T) {
	t.Parallel()
	harness := func(t *testing.T, run func(*testing.T, hosttest.Stores)) {
		blobs, err := NewBlobs(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		run(t, hosttest.Stores{Blobs: blobs, Logs: NewLogs(LogOptions{Folder: t.TempDir()}), Now: time.Now})
	}
	t.Run("Blobs", func(t *testing.T) { t.Parallel(); hosttest.Blobs(t, harness) })
	t.Run("Logs", func(t *testing.T) { t.Parallel(); hosttest.Logs(t, harness) })
}
