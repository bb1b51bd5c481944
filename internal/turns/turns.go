// Package turns shares a few places among many callers, so that none of them can keep the others waiting: a caller that
// uses no place gets the next free place, and the other callers take turns.
//
// Servers use it for work whose cost a caller determines: expressions and checks of files by site, costly reads by
// user. It must never depend on the work that is done at a place.
package turns

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Places holds places that callers share, each identified by a key. It is safe for concurrent use.
type Places struct {
	all, each, spare int

	mu      sync.Mutex
	taken   int
	callers map[string]*caller
	order   []*caller // waiting callers, the next one first
	recent  [2]visit  // the last visits of two different callers, newest first
	wake    *time.Timer
}

// visit records when a caller last requested a place.
type visit struct {
	key string
	at  time.Time
}

// caller exists while a call with its key waits or has a place, or while the caller is kept waiting.
type caller struct {
	key     string
	taken   int
	waiting []chan struct{} // in order of arrival; a closed channel has its place
	until   time.Time       // no place before this time
	pause   time.Duration   // the length of the last pause
}

// New returns `all` places, of which one caller can have `each`; 0 means all places. While they are taken, up to
// `spare` more go to callers without a place, one each.
func New(all, each, spare int) *Places {
	if each <= 0 {
		each = all
	}
	return &Places{all: all, each: each, spare: spare, callers: map[string]*caller{}}
}

// Take waits for a place and returns a function that gives it back, and that must be called once. The error is the
// cause with which ctx ended.
func (p *Places) Take(ctx context.Context, key string) (leave func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	c := p.caller(key)
	p.visited(key)
	turn := make(chan struct{})
	if c.waiting = append(c.waiting, turn); len(c.waiting) == 1 {
		p.order = append(p.order, c)
	}
	p.give()
	p.mu.Unlock()
	select {
	case <-turn:
		return sync.OnceFunc(func() { p.leave(c) }), nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-turn: // the caller got its place in the meantime
		p.left(c)
	default:
		c.waiting = slices.DeleteFunc(c.waiting, func(w chan struct{}) bool { return w == turn })
		if len(c.waiting) == 0 {
			p.order = slices.DeleteFunc(p.order, func(other *caller) bool { return other == c })
		}
		p.forget(c)
	}
	return nil, context.Cause(ctx)
}

// visited records which caller requests a place.
func (p *Places) visited(key string) {
	if p.recent[0].key != key {
		p.recent[1] = p.recent[0]
	}
	p.recent[0] = visit{key, time.Now()}
}

// alone returns the time at which a caller will have had the places to itself long enough, unless others request one
// before then.
func (p *Places) alone(c *caller) (since time.Time) {
	for _, v := range p.recent {
		if v.key != c.key && !v.at.IsZero() && v.at.After(since) {
			since = v.at
		}
	}
	if since.IsZero() {
		return since
	}
	return since.Add(company)
}

// The pauses of a caller whose work had to be ended, and how long they apply after a visit by another caller.
const (
	firstPause = time.Second
	mostPause  = 30 * time.Second
	company    = 10 * time.Second
)

// Delay makes a caller whose work had to be ended wait before its next place while others request places, twice as long
// each time. Calls within a pause count once.
func (p *Places) Delay(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, now := p.caller(key), time.Now()
	if now.Before(c.until) {
		return
	}
	if now.Sub(c.until) > 2*mostPause { // long ago, or never
		c.pause = 0
	}
	c.pause = min(max(2*c.pause, firstPause), mostPause)
	c.until = now.Add(c.pause)
	p.give()
}

func (p *Places) caller(key string) *caller {
	c := p.callers[key]
	if c == nil {
		c = &caller{key: key}
		p.callers[key] = c
	}
	return c
}

func (p *Places) leave(c *caller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left(c)
}

// left frees a place and gives it to the next caller.
func (p *Places) left(c *caller) {
	p.taken--
	c.taken--
	p.forget(c)
	p.give()
}

// forget drops a caller about which nothing needs to be remembered.
func (p *Places) forget(c *caller) {
	if len(c.waiting) == 0 && c.taken == 0 && time.Since(c.until) > 2*mostPause {
		delete(p.callers, c.key)
	}
}

// room reports whether there is a place for a caller.
func (p *Places) room(c *caller) bool {
	return p.taken < p.all && c.taken < p.each || c.taken == 0 && p.taken < p.all+p.spare
}

// free returns the time until which a caller gets no place.
func (p *Places) free(c *caller) time.Time {
	if alone := p.alone(c); alone.Before(c.until) {
		return alone
	}
	return c.until
}

// give hands out places as long as any waiting caller can take one.
func (p *Places) give() {
	var wake time.Time
	for i := 0; i >= 0; {
		if i, wake = p.next(); i >= 0 {
			p.serve(i)
		}
	}
	if p.wake != nil {
		p.wake.Stop()
		p.wake = nil
	}
	if !wake.IsZero() {
		p.wake = time.AfterFunc(time.Until(wake), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.give()
		})
	}
}

// next returns the position in the line of the first caller that can take a place, or -1 and the time when the next
// pause ends (zero if no waiting caller has a pause).
func (p *Places) next() (i int, wake time.Time) {
	now := time.Now()
	for i, c := range p.order {
		switch free := p.free(c); {
		case !now.Before(free) && p.room(c):
			return i, time.Time{}
		case now.Before(free) && (wake.IsZero() || free.Before(wake)):
			wake = free
		}
	}
	return -1, wake
}

// serve gives a place to the caller at a position in the line, which moves behind the others if it waits for more.
func (p *Places) serve(i int) {
	c := p.order[i]
	p.taken++
	c.taken++
	close(c.waiting[0])
	c.waiting = c.waiting[1:]
	p.order = slices.Delete(p.order, i, i+1)
	if len(c.waiting) > 0 {
		p.order = append(p.order, c)
	}
}
