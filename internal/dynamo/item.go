package dynamo

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"zerodag/engine/param"
	"zerodag/internal/env"
)

// Attributes of all items; those of one entity are beside its keys. Names are short: they
// are paid for with every item.
const (
	aPartition = env.PartitionKey
	aSort      = env.SortKey
	aExpiry    = env.Expiry
	aID        = "i"
	aSite      = "si"
)

// item is what the table holds under one key. Zero values are not stored.
type item map[string]types.AttributeValue

// key names an item.
type key struct{ partition, sort string }

// row is the sort key of items that are alone in their partition.
const row = "R"

func (k key) item() item {
	return item{aPartition: text(k.partition), aSort: text(k.sort)}
}

func keyOf(it item) key { return key{it.str(aPartition), it.str(aSort)} }

func text(s string) types.AttributeValue     { return &types.AttributeValueMemberS{Value: s} }
func number(n int64) types.AttributeValue    { return &types.AttributeValueMemberN{Value: decimal(n)} }
func binaryOf(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
func yes() types.AttributeValue              { return &types.AttributeValueMemberBOOL{Value: true} }
func decimal(n int64) string                 { return strconv.FormatInt(n, 10) }

// ordered writes a number so that text sorts like it.
func ordered(n int64) string { return fmt.Sprintf("%019d", n) }

func (it item) setStr(name, s string) {
	if s != "" {
		it[name] = text(s)
	}
}

func (it item) setNum(name string, n int64) {
	if n != 0 {
		it[name] = number(n)
	}
}

func (it item) setBool(name string, b bool) {
	if b {
		it[name] = yes()
	}
}

func (it item) setBytes(name string, b []byte) {
	if b != nil {
		it[name] = binaryOf(b)
	}
}

func (it item) setTime(name string, t time.Time) {
	if !t.IsZero() {
		it[name] = micros(t)
	}
}

func (it item) setTree(name string, m *param.Map) {
	if m != nil {
		it[name] = binaryOf(pack(param.AppendStored(nil, m)))
	}
}

// micros is how times are stored: microseconds since 1970.
func micros(t time.Time) types.AttributeValue { return number(t.UnixMicro()) }

// same says that an item has the attributes with these names as another one has them: what is read
// has microseconds, so times are compared as they are stored.
func (it item) same(other item, names []string) bool {
	for _, name := range names {
		if !reflect.DeepEqual(it[name], other[name]) {
			return false
		}
	}
	return true
}

func (it item) str(name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func (it item) num(name string) int64 {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		if n, err := strconv.ParseInt(v.Value, 10, 64); err == nil {
			return n
		}
	}
	return 0
}

func (it item) bool(name string) bool {
	v, ok := it[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

func (it item) bytes(name string) []byte {
	if v, ok := it[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func (it item) has(name string) bool { return it[name] != nil }

func (it item) time(name string) time.Time {
	if !it.has(name) {
		return time.Time{}
	}
	return time.UnixMicro(it.num(name)).UTC()
}

func (it item) tree(name string) (*param.Map, error) {
	if !it.has(name) {
		return nil, nil
	}
	b, err := unpack(it.bytes(name))
	if err != nil {
		return nil, err
	}
	m, err := treeOf(b)
	if err != nil {
		return nil, fmt.Errorf("decode %s of %s: %w", name, it.str(aPartition), err)
	}
	return m, nil
}

func treeOf(text []byte) (*param.Map, error) { return param.ParseStored(string(text)) }

// The first byte of what pack made.
const (
	plain    = 0
	deflated = 1
)

// worthPacking is the size below which compression gains nothing.
const worthPacking = 64

var writers = sync.Pool{New: func() any { //nolint:gochecknoglobals // its writers are all the same
	w, _ := flate.NewWriter(nil, flate.BestCompression) // no error: the level is one of its own
	return w
}}

// pack compresses; what does not get smaller stays as it is.
func pack(b []byte) []byte {
	if len(b) >= worthPacking {
		var out bytes.Buffer
		out.WriteByte(deflated)
		w := writers.Get().(*flate.Writer)
		defer writers.Put(w)
		w.Reset(&out)
		w.Write(b) //nolint:errcheck // to memory
		w.Close()  //nolint:errcheck // to memory
		if out.Len() <= len(b) {
			return out.Bytes()
		}
	}
	return append([]byte{plain}, b...)
}

var errFormat = errors.New("stored in a form that this release does not know: a later one wrote it")

func unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	switch b[0] {
	case plain:
		return b[1:], nil
	case deflated:
		out, err := io.ReadAll(flate.NewReader(bytes.NewReader(b[1:])))
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
		return out, nil
	}
	return nil, errFormat
}

// randomInt is below a power of two.
func randomInt(n int64) int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) & uint64(n-1))
}
