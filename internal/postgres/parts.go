package postgres

import (
	"context"
	"fmt"
	"io"

	"zerodag/internal/host"
)

// partsAtOnce is how many parts are read with one statement.
const partsAtOnce = 8

// parts reads content that is stored in several rows, a few rows at a time, up to the row that was the last one when
// reading began.
type parts struct {
	ctx   context.Context //nolint:containedctx // io.Reader has no argument for it
	db    *DB
	what  string // for errors
	sql   string // finds the parts after $1 up to $2, in order, with their numbers
	args  []any  // the arguments from $3 on
	at    int64  // number of the last row that was read
	last  int64
	bytes [][]byte // read, but not yet returned
}

// Read implements io.Reader.
func (p *parts) Read(to []byte) (int, error) {
	for len(p.bytes) > 0 && len(p.bytes[0]) == 0 {
		p.bytes = p.bytes[1:]
	}
	if len(p.bytes) == 0 {
		if p.at >= p.last {
			return 0, io.EOF
		}
		if err := p.more(); err != nil {
			return 0, fmt.Errorf("read %s: %w", p.what, err)
		}
		return p.Read(to)
	}
	n := copy(to, p.bytes[0])
	p.bytes[0] = p.bytes[0][n:]
	return n, nil
}

// more reads the next parts. Numbers have no gaps: if the next part is missing, all parts were removed.
func (p *parts) more() error {
	return p.db.read(p.ctx, func(c *conn) error {
		var list [][]byte
		at := p.at
		err := c.Query(func(r *row) {
			if r.ID() == at+1 {
				at++
				list = append(list, r.Blob())
			}
		}, p.sql+" LIMIT $3", append([]any{p.at, p.last, partsAtOnce}, p.args...)...)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("%w: it has been removed", host.ErrNotFound)
		}
		if err == nil {
			p.bytes, p.at = list, at
		}
		return err
	})
}

// Close implements io.Closer.
func (p *parts) Close() error {
	p.bytes, p.at = nil, p.last
	return nil
}
