package files

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/tasklog"
)

// Earlier releases kept the short logs of an attempt together in one file beside the attempt's
// folder, which is still read. Each record is shortMark, the lengths of name and content, the
// name that the file would have, and what would be in it.
const (
	shortSuffix = ".short"
	shortMark   = "zlog"
	shortHeader = len(shortMark) + 8
)

// shortText is how many bytes of text are short.
const shortText = 4 << 10

// names makes the names of short logs differ.
type names struct {
	last atomic.Int64 // nanoseconds in the newest name
}

// unique puts a time on by so little that no other name has it, whatever the clock says.
func (n *names) unique(at time.Time) time.Time {
	for {
		last := n.last.Load()
		next := max(at.UnixNano(), last+1)
		if last-at.UnixNano() > int64(time.Second) {
			return at // a clock that was set back: names differ by their seconds
		}
		if n.last.CompareAndSwap(last, next) {
			return time.Unix(0, next)
		}
	}
}

// eachShort calls f for the records of a file; what interrupted writes left of others is left
// out.
func eachShort(path string, f func(name string, content []byte) bool) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read short logs: %w", err)
	}
	for len(text) > 0 {
		if name, content, rest, whole := cutShort(text); whole {
			if !f(string(name), content) {
				return nil
			}
			text = rest
			continue
		}
		next := bytes.Index(text[1:], []byte(shortMark)) // a process was killed while it wrote this one
		if next < 0 {
			return nil
		}
		text = text[1+next:]
	}
	return nil
}

// cutShort takes the first record of a text. One behind which neither the text ends nor another
// one begins is a part of one: the lengths are not those of what follows.
func cutShort(text []byte) (name, content, rest []byte, whole bool) {
	if len(text) < shortHeader || string(text[:len(shortMark)]) != shortMark {
		return nil, nil, text, false
	}
	n := int64(binary.BigEndian.Uint32(text[len(shortMark):]))
	size := int64(binary.BigEndian.Uint32(text[len(shortMark)+4:]))
	body := text[shortHeader:]
	if n+size > int64(len(body)) {
		return nil, nil, text, false
	}
	rest = body[n+size:]
	return body[:n], body[n : n+size], rest, beginsShort(rest)
}

// beginsShort says whether a text is empty or begins like a record, behind less than the mark of
// another one perhaps.
func beginsShort(text []byte) bool {
	for part := range shortMark {
		if rest, found := bytes.CutPrefix(text, []byte(shortMark[:part])); found && strings.HasPrefix(shortMark, string(rest[:min(len(rest), len(shortMark))])) {
			return true
		}
	}
	return false
}

// listShort lists the short logs of an attempt whose names begin with prefix.
func (l *Logs) listShort(ctx context.Context, attempt int64, path, prefix string) ([]host.LogFile, error) {
	var list []host.LogFile
	add := func(name string, size int64) {
		if f, ok := tasklog.ParseName(name); ok && strings.HasPrefix(name, prefix) {
			f.Size = size
			list = append(list, f)
		}
	}
	err := eachShort(path, func(name string, content []byte) bool {
		add(name, int64(len(content)))
		return true
	})
	if err == nil && l.short != nil {
		err = l.short.LogSizes(ctx, attempt, prefix, add)
	}
	return list, err
}

// openShort opens one of them.
func (l *Logs) openShort(ctx context.Context, attempt int64, path, name string) (io.ReadCloser, int64, error) {
	var found []byte
	err := eachShort(path, func(n string, content []byte) bool {
		if n == name {
			found = content
		}
		return found == nil
	})
	if err == nil && found == nil {
		err = host.ErrNotFound
		if l.short != nil {
			found, err = l.short.LogContent(ctx, attempt, name)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open log %q: %w", name, err)
	}
	return io.NopCloser(bytes.NewReader(found)), int64(len(found)), nil
}
