// Package limits contains the code that drivers of operators.Commands share to keep a command within its limits: its
// output, its disk use, and the reason why it was ended.
//
// It measures and reports; it must not start, end or search for processes.
package limits

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"zerodag/operators"
)

// DefaultOutput is the default for how many bytes a command may write to its log.
const DefaultOutput = 1 << 30

// Reason is the reason why a command was ended: only the first one counts.
type Reason struct {
	mu   sync.Mutex
	text string
}

// Set sets the reason unless there is one.
func (r *Reason) Set(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.text == "" {
		r.text = text
	}
}

// Get returns the reason, "" for none.
func (r *Reason) Get() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text
}

// Output passes on a command's output up to a limit, and discards the rest. Only one goroutine at a time may write to
// it.
type Output struct {
	to     io.Writer
	left   int64
	exceed func() // called once if there is more; nil afterwards
	inside bool   // the last byte that was passed on does not end a line
}

// NewOutput returns an Output; to may be nil.
func NewOutput(to io.Writer, limit int64, exceed func()) *Output {
	if limit == 0 {
		limit = DefaultOutput
	}
	if to == nil {
		to = io.Discard
	}
	return &Output{to: to, left: limit, exceed: exceed}
}

// Write never fails: a receiver that fails does not stop the command, which must not block
// on a full pipe.
func (o *Output) Write(p []byte) (int, error) {
	n := len(p)
	if int64(n) > o.left {
		p = p[:o.left]
		if o.exceed != nil {
			o.exceed()
			o.exceed = nil
		}
	}
	o.left -= int64(len(p))
	if len(p) > 0 {
		o.inside = p[len(p)-1] != '\n'
		if _, err := o.to.Write(p); err != nil {
			o.to = io.Discard
		}
	}
	return n, nil
}

// Say adds a line from zerodag, which does not count as output of the command.
func (o *Output) Say(format string, args ...any) {
	if log, ok := o.to.(operators.Log); ok {
		log.Line(operators.Warn, "CommandExecutor", fmt.Sprintf(format, args...))
		return
	}
	start := "zerodag: "
	if o.inside {
		start = "\nzerodag: "
	}
	o.inside = false
	fmt.Fprintf(o.to, start+format+"\n", args...)
}

// Disk measures how much a folder has grown. The longer a measurement takes, the less often it measures.
type Disk struct {
	folder string
	limit  int64
	began  int64
	next   time.Time
}

// diskTime is the interval between measurements of a small folder, and slowDisk is the longest interval for a large
// one.
const (
	diskTime = time.Second
	slowDisk = 30 * time.Second
)

// NewDisk measures a folder before a command runs there. A limit of 0 means no limit.
func NewDisk(folder string, limit int64) *Disk {
	d := &Disk{folder: folder, limit: limit}
	if limit > 0 {
		d.began = size(folder)
	}
	return d
}

// Full reports whether the folder has grown beyond the limit, according to the last measurement. Measurements become
// less frequent if there are many files, because each takes longer.
func (d *Disk) Full() bool {
	now := time.Now()
	if d.limit == 0 || now.Before(d.next) {
		return false
	}
	full := d.FullAtEnd()
	d.next = now.Add(min(max(diskTime, 20*time.Since(now)), slowDisk))
	return full
}

// FullAtEnd measures even if the last measurement is recent: the command has ended, and everything that it wrote since
// then counts.
func (d *Disk) FullAtEnd() bool {
	return d.limit > 0 && size(d.folder)-d.began > d.limit
}

func size(folder string) (total int64) {
	filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				total += onDisk(info)
			}
		}
		return nil // files that vanish in the meantime do not count
	})
	return total
}
