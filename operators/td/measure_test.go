package td_test

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"zerodag/operators/operatortest"
)

// heapWhile returns the maximum heap growth while f runs.
func heapWhile(t *testing.T, f func()) uint64 {
	t.Helper()
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	before, most := now.HeapInuse, uint64(0)
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse-min(m.HeapInuse, before))
			}
		}
	})
	f()
	close(stop)
	watch.Wait()
	return most
}

func sizeOf(t *testing.T, w *operatortest.World, file string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(w.Project.Root(), file))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
