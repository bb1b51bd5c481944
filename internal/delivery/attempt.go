package delivery

import (
	"container/list"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/replay"
)

// attempt is one attempt in memory. Its lock is held during a step and whenever the state is read. state is nil if it
// must be loaded: a cached state is correct only as long as appends succeed, even if the store has lost entries in a
// failover (host.Basis).
type attempt struct {
	id     int64
	reader *replay.Reader

	mu       sync.Mutex
	row      host.Attempt
	workflow host.Workflow
	// state is the state according to the log, or nil. Between a Step and the append of its changes, state is ahead of
	// the log; the lock is held throughout, and after a failure state is nil.
	state    *engine.State
	known    time.Time // when state was last known to agree with the log
	seq      int64     // of the last entry
	nonce    string    // of the last entry
	at       time.Time // of the last entry
	snapshot int       // bytes of the last snapshot
	since    int       // bytes of entries after it
	read     int       // bytes read from these entries
	// stops holds functions that end this process's runs of the attempt when it is killed.
	stops map[engine.Run]func()
	// logged holds runs within a step whose log was stored but whose result was not: when the step is repeated, they do
	// not write a second log.
	logged map[engine.Run]bool
	// claimed maps a message's guard to the number of the last delivery that claimed its tasks. From then on, an earlier
	// delivery neither decides anything nor deletes the message.
	claimed map[string]int
	// slotsDone records the work on pool slots that was done since the attempt was read because a message was redelivered.
	slotsDone map[string]bool

	over atomic.Bool // the row is marked as done
	// careful means that the server crashed while a task of the attempt was under way. From then on, no task runs within a
	// step: each gets a separate message, which shows that the task was under way.
	careful atomic.Bool

	watching sync.Mutex
	watchers map[chan struct{}]bool

	// holders and idle are guarded by the lock of the cache.
	holders int
	idle    *list.Element // its position among the attempts without a holder
}

// Attempts caches the attempts that this process works on or recently worked on. It is safe for concurrent use.
type Attempts struct {
	reader *replay.Reader
	shared bool

	mu    sync.Mutex
	lives map[int64]*attempt
	idle  list.List // elements are *attempt without a holder, the last used one at the end
}

// NewAttempts creates an empty cache. shared means that other processes work on the same attempts, so a caller must
// read an attempt again to see its current state.
func NewAttempts(r *replay.Reader, shared bool) *Attempts {
	return &Attempts{reader: r, shared: shared, lives: map[int64]*attempt{}}
}

// maxIdle is the maximum number of copies that are kept in addition to the copies in use.
const maxIdle = 200

// hold returns the attempt's live copy; every hold needs a drop.
func (c *Attempts) hold(id int64) *attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.lives[id]
	if a == nil {
		a = &attempt{id: id, reader: c.reader, stops: map[engine.Run]func(){}, watchers: map[chan struct{}]bool{}, logged: map[engine.Run]bool{}, claimed: map[string]int{}}
		c.lives[id] = a
	}
	if a.idle != nil {
		c.idle.Remove(a.idle)
		a.idle = nil
	}
	a.holders++
	return a
}

// drop releases a live copy. The copy of an ended attempt is not kept, because no more messages arrive for it.
func (c *Attempts) drop(a *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.holders--; a.holders > 0 {
		return
	}
	if a.over.Load() {
		delete(c.lives, a.id)
		return
	}
	a.idle = c.idle.PushBack(a)
	if c.idle.Len() > maxIdle {
		oldest := c.idle.Remove(c.idle.Front()).(*attempt)
		delete(c.lives, oldest.id)
	}
}

// Over notifies the watchers of an attempt that has ended, and keeps its live copy only as long as it is in use. It is
// called after the row is updated.
func (c *Attempts) Over(id int64) {
	a := c.hold(id)
	defer c.drop(a)
	a.over.Store(true)
	a.notify()
}

// View passes an unfinished attempt's state to f, which must not keep references to it, with the number of the last
// entry that the state includes. It returns host.ErrGone if the attempt has ended since the caller read its row.
func (c *Attempts) View(ctx context.Context, id int64, f func(s *engine.State, seq int64)) error {
	a := c.hold(id)
	defer c.drop(a)
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.shared {
		a.state = nil
	}
	if err := a.ensure(ctx); err != nil {
		return err
	}
	f(a.state, a.seq)
	return nil
}

