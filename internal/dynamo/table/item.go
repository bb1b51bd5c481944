package table

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"zerodag/engine/param"
	"zerodag/internal/env"
)

// Attributes of all items; those of one entity are defined with its keys. Names are short because they add to the size,
// and so to the cost, of every item.
const (
	Partition = env.PartitionKey
	Sort      = env.SortKey
	Expiry    = env.Expiry
	ID        = "i"
	Site      = "si"
)

// Item is the content of the table under one key. Zero values are not stored.
type Item map[string]types.AttributeValue

// Key names an item.
type Key struct{ Partition, Sort string }

// Row is the sort key of items that are alone in their partition.
const Row = "R"

// At returns the key of an item in a partition.
func At(partition, sort string) Key { return Key{partition, sort} }

// Item returns an item that contains only this key.
func (k Key) Item() Item {
	return Item{Partition: Text(k.Partition), Sort: Text(k.Sort)}
}

// KeyOf returns the key of an item.
func KeyOf(it Item) Key { return Key{it.Str(Partition), it.Str(Sort)} }

// Text returns a string as a DynamoDB value.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number returns a whole number as a DynamoDB value.
func Number(n int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: Decimal(n)} }

// Bytes returns bytes as a DynamoDB value.
func Bytes(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// Yes returns true as a DynamoDB value; false is not stored.
func Yes() types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: true} }

// Decimal formats a number as part of a key.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }

// Ordered formats a number so that the strings sort like the numbers.
func Ordered(n int64) string { return fmt.Sprintf("%019d", n) }

// SetStr sets a string; "" is omitted.
func (it Item) SetStr(name, s string) {
	if s != "" {
		it[name] = Text(s)
	}
}

// SetNum sets a number; 0 is omitted.
func (it Item) SetNum(name string, n int64) {
	if n != 0 {
		it[name] = Number(n)
	}
}

// SetBool sets true; false is omitted.
func (it Item) SetBool(name string, b bool) {
	if b {
		it[name] = Yes()
	}
}

// SetBytes sets bytes; nil is omitted.
func (it Item) SetBytes(name string, b []byte) {
	if b != nil {
		it[name] = Bytes(b)
	}
}

// SetTime sets a time to the microsecond; the zero time is omitted.
func (it Item) SetTime(name string, t time.Time) {
	if !t.IsZero() {
		it[name] = Micros(t)
	}
}

// SetTree sets a packed parameter tree; nil is omitted.
func (it Item) SetTree(name string, m *param.Map) {
	if m != nil {
		it[name] = Bytes(Pack(param.AppendStored(nil, m)))
	}
}

// Micros returns a time as it is stored: in microseconds since 1970.
func Micros(t time.Time) types.AttributeValue { return Number(t.UnixMicro()) }

// Same reports whether the attributes with these names are the same in two items. Times are compared as they are
// stored, because times that were read have only microseconds.
func (it Item) Same(other Item, names []string) bool {
	for _, name := range names {
		if !reflect.DeepEqual(it[name], other[name]) {
			return false
		}
	}
	return true
}

// Str returns a string; "" for none.
func (it Item) Str(name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// Num returns a number; 0 for none.
func (it Item) Num(name string) int64 {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		if n, err := strconv.ParseInt(v.Value, 10, 64); err == nil {
			return n
		}
	}
	return 0
}

// Bool reports whether an attribute is true.
func (it Item) Bool(name string) bool {
	v, ok := it[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

// Bytes returns bytes; nil for none.
func (it Item) Bytes(name string) []byte {
	if v, ok := it[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

// Has reports whether an attribute is stored.
func (it Item) Has(name string) bool { return it[name] != nil }

// Time returns a time; the zero time for none.
func (it Item) Time(name string) time.Time {
	if !it.Has(name) {
		return time.Time{}
	}
	return time.UnixMicro(it.Num(name)).UTC()
}

// Tree returns a parameter tree; nil for none.
func (it Item) Tree(name string) (*param.Map, error) {
	if !it.Has(name) {
		return nil, nil
	}
	b, err := Unpack(it.Bytes(name))
	if err != nil {
		return nil, err
	}
	m, err := TreeOf(b)
	if err != nil {
		return nil, fmt.Errorf("decode %s of %s: %w", name, it.Str(Partition), err)
	}
	return m, nil
}

// TreeOf reads a parameter tree that SetTree stored, after it has been unpacked.
func TreeOf(text []byte) (*param.Map, error) { return param.ParseStored(string(text)) }

// randomInt returns a random number below n, a power of two.
func randomInt(n int64) int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) & uint64(n-1))
}
