package attempts

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// position encodes how far the client has read: a time, and how much of the log files that may still grow was sent.
// Files that are older than the time and not listed were sent in full.
func (f *feed) position(at time.Time) string {
	list := []string{strconv.FormatInt(at.UnixMilli(), 10)}
	for name, p := range f.logs {
		if !p.done {
			list = append(list, url.QueryEscape(name)+"="+strconv.FormatInt(p.sent, 10))
		}
	}
	slices.Sort(list[1:])
	return strings.Join(list, "&")
}

// resume reads a position; an unreadable one counts as the beginning.
func (f *feed) resume(position string) {
	at, parts, _ := strings.Cut(position, "&")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return
	}
	f.since = time.UnixMilli(ms)
	for part := range strings.SplitSeq(parts, "&") {
		escaped, count, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(escaped)
		n, err2 := strconv.ParseInt(count, 10, 64)
		if err == nil && err2 == nil && n >= 0 {
			f.logs[name] = &logPart{sent: n}
		}
	}
}
