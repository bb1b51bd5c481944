package sqlite

import (
	"context"
	"fmt"
	"os"
)

// Backup writes a consistent copy of the running database into a new file, which is
// complete and on disk when this returns. An existing file is refused.
func (db *DB) Backup(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("back up database: %s exists: remove it, or name another file", path)
	}
	err := db.read(ctx, func(c *conn) error {
		_, err := c.exec("VACUUM INTO ?", path)
		return err
	})
	if err == nil {
		err = syncFile(path)
	}
	if err != nil {
		os.Remove(path) // a part of a database is of no use
		return fmt.Errorf("back up database: %w", err)
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
