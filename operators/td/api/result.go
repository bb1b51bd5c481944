package api

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/url"

	"github.com/tinylib/msgp/msgp"

	"zerodag/engine/param"
)

// Limits on a result: data from a service must not control how much memory or stack is used.
const (
	mostRow   = 64 << 20 // bytes in one row
	mostText  = 32 << 20 // bytes in one string
	mostDepth = 100
)

// Taker receives a row, and reports whether it wants more rows.
type Taker func(row []param.Value) (more bool, err error)

// Rows streams a job's result: each row is passed on as it arrives and not kept, until the last one or until the taker
// wants no more. Values are nil, bool, int64, *big.Int, float64, string, []param.Value and *param.Map. An interrupted
// stream starts again, with a new taker from begin.
func (c *Client) Rows(ctx context.Context, id string, begin func() (Taker, error)) error {
	r := get(pathOf("/v3/job/result", id), url.Values{"format": {"msgpack.gz"}, "header": {"false"}})
	return c.do(ctx, r, func(body io.Reader) error {
		f, own := begin() // own is an error of the taker, independent of the response
		if own != nil {
			return own
		}
		err := readRows(body, func(row []param.Value) (bool, error) {
			var more bool
			more, own = f(row)
			return more, own
		})
		if err == nil || own != nil {
			return err
		}
		return &Unreadable{Path: r.path, Why: err.Error()}
	})
}

// readRows reads the rows of a gzip-compressed MessagePack stream.
func readRows(from io.Reader, f func(row []param.Value) (bool, error)) error {
	plain, err := gzip.NewReader(from)
	if errors.Is(err, io.EOF) {
		return nil // empty input has no rows
	}
	if err != nil {
		return fmt.Errorf("it is not compressed with gzip: %w", err)
	}
	bound := &bounded{from: plain}
	m := msgp.NewReaderSize(bound, 64<<10)
	m.SetMaxStringLength(mostText)
	for {
		bound.left = mostRow
		row, err := readRow(m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if more, err := f(row); !more || err != nil {
			return err
		}
	}
}

// errLongRow ends the reading of a row that is too long to hold.
var errLongRow = fmt.Errorf("a row is longer than %d MiB", mostRow>>20)

// bounded passes on a limited number of bytes until its limit is raised.
type bounded struct {
	from io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongRow
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// readRow reads one row; io.EOF means that there is none.
func readRow(m *msgp.Reader) ([]param.Value, error) {
	if _, err := m.R.PeekByte(); err != nil {
		return nil, err // not a single byte of the next value
	}
	row, err := readValue(m, 0)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("it ends in the middle of a row")
	}
	if err != nil {
		return nil, err
	}
	list, isList := row.([]param.Value)
	if !isList {
		return nil, errors.New("a row is not an array")
	}
	return list, nil
}

func readValue(m *msgp.Reader, depth int) (param.Value, error) {
	if depth > mostDepth {
		return nil, fmt.Errorf("a value is nested deeper than %d", mostDepth)
	}
	kind, err := m.NextType()
	if err != nil {
		return nil, err
	}
	switch kind {
	case msgp.NilType:
		return nil, m.ReadNil()
	case msgp.BoolType:
		return m.ReadBool()
	case msgp.IntType:
		return m.ReadInt64()
	case msgp.UintType:
		u, err := m.ReadUint64()
		if i := int64(u); i >= 0 { // #nosec G115 -- values that do not fit become negative
			return i, err
		}
		return new(big.Int).SetUint64(u), err
	case msgp.Float32Type:
		f, err := m.ReadFloat32()
		return float64(f), err
	case msgp.Float64Type:
		return m.ReadFloat64()
	case msgp.StrType:
		return m.ReadString()
	case msgp.BinType:
		b, err := m.ReadBytesLimit(nil, mostText)
		return string(b), err
	case msgp.ArrayType:
		return readList(m, depth)
	case msgp.MapType:
		return readMap(m, depth)
	}
	return nil, fmt.Errorf("a value has the type %s, which results cannot contain", kind)
}

// readList does not allocate memory for a length that has only been announced.
func readList(m *msgp.Reader, depth int) (param.Value, error) {
	n, err := m.ReadArrayHeader()
	list := []param.Value{}
	for range n {
		v, err := readValue(m, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, err
}

func readMap(m *msgp.Reader, depth int) (param.Value, error) {
	n, err := m.ReadMapHeader()
	if err != nil {
		return nil, err
	}
	out := param.New()
	for range n {
		k, err := readValue(m, depth+1)
		if err != nil {
			return nil, err
		}
		v, err := readValue(m, depth+1)
		if err != nil {
			return nil, err
		}
		key, isText := k.(string)
		if !isText {
			key = param.Text(k)
		}
		out.Set(key, v)
	}
	return out, nil
}
