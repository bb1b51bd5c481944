package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Backup writes a consistent copy of the running database into a new file, which is
// complete and on disk when this returns. An existing file is refused.
func (db *DB) Backup(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("back up database: %s exists: remove it, or name a different file", path)
	}
	if db.path == "" {
		return errors.New("back up database: data in memory cannot be backed up")
	}
	err := ctx.Err()
	if err == nil {
		err = ownFile(path) // SQLite accepts an empty file as the target
	}
	if err == nil {
		err = copyInto(db.path, path)
	}
	if err == nil {
		err = syncFile(path)
	}
	if err != nil {
		os.Remove(path) // an incomplete database is useless
		return fmt.Errorf("back up database: %w", err)
	}
	return nil
}

// copyInto uses a separate connection because readers may not write anything, not even to other files, and the writer
// is busy.
func copyInto(path, to string) error {
	c, err := dial(dsn(path), "busy_timeout = 10000")
	if err != nil {
		return err
	}
	_, err = c.Exec("VACUUM INTO ?", to)
	return errors.Join(err, c.close())
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
