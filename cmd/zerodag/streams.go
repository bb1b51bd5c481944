package main

import (
	"io"

	"zerodag/internal/client"
	"zerodag/internal/term"
)

// watch shows a bar, where a person looks on, for the transfers of a client until the returned function
// is called.
func (s streams) watch(c *client.Client) (end func()) {
	file, ok := term.Watched(s.err)
	if !ok {
		return func() {}
	}
	p := term.NewProgress(file)
	c.Progress = p.Tell
	return func() {
		c.Progress = nil
		p.End()
	}
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}
