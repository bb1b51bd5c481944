//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// runner is this machine.
type runner struct {
	settings
	api      *api
	archives *archives
	users    *users
	carryOut func(context.Context, order) result // execute

	wake    chan struct{} // a command has ended: poll at once
	mu      sync.Mutex
	running map[string]context.CancelCauseFunc // by key
	active  time.Time                          // when something last happened
}

// Reasons why a command is ended: by request, or because the runner ends.
var (
	errKilled = errors.New("killed")
	errEnds   = errors.New("the runner is stopping")
)

func newRunner(env func(string) string) (*runner, error) {
	hide()
	s, err := readSettings(env)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"ZERODAG_URL", "ZERODAG_TICKET", "ZERODAG_SLOTS", "ZERODAG_WORK", "ZERODAG_IMAGE", "ZERODAG_MACHINE", "ZERODAG_GRACE"} {
		os.Unsetenv(name)
	}
	u := newUsers()
	if !u.separate {
		s.slots = 1 // commands of one user are not isolated from each other
	}
	a := newAPI(s)
	r := &runner{settings: s, api: a, archives: newArchives(a, s.work), users: u, wake: make(chan struct{}, 1), running: map[string]context.CancelCauseFunc{}, active: time.Now()}
	r.carryOut = r.execute
	return r, nil
}

// run polls until the server dismisses the runner, or the runner is asked to end or gets no response for too long.
func (r *runner) run(ctx context.Context) error {
	defer r.archives.remove()
	fmt.Printf("runner %s: up to %d commands at a time, each under a separate user: %v\n", version, r.slots, r.users.separate)
	if err := r.api.join(ctx); errors.Is(err, errOver) || ctx.Err() != nil {
		fmt.Println("runner: no longer needed")
		return nil
	} else if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	work, stop := context.WithCancelCause(context.Background())
	var commands sync.WaitGroup
	err := r.poll(ctx, func(o order) { r.begin(work, &commands, o) })
	stop(errEnds)
	commands.Wait()
	return err
}

// lostTime is how long the runner keeps requesting a failed poll's orders again: the poll may have claimed commands
// that no other runner would begin.
const lostTime = 45 * time.Second

// poll requests orders and executes them until there is no more work. Any response other than an order or the end
// counts as missing: the gateway is throttling, or the API is down.
func (r *runner) poll(ctx context.Context, begin func(order)) error {
	heard, failed := time.Now(), time.Time{}
	for try := 0; ; {
		var o orders
		b := r.beat()
		b.Lost = time.Since(failed) < lostTime
		err := r.api.call(ctx, "poll", b, &o)
		switch {
		case ctx.Err() != nil:
			fmt.Println("runner: asked to end")
			return nil //nolint:nilerr // the call failed for the same reason
		case errors.Is(err, errOver):
			fmt.Println("runner: results of this runner no longer count")
			return nil
		case err != nil && time.Since(heard) > deafTime:
			return fmt.Errorf("no response for %v, the commands will run elsewhere: %w", deafTime, err)
		case err != nil:
			if try == 0 {
				fmt.Fprintln(os.Stderr, "runner:", err)
			}
			failed = time.Now()
			sleep(ctx, backOff(try))
			try++
			continue
		case o.Leave:
			fmt.Println("runner: nothing to do")
			return nil
		}
		if try > 0 {
			fmt.Printf("runner: connected again after %v\n", time.Since(heard).Round(time.Second))
		}
		heard, try = time.Now(), 0
		for _, key := range o.Kill {
			r.kill(key)
		}
		for _, c := range o.Commands {
			begin(c)
		}
		r.rest(ctx, time.Duration(o.Wait)*time.Millisecond)
	}
}

// rest waits for the next poll; the end of a command triggers a poll at once.
func (r *runner) rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.wake:
	case <-ctx.Done():
	}
}

func (r *runner) beat() beat {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := beat{Free: r.slots - len(r.running), Running: []string{}, Idle: time.Since(r.active).Milliseconds()}
	for key := range r.running {
		b.Running = append(b.Running, key)
	}
	slices.Sort(b.Running)
	return b
}

// begin starts a command concurrently with the others.
func (r *runner) begin(ctx context.Context, all *sync.WaitGroup, o order) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	r.running[o.Key] = cancel
	r.active = time.Now()
	r.mu.Unlock()
	all.Go(func() {
		defer cancel(nil)
		res := r.carryOut(ctx, o)
		if !errors.Is(context.Cause(ctx), errEnds) {
			r.finish(ctx, o.Key, res)
		}
		r.mu.Lock()
		delete(r.running, o.Key)
		r.active = time.Now()
		r.mu.Unlock()
		select {
		case r.wake <- struct{}{}:
		default:
		}
	})
}

// finish reports how a command ended, or that none of its processes is running anymore after it was killed: the sender
// of the kill waits a while for that. If the end cannot be reported before the runner gives up, the command runs again
// elsewhere.
func (r *runner) finish(ctx context.Context, key string, res result) {
	if errors.Is(context.Cause(ctx), errKilled) {
		var cancel context.CancelFunc
		ctx, cancel = lasting(ctx)
		defer cancel()
	}
	err := r.api.insist(ctx, func() error { return r.api.call(ctx, "finish", finished{key, res}, nil) })
	if err != nil && !errors.Is(err, errOver) {
		fmt.Fprintf(os.Stderr, "runner: the result of command %s could not be reported: %v\n", key, err)
	}
}

func (r *runner) kill(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.running[key]; cancel != nil {
		cancel(errKilled)
	}
}
