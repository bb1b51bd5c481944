package sqs

import (
	"sync"
	"time"
)

// leases holds the messages that this process has received and neither deleted nor released.
type leases struct {
	now func() time.Time

	mu sync.Mutex
	m  map[string]lease // by receipt
}

type lease struct {
	id    string // SQS's ID of the message
	until time.Time
}

// begin records a lease. It ends an earlier lease of the same message, and all expired leases.
func (l *leases) begin(id, receipt string, length time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = map[string]lease{}
	}
	now := l.now()
	for old, x := range l.m {
		if x.id == id || !x.until.After(now) {
			delete(l.m, old)
		}
	}
	l.m[receipt] = lease{id, now.Add(length)}
}

func (l *leases) holds(receipt string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x, ok := l.m[receipt]
	return ok && x.until.After(l.now())
}

func (l *leases) extend(receipt string, length time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x, ok := l.m[receipt]; ok {
		x.until = l.now().Add(length)
		l.m[receipt] = x
	}
}

func (l *leases) end(receipt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.m, receipt)
}
