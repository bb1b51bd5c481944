//go:build !linux

package process

import (
	"errors"
	"os"

	"zerodag/operators"
)

// adoptOrphans has no counterpart here: orphans go to the first process of the system.
func adoptOrphans() {}

// stranger is a process of an unknown command, which this system never shows.
type stranger struct{}

// join does nothing: no driver searches for processes that may belong to another driver.
func (d *Driver) join() {}

// freezeMarked finds nothing: this system does not show the environment of processes.
func (d *Driver) freezeMarked(func(mark string) bool) []int { return nil }

func endAll([]int) {}

// markEarly marks nothing: there are no marks here.
func (d *Driver) markEarly(int, int) {}

// usage returns zeros because this system does not show processes as files.
func (d *Driver) usage(int, int) (count int, memory int64) { return 0, 0 }

// MayBecome explains why this program cannot run commands as the users with these IDs.
func MayBecome(...int) error { return errors.New("commands can run as another user only on Linux") }

// Usable explains why other users cannot enter a folder.
func Usable(string) error { return MayBecome() }

// Runs explains why other users cannot run programs in a folder.
func Runs(string) error { return MayBecome() }

func (d *Driver) spawnAs(*User, string, operators.Command, int, *os.ProcAttr) (*os.Process, error) {
	return nil, MayBecome()
}
