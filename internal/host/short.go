package host

import "zerodag/events"

// ShortLogs is what a Log is, too, that keeps short logs of tasks with the entries of their
// results. What is kept here waits for the next entry that this process appends.
type ShortLogs interface {
	// KeepShort keeps the log of a run, gzip, for the next entry of the attempt. It is not durable before
	// that entry is, and neither is the result of the run.
	KeepShort(attempt int64, name string, content []byte)
	// TakeShort takes away what is kept for an attempt: another process will append.
	TakeShort(attempt int64) []events.Log
}

// shortLogs is the Log as one that keeps short logs.
func (h *Host) shortLogs() ShortLogs {
	if s, ok := h.Log.(ShortLogs); ok {
		return s
	}
	return noShortLogs{}
}

// keepShort keeps what came with results for the entry that they will be in.
func (h *Host) keepShort(attempt int64, list []events.Log) {
	for _, x := range list {
		h.shortLogs().KeepShort(attempt, x.Name, x.Content)
	}
}

// noShortLogs has none.
type noShortLogs struct{}

func (noShortLogs) KeepShort(int64, string, []byte) {}
func (noShortLogs) TakeShort(int64) []events.Log    { return nil }
