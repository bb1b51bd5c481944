package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zerodag/internal/host"
)

// write is a change to the database that waits for its commit.
type write struct {
	run   func(*conn) error // in the transaction; may run again after a failed commit
	after func()            // once it is committed, before any caller is answered; may be nil
	undo  func()            // instead, if it is not committed; may be nil
	power bool              // must survive a power loss
	// whole means that run returns errors only before its first change, so it needs no savepoint.
	whole bool

	// For a write that no caller waits for: a lasting one is retried when the store has refused it; an ordered one also
	// makes the writes behind it fail the first few times, because one of them may be the result that belongs to this
	// log. settled, unless nil, is called with the final outcome.
	lasting, ordered bool
	settled          func(error)
	refusals         int

	err  error
	open bool      // run was called, and neither after nor undo has been called since
	wake chan bool // true: done; false: you commit the next batch
}

// takeBack calls undo if there is something to undo. It is called before the next write of a batch runs, because failed
// changes must not be visible.
func (o *write) takeBack() {
	if o.open && o.undo != nil {
		o.undo()
	}
	o.open = false
}

// writer commits writes, batching concurrent ones. It has no goroutine: the first caller commits for all waiting
// callers, then makes the next one the leader. A lone write needs no goroutine switch.
type writer struct {
	open func() (*conn, error)
	sync host.Sync
	keep bool // the connection is the database, which is in memory

	mu      sync.Mutex
	queue   []*write
	refused []*write    // lasting ones: they are retried before the writes of each batch
	timer   *time.Timer // for writes that no caller waits for; nil while there are none
	leading bool
	closed  bool

	use   sync.Mutex // guards the following fields
	ended bool
	conn  *conn // nil after an error, until it is reopened
	full  bool  // the current value of PRAGMA synchronous
}

// batch limits how many writes share a commit, and thereby how long the last one waits.
const batch = 512

// lazily limits the delay of a write that no caller waits for, and refused is the delay after which it is retried if
// the store has refused it and no other write arrives. An ordered write that was refused mostOrdered times no longer
// delays others: it may be too large for the remaining space.
const (
	lazily      = 5 * time.Millisecond
	refused     = time.Second
	mostOrdered = 3
)

func (w *writer) do(ctx context.Context, o *write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed("write")
	}
	return w.wait(o)
}

// wait adds a write and waits until it is done. The lock must be held; wait releases it.
func (w *writer) wait(o *write) error {
	o.wake = make(chan bool, 1)
	w.queue = append(w.queue, o)
	waits := w.leading
	w.leading = true
	w.mu.Unlock()
	if waits && <-o.wake {
		return o.err
	}
	w.lead(o)
	return o.err
}

// later adds a write that no caller waits for: it is committed with the next batch, or alone if none comes. A lasting
// write refused by the store is retried with each later batch, before later writes, until the database is closed. An
// error means that it was not added.
func (w *writer) later(o *write) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed("write")
	}
	w.queue = append(w.queue, o)
	if len(w.refused) > 0 && w.timer != nil {
		w.timer.Reset(lazily) // it is set for the refused writes
	}
	w.arm(lazily)
	return nil
}

// arm schedules the commit of writes that no caller waits for. The lock must be held.
func (w *writer) arm(after time.Duration) {
	if w.timer == nil && !w.closed {
		w.timer = time.AfterFunc(after, w.tick)
	}
}

// again keeps writes that the store has refused for the next batch, without counting them against its limit: callers'
// writes behind them must be answered, whatever happens to these.
func (w *writer) again(list []*write) {
	if len(list) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(list, w.refused...)
	w.arm(refused)
}

func (w *writer) tick() {
	w.mu.Lock()
	w.timer = nil
	w.flush()
}

// flush commits writes that no caller waits for, unless they are committed already. The lock must be held; flush
// releases it.
func (w *writer) flush() {
	if len(w.queue) == 0 && len(w.refused) == 0 && !w.leading {
		w.mu.Unlock()
		return
	}
	w.wait(&write{run: func(*conn) error { return nil }, whole: true}) //nolint:errcheck // it writes nothing: failed writes get their errors
}

// catchUp waits until all earlier writes are committed.
func (w *writer) catchUp() {
	w.mu.Lock()
	w.flush()
}

