package sqlstore

import (
	"database/sql/driver"
	"fmt"
	"time"

	"zerodag/engine/param"
)

// Row hands out the columns of a row from left to right. Each method accepts the types that either database returns.
type Row struct {
	Values []driver.Value // the columns of the current row, which the driver sets
	at     int
	err    error
	enough bool // no more rows are wanted
}

// Visit calls each for the current row. It reports whether more rows are wanted, and returns the error of a failed
// read.
func (r *Row) Visit(each func(*Row)) (more bool, err error) {
	r.at = 0
	each(r)
	return r.err == nil && !r.enough, r.err
}

func (r *Row) next() driver.Value {
	r.at++
	return r.Values[r.at-1]
}

// fail makes the query return an error.
func (r *Row) fail(err error) {
	if err != nil {
		r.err = err
	}
}

// ID reads a number; NULL is 0.
func (r *Row) ID() int64 {
	switch n := r.next().(type) {
	case int64:
		return n
	case int32:
		return int64(n)
	case int16:
		return int64(n)
	}
	return 0
}

// Int reads a number; NULL is 0.
func (r *Row) Int() int { return int(r.ID()) }

// Bool reads a flag, which may be a number; NULL is false.
func (r *Row) Bool() bool {
	switch b := r.next().(type) {
	case bool:
		return b
	case int64:
		return b != 0
	}
	return false
}

// Text reads text; NULL is "".
func (r *Row) Text() string {
	switch s := r.next().(type) {
	case string:
		return s
	case []byte:
		return string(s)
	}
	return ""
}

// Blob reads bytes; NULL and no bytes are nil.
func (r *Row) Blob() []byte {
	b, _ := r.next().([]byte)
	if len(b) == 0 {
		return nil
	}
	return b
}

// Time reads a time; NULL is zero.
func (r *Row) Time() time.Time {
	n, ok := r.next().(int64)
	if !ok {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// Tree reads a mapping; NULL is nil.
func (r *Row) Tree() *param.Map {
	var text string
	switch s := r.next().(type) {
	case string:
		text = s
	case []byte:
		text = string(s)
	default:
		return nil
	}
	m, err := param.ParseStored(text)
	switch {
	case err != nil:
		r.fail(fmt.Errorf("decode parameters: %w", err))
	case m == nil:
		r.fail(fmt.Errorf("decode parameters: not a mapping: %.40s", text))
	}
	return m
}
