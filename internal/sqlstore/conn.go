package sqlstore

import (
	"database/sql/driver"
	"fmt"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Conn runs the statements of a transaction or of a read, one after the other. Arguments must have one of the types
// that Value accepts.
type Conn interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(sql string, args ...any) (int64, error)
	// Insert runs an INSERT into a table with IDs and returns the ID of the new row, or 0 if a conflict prevented it.
	Insert(sql string, args ...any) (int64, error)
	// Query calls each for every row until a call fails or needs no more rows. The statement remains in use until then:
	// each must not run the same one.
	Query(each func(*Row), sql string, args ...any) error
	// Batch runs statements one after the other, in one round trip if the database is remote.
	Batch(list ...Statement) error
}

// Statement is a part of a Batch.
type Statement struct {
	SQL  string
	Args []any
}

// Do creates a statement for a Batch.
func Do(sql string, args ...any) Statement { return Statement{sql, args} }

// Value converts an argument to a type that both databases accept: nil, int64, bool, string or []byte. Times are
// microseconds since 1970, and NULL if zero; mappings are JSON, and NULL if nil.
func Value(arg any) (driver.Value, error) {
	switch a := arg.(type) {
	case nil, int64, string, bool:
		return a, nil
	case []byte:
		if a == nil {
			a = []byte{}
		}
		return a, nil
	case int:
		return int64(a), nil
	case time.Time:
		if a.IsZero() {
			return nil, nil
		}
		return a.UnixMicro(), nil
	case *param.Map:
		if a == nil {
			return nil, nil
		}
		return string(param.AppendStored(nil, a)), nil
	}
	return nil, fmt.Errorf("unsupported column type %T", arg)
}

// Stamp truncates a time to the precision of a column, so that the column returns it unchanged.
func Stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Collect returns the rows that a query finds.
func Collect[T any](c Conn, scan func(*Row) T, sql string, args ...any) ([]T, error) {
	var list []T
	err := c.Query(func(r *Row) { list = append(list, scan(r)) }, sql, args...)
	return list, err
}

// One returns the first row that a query finds, and whether there is one.
func One[T any](c Conn, scan func(*Row) T, sql string, args ...any) (T, bool, error) {
	list, err := Collect(c, scan, sql, args...)
	if err != nil || len(list) == 0 {
		var none T
		return none, false, err
	}
	return list[0], true, nil
}

// OrNotFound adds what failed to an error; if there is no error, it returns host.ErrNotFound.
func OrNotFound(err error, doing string, args ...any) error {
	if err == nil {
		err = host.ErrNotFound
	}
	return fmt.Errorf(doing+": %w", append(args, err)...)
}
