package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// probe is the number of bytes that must be free on a disk: a file system that is nearly full may still accept a single
// byte.
const probe = 64 << 10

// Writable returns an error if a store cannot be written to now. The error wraps its cause, such as syscall.ENOSPC or
// syscall.EROFS. It also returns an error if logs are waiting to be stored or a shared database does not respond.
func (e *Engine) Writable(ctx context.Context) error {
	folders := []string{e.folder, e.workspaces.Folder()}
	if e.shared != nil {
		if err := e.shared.Writable(ctx); err != nil {
			return fmt.Errorf("write to the database: %w", err)
		}
	} else {
		if err := e.taskLogs.Trouble(); err != nil {
			return fmt.Errorf("store logs of tasks: %w", err)
		}
		folders = append(folders, e.archives, e.logs)
		if e.file != "" {
			folders = append(folders, filepath.Dir(e.file))
		}
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writable(folder); err != nil && !errors.Is(err, fs.ErrNotExist) { // logs: none have been stored yet
			return fmt.Errorf("test a write: %w", err)
		}
	}
	return nil
}

func writable(folder string) error {
	f, err := os.CreateTemp(folder, ".health-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probe))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
