package files

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/tasklog"
)

// shortText is the maximum size of a short log's text in bytes.
const shortText = 4 << 10

// names makes the names of short logs unique.
type names struct {
	last atomic.Int64 // nanoseconds in the newest name
}

// unique returns the time, increased by as little as necessary so that no other name contains it, no matter what the
// clock shows.
func (n *names) unique(at time.Time) time.Time {
	for {
		last := n.last.Load()
		next := max(at.UnixNano(), last+1)
		if last-at.UnixNano() > int64(time.Second) {
			return at // the clock was set back: names differ by their seconds
		}
		if n.last.CompareAndSwap(last, next) {
			return time.Unix(0, next)
		}
	}
}

// listShort lists an attempt's short logs whose names begin with prefix.
func (l *Logs) listShort(ctx context.Context, attempt int64, prefix string) (list []host.LogFile, err error) {
	if l.short == nil {
		return nil, nil
	}
	err = l.short.LogSizes(ctx, attempt, prefix, func(name string, size int64) {
		if f, ok := tasklog.ParseName(name); ok && strings.HasPrefix(name, prefix) {
			f.Size = size
			list = append(list, f)
		}
	})
	return list, err
}

// openShort opens a short log.
func (l *Logs) openShort(ctx context.Context, attempt int64, name string) (io.ReadCloser, int64, error) {
	var content []byte
	err := host.ErrNotFound
	if l.short != nil {
		content, err = l.short.LogContent(ctx, attempt, name)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open log %q: %w", name, err)
	}
	return io.NopCloser(bytes.NewReader(content)), int64(len(content)), nil
}
