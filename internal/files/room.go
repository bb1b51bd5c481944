package files

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/limits"
)

// room limits the total number of bytes that copies of projects take up on disk.
type room struct {
	most int64 // 0: there is no limit

	mu   sync.Mutex
	used int64
}

// roomTime is how often a write that waits for room checks again.
const roomTime = 50 * time.Millisecond

// newRoom creates a limit; 0 means half of the free space on the folder's disk.
func newRoom(folder string, most int64) *room {
	if most == 0 {
		most = Free(folder) / 2
	}
	return &room{most: most}
}

// take waits until there is room for a copy. tidy frees unneeded copies.
func (r *room) take(ctx context.Context, size int64, tidy func()) error {
	if r.most > 0 && size > r.most {
		return &host.Error{Code: host.Invalid, Message: fmt.Sprintf("the project takes up %d bytes, but all workspaces together may have at most %d: free some disk space and restart the server, or raise agent.workspaces.disk", size, r.most)}
	}
	for !r.try(size) {
		tidy()
		if r.try(size) {
			break
		}
		timer := time.NewTimer(roomTime)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for room for another workspace: %w", ctx.Err())
		}
	}
	return nil
}

func (r *room) try(size int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most > 0 && r.used+size > r.most {
		return false
	}
	r.used += size
	return true
}

func (r *room) give(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= size
}

// sizeOf returns the total size of all files in a folder, in bytes.
func sizeOf(folder string) (total int64) {
	filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error { //nolint:errcheck // inaccessible files are not counted
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil // inaccessible files do not count
	})
	return total
}

// dropClean deletes unused copies.
func (w *Workspaces) dropClean() {
	w.mu.Lock()
	var all []*clone
	for _, u := range w.unpacked {
		all = append(all, u.clean...)
		u.clean = nil
	}
	w.mu.Unlock()
	for _, c := range all {
		w.remove(c)
	}
}

// remove deletes a copy.
func (w *Workspaces) remove(c *clone) {
	removeFolder(c.Root())
	w.room.give(c.size)
}

// removing is how long the removal of a folder is retried while there are too few descriptors.
const removing = 10 * time.Second

// removeFolder deletes one of our folders. Files that it cannot delete are deleted with the rest at the end.
func removeFolder(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), removing)
	defer cancel()
	_ = limits.WhileScarce(ctx, func() error { return os.RemoveAll(name) })
}
