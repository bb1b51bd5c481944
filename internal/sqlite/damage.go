package sqlite

import (
	"errors"
	"fmt"
	"os"

	"zerodag/internal/sqlstore"
)

// quickly is the size in bytes up to which a database is checked before it is used, which takes a moment. Checking a
// larger one would take too long.
const quickly = 32 << 20

// checkSmall returns an error that describes the damage of a small database.
func checkSmall(c *conn, path string) error {
	if isLarge(path) {
		return nil
	}
	return damage(c, path)
}

func isLarge(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > quickly
}

func damage(c *conn, path string) error {
	text, found, err := sqlstore.One(c, (*row).Text, "PRAGMA quick_check(1)")
	if err != nil {
		return fmt.Errorf("check database %s: %w", path, err)
	}
	if found && text != "ok" {
		return fmt.Errorf("database %s is damaged (%.200s): stop the server and restore a backup", path, text)
	}
	return nil
}

// CheckLarge returns an error that describes the damage of a database that was too large to be checked by Open. It
// reads the whole database while others use it.
func (db *DB) CheckLarge() error {
	if db.path == "" || !isLarge(db.path) {
		return nil
	}
	c, err := openReader(db.path)
	if err != nil {
		return err
	}
	return errors.Join(damage(c, db.path), c.close())
}
