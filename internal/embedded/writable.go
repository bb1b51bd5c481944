package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// probe is what must be free on a disk: a file system that is nearly full takes a byte more.
const probe = 64 << 10

// Writable says whether everything that is kept can be written now: an error has its cause,
// such as syscall.ENOSPC or syscall.EROFS. Logs that wait to be stored are such an error, too.
func (e *Engine) Writable(ctx context.Context) error {
	if err := e.taskLogs.Trouble(); err != nil {
		return fmt.Errorf("store logs of tasks: %w", err)
	}
	for _, folder := range slices.Compact([]string{e.folder, e.database, e.archives, e.logs, e.workspaces.Folder()}) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writable(folder); err != nil && !errors.Is(err, fs.ErrNotExist) { // logs: none was kept yet
			return fmt.Errorf("try to write: %w", err)
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
