package process

import (
	"sync"
	"testing"
)

// TestDriversOfOneProgram proves that drivers side by side in one program know their commands apart: each
// hears how its own ended, and ends none of another.
func TestDriversOfOneProgram(t *testing.T) {
	t.Parallel()
	var running sync.WaitGroup
	for i := range 8 {
		// Half of them believe that they are alone, as the command line and the server do.
		d, root := New(Options{Alone: i%2 == 0}), t.TempDir()
		running.Go(func() {
			for i := range 250 {
				c := sh("exit 7")
				if i%3 == 0 {
					c = sh("sleep 0.01 & exit 7")
				}
				if exit, err := d.In(root).Run(t.Context(), c); err != nil || exit.Code != 7 {
					t.Errorf("ended with %+v, %v", exit, err)
					return
				}
			}
		})
	}
	running.Wait()
}
