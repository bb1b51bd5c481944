package dynamo

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/tasklog"
)

// Short logs are stored together: each is compressed while it is kept, but most of their content is the same, so for
// storage they are decompressed and then compressed together.
//
//	0   (name length, name, form, content length, content)...
const togetherForm = 0

// Forms of a log's content: the original bytes, or the text that had been compressed.
const (
	asItWas = 0
	gunzip  = 1
)

// packShort encodes logs for an entry; nil for none.
func packShort(list []shortLog) []byte {
	if len(list) == 0 {
		return nil
	}
	return table.Pack(joinShort(list))
}

// unpackShort decodes an entry's logs.
func unpackShort(b []byte) ([]shortLog, error) {
	text, err := table.Unpack(b)
	if err != nil {
		return nil, err
	}
	return splitShort(text)
}

func joinShort(list []shortLog) []byte {
	b := []byte{togetherForm}
	for _, l := range list {
		content, form := l.content, byte(asItWas)
		if text, err := decompress(l.content); err == nil {
			content, form = text, gunzip
		}
		b = append(binary.AppendUvarint(b, uint64(len(l.name))), l.name...)
		b = append(b, form)
		b = append(binary.AppendUvarint(b, uint64(len(content))), content...)
	}
	return b
}

var errShort = errors.New("read short logs: truncated data")

func splitShort(b []byte) ([]shortLog, error) {
	if len(b) == 0 || b[0] != togetherForm {
		return nil, table.ErrFormat
	}
	var list []shortLog
	b = b[1:]
	for len(b) > 0 {
		name, rest, err := cutPart(b)
		if err != nil {
			return nil, err
		}
		if len(rest) == 0 {
			return nil, errShort
		}
		form := rest[0]
		content, rest, err := cutPart(rest[1:])
		if err != nil {
			return nil, err
		}
		switch form {
		case asItWas:
		case gunzip:
			content = compress(content)
		default:
			return nil, table.ErrFormat
		}
		list, b = append(list, shortLog{string(name), content}), rest
	}
	return list, nil
}

// cutPart takes a part that follows its length.
func cutPart(b []byte) (part, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || uint64(len(b)-n) < size {
		return nil, nil, errShort
	}
	return b[n : n+int(size)], b[n+int(size):], nil
}

func decompress(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// zips compresses an attempt's logs, of which there may be a thousand, one by one when they are read.
var zips tasklog.Zips //nolint:gochecknoglobals // its compressors are all the same

func compress(text []byte) (out []byte) {
	zips.Compress(text, func(content []byte) error { //nolint:errcheck // to memory
		out = bytes.Clone(content)
		return nil
	})
	return out
}
