package delivery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/retry"
	"zerodag/operators"
)

const (
	// steady is the age at which a process starts to begin runs that may have crashed another process: if the process
	// dies earlier, its death does not count against any of these runs.
	steady = time.Second
	// apart is the interval between the starts of such runs, so that few runs are marked without having reached their
	// commands when the process ends.
	apart = 50 * time.Millisecond
	// noted is the age at which a run is marked as begun: its command has started by then, and a short run costs no
	// write.
	noted = 200 * time.Millisecond
	// mostStarting is how many times in a row a process may end while it starts a run before this counts against the run.
	// In most cases it is a coincidence.
	mostStarting = 3
	// killSeen is the interval at which the log is checked for a kill that was acknowledged.
	killSeen = 10 * time.Millisecond
)

// mark records that a run begins. If the attempt was killed in the meantime, the run does not begin, and the error is
// operators.ErrEnded. The caller calls over when the run has ended.
func (d *delivery) mark(ctx context.Context, j *job, run engine.Run) (over func(), err error) {
	q, marks := d.Tasks.(host.Marker)
	if !marks {
		return func() {}, nil
	}
	var killed bool
	if d.message.Count > 1 || d.attempt.careful.Load() {
		killed, over, err = d.markFirst(ctx, q, run, j.known)
	} else {
		killed, over, err = d.markSoon(ctx, q, run, j.known)
	}
	err = orSuperseded(err)
	if errors.Is(err, host.ErrConflict) {
		d.attempt.forget()
		err = fmt.Errorf("the database has lost the entry that dispatched the run of attempt %d, as after a failover: %w", d.attempt.id, err)
	}
	if err == nil && killed && !j.Cancel {
		err = d.afterKill(ctx, run)
	}
	if err != nil {
		over()
	}
	return over, err
}

// markFirst handles a run that may have crashed another process. It writes a note even before the run begins, because
// the run may crash this process within its first millisecond. If the last process died at that point, the run begins
// one second later than in that process, so that if the server is repeatedly killed at the same age, this hits the run
// only once.
func (d *delivery) markFirst(ctx context.Context, q host.Marker, run engine.Run, known host.Entry) (killed bool, over func(), err error) {
	_, times := parseBegun(d.message.Begun)
	if err := retry.Sleep(ctx, steady*time.Duration(1+times)-time.Since(d.born)); err != nil {
		return false, func() {}, err
	}
	select {
	case d.pace <- struct{}{}:
	case <-ctx.Done():
		return false, func() {}, context.Cause(ctx)
	}
	next := sync.OnceFunc(func() { <-d.pace })
	err = d.Retry.Do(ctx, "record that a run begins", func() (err error) {
		killed, err = q.Begin(ctx, d.message, starting(run, min(times, mostStarting)+1), known)
		return err
	})
	time.AfterFunc(apart, next)
	stop := d.noteLater(ctx, q, run)
	return killed, func() { next(); stop() }, err
}

// noteLater records that a run has begun once it has run for a while, unless the returned function is called earlier.
func (d *delivery) noteLater(ctx context.Context, q host.Marker, run engine.Run) (stop func()) {
	timer := time.AfterFunc(noted, func() {
		if _, err := q.Begin(ctx, d.message, host.RunName(run), host.Entry{}); err != nil && ctx.Err() == nil {
			d.Logger.Warn("a run could not be recorded: a server crash will not count against it", "message", d.message.ID, "error", err)
		}
	})
	return func() { timer.Stop() }
}

// startingMark separates the name of a run that is being started from the number of consecutive starts in a note.
const startingMark = "?"

func starting(run engine.Run, times int) string {
	return host.RunName(run) + startingMark + strconv.Itoa(times)
}

// parseBegun reads the last note about a message: a run's name, and how many times in a row it was being started; 0
// means that it had begun.
func parseBegun(note string) (run string, times int) {
	run, text, _ := strings.Cut(note, startingMark)
	times, err := strconv.Atoi(text)
	if err != nil || times < 0 {
		return run, 0
	}
	return run, times
}

// markSoon records a run that is executed for the first time, once it has lasted for a while.
func (d *delivery) markSoon(ctx context.Context, q host.Marker, run engine.Run, known host.Entry) (killed bool, over func(), err error) {
	err = d.Retry.Do(ctx, "look for a kill", func() (err error) {
		killed, err = q.Begin(ctx, d.message, "", known)
		return err
	})
	if err != nil {
		return false, func() {}, fmt.Errorf("look for a kill of attempt %d: %w", d.attempt.id, err)
	}
	return killed, d.noteLater(ctx, q, run), nil
}

// afterKill waits until an acknowledged kill is in the log. It returns nil if the kill spares the run, else
// operators.ErrEnded.
func (d *delivery) afterKill(ctx context.Context, run engine.Run) error {
	for a := d.attempt; ; {
		spared, known, err := a.sparedBy(ctx, run)
		switch {
		case err != nil:
			return fmt.Errorf("look for the kill of attempt %d: %w", a.id, err)
		case known && !spared:
			return operators.ErrEnded
		case known:
			return nil
		}
		if err := retry.Sleep(ctx, killSeen); err != nil {
			return err
		}
	}
}

// sparedBy reports whether a kill spares a run, and whether the kill is known, which means that it is in the log.
func (a *attempt) sparedBy(ctx context.Context, run engine.Run) (spared, known bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == nil || !a.state.Canceled() {
		if _, err := a.load(ctx); err != nil {
			a.state = nil
			return false, errors.Is(err, host.ErrGone), ignore(err, host.ErrGone)
		}
	}
	t := a.state.Task(run.Task)
	return current(a.state)(run) && !t.Cancel, a.state.Canceled() || a.state.Ended(), nil
}

// ignore returns err unless it is expected.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
