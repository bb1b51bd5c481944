package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"zerodag/internal/host"
)

// translated marks the temporary SQLite errors as host.ErrUnavailable.
func translated(err error) error {
	var e *sqlite.Error
	if err == nil || errors.Is(err, host.ErrUnavailable) || !errors.As(err, &e) {
		return err
	}
	if e.Code() == lib.SQLITE_IOERR_SHMSIZE {
		err = fmt.Errorf("the disk is full, but the database needs 32 KB to open: free some space: %w", err) // SQLite says "disk I/O error"
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_BUSY,
		lib.SQLITE_LOCKED, lib.SQLITE_NOMEM, lib.SQLITE_PERM, lib.SQLITE_PROTOCOL, lib.SQLITE_INTERRUPT:
		return fmt.Errorf("%w: %w", host.ErrUnavailable, err)
	}
	return err
}

// ofStore reports whether an error comes from SQLite and not from this package.
func ofStore(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e)
}

// busy reports whether another process has locked the file.
func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_BUSY
}
