package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/tasklog"
)

// Short logs of an attempt lie together in one file beside the attempt's folder: to make a
// file for two lines costs many times what the task did, and thousands of tiny files wear
// out a file system. Each record is shortMark, the lengths of name and content, the name
// that the file would have, and what would be in it.
const (
	shortSuffix = ".short"
	shortMark   = "zlog"
	shortHeader = len(shortMark) + 8
	shortText   = 4 << 10 // bytes of text that are short
)

// shortLogs serializes appends to one file: half a record of a full disk must go before
// the next one comes.
type shortLogs struct {
	locks [16]sync.Mutex
	last  atomic.Int64 // nanoseconds in the newest name
}

// unique puts a time on by so little that no other name has it, whatever the clock says.
func (s *shortLogs) unique(at time.Time) time.Time {
	for {
		last := s.last.Load()
		next := max(at.UnixNano(), last+1)
		if last-at.UnixNano() > int64(time.Second) {
			return at // a clock that was set back: names differ by their seconds
		}
		if s.last.CompareAndSwap(last, next) {
			return time.Unix(0, next)
		}
	}
}

func (s *shortLogs) add(path, name string, content []byte) error {
	lock := &s.locks[int(path[len(path)-len(shortSuffix)-1])%len(s.locks)]
	lock.Lock()
	defer lock.Unlock()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, privateFile)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), privateFolder); err != nil {
			return err
		}
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, privateFile)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	record := make([]byte, 0, shortHeader+len(name)+len(content))
	record = append(record, shortMark...)
	record = binary.BigEndian.AppendUint32(record, uint32(len(name)))
	record = binary.BigEndian.AppendUint32(record, uint32(len(content)))
	record = append(append(record, name...), content...)
	n, err := f.Write(record)
	if err != nil && n > 0 {
		if info, e := f.Stat(); e == nil {
			err = errors.Join(err, f.Truncate(info.Size()-int64(n)))
		}
	}
	return err
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

// listShort lists those of a file whose names begin with prefix.
func listShort(path, prefix string) ([]host.LogFile, error) {
	var list []host.LogFile
	err := eachShort(path, func(name string, content []byte) bool {
		if f, ok := tasklog.ParseName(name); ok && strings.HasPrefix(name, prefix) {
			f.Size = int64(len(content))
			list = append(list, f)
		}
		return true
	})
	return list, err
}

// openShort opens one of them.
func openShort(path, name string) (io.ReadCloser, int64, error) {
	var found []byte
	err := eachShort(path, func(n string, content []byte) bool {
		if n == name {
			found = content
		}
		return found == nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("open log %q: %w", name, host.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(found)), int64(len(found)), err
}
