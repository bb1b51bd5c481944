package process

import (
	"os"
	"os/exec"
	"sync"
	"testing"
)

// TestDriversOfOneProgram proves that several drivers in one program distinguish their commands: each learns how its
// own commands ended, and never ends another driver's commands.
//
// The drivers run in a separate program: a driver that believes that it is alone ends processes that no driver is
// responsible for, and the processes of this package's other tests would look like that.
func TestDriversOfOneProgram(t *testing.T) {
	t.Parallel()
	const within = "ZERODAG_TEST_DRIVERS"
	if os.Getenv(within) == "" {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		c.Env = append(os.Environ(), within+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	var running sync.WaitGroup
	for i := range 8 {
		// Half of the drivers believe that they are alone, as the command line and the server do.
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
