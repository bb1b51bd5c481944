package tasklog

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"slices"
	"sync"
)

// Zips lends compressors, because creating one clears a megabyte and a log needs it only for a moment. It is safe for
// concurrent use.
type Zips struct{ small, large sync.Pool }

// smallText is the size up to which the fastest level compresses as well as the others, in a tenth of the time.
const smallText = 1 << 10

type zip struct {
	buffer bytes.Buffer
	writer *gzip.Writer
}

// Compress passes text to f as a member of a gzip file; f must not keep it.
func (z *Zips) Compress(text []byte, f func(content []byte) error) error {
	pool, level := &z.large, gzip.DefaultCompression
	if len(text) < smallText {
		pool, level = &z.small, gzip.BestSpeed
	}
	c, ok := pool.Get().(*zip)
	if !ok {
		w, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			return err
		}
		c = &zip{writer: w}
	}
	defer pool.Put(c)
	c.buffer.Reset()
	c.writer.Reset(&c.buffer)
	sized := len(text) >= sizedText
	if sized {
		c.writer.Extra = slices.Clone(sizes) // placeholder, overwritten later
	}
	if _, err := c.writer.Write(text); err != nil {
		return err
	}
	if err := c.writer.Close(); err != nil {
		return err
	}
	if sized {
		binary.LittleEndian.PutUint32(c.buffer.Bytes()[packedAt:], uint32(c.buffer.Len()))
		binary.LittleEndian.PutUint32(c.buffer.Bytes()[packedAt+4:], uint32(len(text)))
	}
	return f(c.buffer.Bytes())
}

// mostJoined limits the size of the text that Single accepts, and thereby its time.
const mostJoined = 64 << 20

// Single merges all members of a gzip file into one: browsers ignore everything after the first member. A file that is
// unreadable or has too much text is returned unchanged.
func (z *Zips) Single(file []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return file
	}
	c, ok := z.large.Get().(*zip)
	if !ok {
		c = &zip{writer: gzip.NewWriter(nil)}
	}
	defer z.large.Put(c)
	c.buffer.Reset()
	c.writer.Reset(&c.buffer)
	n, err := io.Copy(c.writer, io.LimitReader(r, mostJoined+1))
	if err != nil || n > mostJoined || c.writer.Close() != nil {
		return file
	}
	return bytes.Clone(c.buffer.Bytes())
}