// Watch returns a channel that receives after each step that this process makes in the attempt, and is closed when the
// attempt or ctx ends.
func (c *Attempts) Watch(ctx context.Context, row host.Attempt) <-chan struct{} {
	steps, out := make(chan struct{}, 1), make(chan struct{})
	a := c.hold(row.ID)
	a.watching.Lock()
	a.watchers[steps] = true
	a.watching.Unlock()
	over := row.Done || a.over.Load()
	if !over { // it may have ended between the caller's check and now
		now, err := c.reader.Attempts.Attempt(ctx, host.AnySite, row.ID)
		over = err == nil && now.Done
	}
	go func() {
		defer close(out)
		defer c.drop(a)
		for !over {
			select {
			case <-steps:
				over = a.over.Load()
				select {
				case out <- struct{}{}:
				case <-ctx.Done():
					over = true
				}
			case <-ctx.Done():
				over = true
			}
		}
		a.watching.Lock()
		defer a.watching.Unlock()
		delete(a.watchers, steps)
	}()
	return out
}

// notify wakes the attempt's watchers.
func (a *attempt) notify() {
	a.watching.Lock()
	defer a.watching.Unlock()
	for w := range a.watchers {
		select {
		case w <- struct{}{}:
		default: // it has not processed the previous change yet
		}
	}
}

// load reads the attempt from its log, and returns the part of the log that it read. The lock is held.
func (a *attempt) load(ctx context.Context) (host.Stored, error) {
	l, err := a.reader.Load(ctx, a.id)
	if err != nil {
		return host.Stored{}, err
	}
	a.row, a.workflow, a.state = l.Row, l.Workflow, l.State
	a.seq, a.nonce, a.at, a.snapshot, a.since, a.read = l.Seq, l.Nonce, l.At, l.Snapshot, l.Since, l.Since
	return l.Stored, nil
}

// ensure loads the attempt unless its state is known. The lock is held.
func (a *attempt) ensure(ctx context.Context) error {
	if a.state != nil {
		return nil
	}
	_, err := a.load(ctx)
	return err
}

// forget makes the next step read the attempt again, so that it sees changes by other processes.
func (a *attempt) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state, a.slotsDone = nil, nil
}

// halt ends all runs of the attempt in this process. The lock is held.
func (a *attempt) halt() {
	for _, stop := range a.stops {
		stop()
	}
}

// haltFlagged stops the attempt's runs in this process whose tasks must end according to the log. The lock is held.
func (a *attempt) haltFlagged() {
	for run, stop := range a.stops {
		if t := a.state.Task(run.Task); t != nil && t.Cancel {
			stop()
		}
	}
}

// clock returns the time of the next entry, which never goes back within a log. The lock is held.
func (a *attempt) clock(now time.Time) time.Time {
	if now.After(a.at) {
		return now
	}
	return a.at
}

// current returns a function that reports whether the task of a run waits for that run.
func current(s *engine.State) func(engine.Run) bool {
	return func(r engine.Run) bool {
		t := s.Task(r.Task)
		return !s.Ended() && t != nil && t.State == engine.Running && t.Dispatch == r.Dispatch
	}
}

// register records that a delivery is working on what its message owes, or is about to delete the message. It returns
// false if a later delivery is working on the message, or another one is about to delete it.
func (a *attempt) register(guard string, count, as int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.claimed[guard] > count {
		return false
	}
	a.claimed[guard] = as
	return true
}

func (a *attempt) unregister(guard string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.claimed, guard)
}

// superseded returns an error if a message whose run was taken over by another message still owes work: another
// delivery of it is doing that work. Deleting the message would lose the work if that process ends. The message may
// also owe a fenced run. The lock is held.
func (a *attempt) superseded(guard string) error {
	if a.state.Ended() || len(a.state.Outstanding(guard)) == 0 && !a.fences() {
		return nil
	}
	return errSuperseded
}

// fences reports whether a run of the attempt is fenced. The lock is held.
func (a *attempt) fences() bool {
	return slices.ContainsFunc(a.state.Tasks(), func(t *engine.Task) bool { return t.State == engine.Running && fenced(t) })
}

// deleting is greater than the number of any delivery.
const deleting = math.MaxInt

// errSuperseded means that another delivery of the same message continues the work. This delivery does not touch the
// message: the other delivery deletes it, or it is delivered again.
var errSuperseded = errors.New("the work continues elsewhere")