// lead commits batches until own is among them, then hands over the lead.
func (w *writer) lead(own *write) {
	for done := false; !done; {
		w.mu.Lock()
		n := min(len(w.queue), batch)
		list := w.queue[:n:n]
		if len(w.refused) > 0 {
			list = append(w.refused, list...)
			w.refused = nil
		}
		w.queue = w.queue[n:]
		w.mu.Unlock()
		w.commit(list)
		for _, o := range list {
			switch {
			case o == own:
				done = true
			case o.wake != nil:
				o.wake <- true
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.queue {
		if o.wake != nil {
			o.wake <- false
			return
		}
	}
	w.leading = false
}

// commit writes a batch in one transaction. If the store fails, each write is tried alone: a failing write does not
// affect others, except that an ordered one fails those behind it. Once the store has refused a write that no caller
// waits for, no other such write is tried, because there may be many.
func (w *writer) commit(list []*write) {
	w.use.Lock()
	defer w.use.Unlock()
	err := w.transact(list)
	if err != nil && len(list) > 1 {
		w.again(w.oneByOne(list))
		return
	}
	w.again(answer(list, err))
}

// oneByOne commits each write of a batch that failed, and returns the writes to try again.
func (w *writer) oneByOne(list []*write) (again []*write) {
	var refused, blocked error // by the store: a write that no caller waits for; an ordered one
	for _, o := range list {
		one, err := []*write{o}, blocked
		if err == nil && o.wake == nil {
			err = refused
		}
		if err == nil {
			err = w.transact(one)
		}
		again = append(again, answer(one, err)...)
		if o.wake != nil || !errors.Is(o.err, host.ErrUnavailable) {
			continue
		}
		if refused = o.err; o.ordered && o.refusals < mostOrdered {
			blocked = o.err
		}
	}
	return again
}

// answer passes the outcome to each write of a batch, and returns the writes to try again.
func answer(list []*write, err error) (again []*write) {
	for _, o := range list {
		if err != nil {
			o.err = err
		}
		if o.err != nil {
			o.takeBack()
		} else if o.after != nil {
			o.after()
		}
		if o.wake == nil && o.lasting && errors.Is(o.err, host.ErrUnavailable) {
			o.refusals++
			again = append(again, o)
		} else if o.settled != nil {
			o.settled(o.err)
		}
	}
	return again
}

// transact runs a batch; after an error none of it is stored.
func (w *writer) transact(list []*write) error {
	if err := w.begin(list); err != nil {
		w.doubt()
		return err
	}
	for _, o := range list {
		if o.err = w.runOne(o, len(list) > 1 && !o.whole); o.err != nil && (ofStore(o.err) || len(list) == 1) {
			return w.rollback(list, o.err)
		}
	}
	if _, err := w.conn.Exec("COMMIT"); err != nil {
		return w.rollback(list, fmt.Errorf("commit: %w", err))
	}
	return nil
}

func (w *writer) begin(list []*write) error {
	if w.ended {
		return errClosed("write")
	}
	if w.conn == nil {
		c, err := w.open()
		if err != nil {
			return err
		}
		w.conn, w.full = c, false
	}
	full := w.sync == host.SyncAll
	for _, o := range list {
		full = full || o.power && w.sync != host.SyncNone
	}
	if full != w.full {
		pragma := "PRAGMA synchronous = NORMAL"
		if full {
			pragma = "PRAGMA synchronous = FULL"
		}
		if _, err := w.conn.Exec(pragma); err != nil {
			return err
		}
		w.full = full
	}
	_, err := w.conn.Exec("BEGIN IMMEDIATE")
	return err
}

// runOne runs one write, in a savepoint if a failure must undo only this one.
func (w *writer) runOne(o *write, savepoint bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("write: panic: %v", p)
		}
		if err != nil {
			o.takeBack()
		}
	}()
	o.open = true
	if !savepoint {
		return o.run(w.conn)
	}
	if _, err := w.conn.Exec("SAVEPOINT one"); err != nil {
		return err
	}
	if err := o.run(w.conn); err != nil {
		_, back := w.conn.Exec("ROLLBACK TO one")
		return errors.Join(err, back)
	}
	_, err = w.conn.Exec("RELEASE one")
	return err
}

// doubt closes a connection that may no longer work: the next batch opens another.
func (w *writer) doubt() {
	if w.keep || w.conn == nil {
		return
	}
	w.conn.close() //nolint:errcheck // its error does not matter: the connection is not used again
	w.conn = nil
}

// rollback ends a failed transaction and returns why it failed. A transaction that SQLite ended itself needs no
// rollback.
func (w *writer) rollback(list []*write, cause error) error {
	for _, o := range list {
		o.takeBack()
		o.err = nil
	}
	_, err := w.conn.Exec("ROLLBACK")
	if err != nil || errors.Is(cause, host.ErrUnavailable) {
		w.doubt()
	}
	return cause
}

// read lends the connection between two commits: a database in memory has no other.
func (w *writer) read(f func(*conn) error) error {
	w.use.Lock()
	defer w.use.Unlock()
	if w.conn == nil {
		return errClosed("read")
	}
	return f(w.conn)
}

// close commits the remaining writes and ends the writer.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.flush()
	w.mu.Lock()
	for _, o := range w.refused { // a last attempt
		if o.settled != nil {
			o.settled(o.err)
		}
	}
	w.refused = nil
	w.mu.Unlock()
	w.use.Lock()
	defer w.use.Unlock()
	w.ended = true
	if w.conn == nil {
		return nil
	}
	err := w.conn.close()
	w.conn = nil
	return err
}
