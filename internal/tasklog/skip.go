package tasklog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
)

// Log members with a lot of text have their sizes in the header, in an extra field of gzip, so that a reader can skip
// them without unpacking them: the sizes are an index of positions in the log. Other gzip readers ignore the field.
// Small members have no such field because it would be a tenth of their size.
const (
	sizedText = 16 << 10 // the size in bytes from which a member states its sizes
	hasExtra  = 4        // the only flag of such a member; other members have none

	extraAt  = 10          // the position in a member of the extra fields' length
	packedAt = extraAt + 6 // the position of the sizes in bytes: of the member, then of its text
	headSize = packedAt + 8
)

// sizes is the extra field: its name, its length, and room for the sizes.
var sizes = []byte{'Z', 'D', 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// StartSize is how many bytes LastStart needs to recognize a member.
const StartSize = 8

// LastStart returns the last position in data at which a log member may begin; -1 if there is none. A member begins
// with gzip's magic bytes, flags, and four zero bytes.
func LastStart(text []byte) int {
	magic := []byte{0x1f, 0x8b, 8}
	for i := bytes.LastIndex(text, magic); i >= 0; i = bytes.LastIndex(text[:i+len(magic)-1], magic) {
		if start := text[i:]; len(start) >= StartSize && start[3]&^hasExtra == 0 && bytes.Equal(start[4:StartSize], make([]byte, 4)) {
			return i
		}
	}
	return -1
}

// memberSizes returns the sizes in the first bytes of a member; ok is false if there are none.
func memberSizes(head []byte) (packed, text int64, ok bool) {
	ok = len(head) >= headSize && LastStart(head[:StartSize]) == 0 && head[3] == hasExtra && int(binary.LittleEndian.Uint16(head[extraAt:])) == len(sizes) && bytes.Equal(head[extraAt+2:packedAt], sizes[:4])
	if !ok {
		return 0, 0, false
	}
	packed, text = int64(binary.LittleEndian.Uint32(head[packedAt:])), int64(binary.LittleEndian.Uint32(head[packedAt+4:]))
	return packed, text, packed > headSize
}

// After returns the text of a log file (gzip) after the first skipped bytes of text. The file may still be growing: in
// that case, the text may end anywhere, with or without an error. The returned error is about the skipped text: the
// file is damaged, or has less text than that (io.ErrUnexpectedEOF).
func After(file io.Reader, skipped int64) (io.Reader, error) {
	m := &members{in: bufio.NewReader(file)}
	for {
		head, _ := m.in.Peek(headSize) // a short one states no sizes
		if packed, text, sized := memberSizes(head); sized && text <= skipped {
			if _, err := m.in.Discard(int(packed)); err != nil {
				return nil, io.ErrUnexpectedEOF
			}
			skipped -= text
			continue
		}
		err := m.next()
		if errors.Is(err, io.EOF) && skipped == 0 {
			return bytes.NewReader(nil), nil
		}
		if err != nil {
			return nil, noEnd(err)
		}
		n, err := io.CopyN(io.Discard, m.z, skipped)
		if skipped -= n; err == nil {
			return m, nil
		}
		if !errors.Is(err, io.EOF) {
			return nil, noEnd(err)
		}
	}
}

// members reads the text of the current member and all following ones.
type members struct {
	in *bufio.Reader
	z  *gzip.Reader
}

// next begins the next member; it returns io.EOF if there is none.
func (m *members) next() (err error) {
	if m.z == nil {
		m.z, err = gzip.NewReader(m.in)
	} else {
		err = m.z.Reset(m.in)
	}
	if err == nil {
		m.z.Multistream(false)
	}
	return err
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 && errors.Is(err, io.EOF) {
			err = nil // the next read returns it again
		}
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := m.next(); err != nil {
			return 0, err
		}
	}
}

// noEnd turns the end of a file that should have more data into an unexpected end.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
