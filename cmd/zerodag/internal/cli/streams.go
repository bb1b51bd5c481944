package cli

import (
	"fmt"
	"io"
	"time"

	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// Watch shows a progress bar on a terminal for the transfers of a client until the returned function is called.
func (s Streams) Watch(c *client.Client) (end func()) {
	file, ok := term.Watched(s.Err)
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

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// ProgramVersion is the program's version.
	ProgramVersion string
}

// Banner writes the first line on stderr of every command that does something, if the program is called as Digdag.
func (s Streams) Banner() {
	if program.AsDigdag() {
		s.Announce()
	}
}

// Announce writes the time and the version of the program to stderr.
func (s Streams) Announce() {
	fmt.Fprintf(s.Err, "%s: zerodag v%s\n", time.Now().Format("2006-01-02 15:04:05 -0700"), s.ProgramVersion)
}
