package table

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The first byte of Pack's output.
const (
	plain    = 0
	deflated = 1
)

// worthPacking is the size below which compression gains nothing.
const worthPacking = 64

var writers = sync.Pool{New: func() any { //nolint:gochecknoglobals // its writers are all the same
	w, _ := flate.NewWriter(nil, flate.BestCompression) // no error: the level is a constant
	return w
}}

// Pack compresses content; content that does not get smaller stays uncompressed.
func Pack(b []byte) []byte {
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

// ErrFormat means that a later release packed the content.
var ErrFormat = errors.New("stored in an unknown format by a later release")

// Unpack returns the content that Pack received.
func Unpack(b []byte) ([]byte, error) {
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
	return nil, ErrFormat
}
