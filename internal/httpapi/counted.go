package httpapi

import (
	"errors"
	"io"
)

// counted notices that a body ended before its announced length.
type counted struct {
	io.Reader
	broken bool
}

func (r *counted) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.broken = r.broken || errors.Is(err, io.ErrUnexpectedEOF)
	return n, err
}
