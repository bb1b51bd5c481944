package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/internal/host"
)

// ErrGone is the response to a runner that must stop, or about a command that it must stop.
var ErrGone = errors.New("this is over")

// Beat is a runner's report at every poll.
type Beat struct {
	Free    int      `json:"free"`    // commands that it could take
	Running []string `json:"running"` // keys of the commands it has
	Idle    int64    `json:"idle_ms"` // since its last activity
	Lost    bool     `json:"lost"`    // a response was lost recently: its commands, received or not, are not in Running
}

// Orders is the response.
type Orders struct {
	Commands []Order  `json:"commands,omitempty"`
	Kill     []string `json:"kill,omitempty"` // keys
	Wait     int64    `json:"wait_ms"`        // until the next poll
	Leave    bool     `json:"leave,omitempty"`
}

// Order is a command with everything that it needs.
type Order struct {
	Key     string `json:"key"`
	Spec    Spec   `json:"spec"`
	Archive string `json:"archive_url"`
	// Log is the link for the first part of its log, which began at Began: nanoseconds since 1970. A later link for that
	// part leads to the same object.
	Log   string   `json:"log_url,omitempty"`
	Began int64    `json:"log_began_ns,omitempty"`
	Mask  []string `json:"mask,omitempty"` // to mask in its log
}

// runner checks a pass, first without the store.
func (s *Service) runner(ctx context.Context, pass string) (Runner, error) {
	t, err := s.shown(ctx, pass)
	if err != nil {
		return Runner{}, err
	}
	if t.kind == ticketKind {
		return Runner{}, ErrGone
	}
	r, err := s.Runners.Runner(ctx, t.name)
	if errors.Is(err, host.ErrNotFound) || err == nil && (r.Fenced || !r.accepts(t.secret)) {
		return r, ErrGone
	}
	return r, err
}

// toKill returns the running commands that have ended or belong to another runner.
func (s *Service) toKill(ctx context.Context, r Runner, running []string) (list []string, err error) {
	name := r.Name()
	for _, key := range running {
		c, err := s.Commands.Command(ctx, r.Attempt, key)
		if errors.Is(err, host.ErrNotFound) || err == nil && (c.State == Over || c.Runner != name) {
			list = append(list, key)
		} else if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Poll handles a runner's sign of life and its request for commands.
func (s *Service) Poll(ctx context.Context, pass string, b Beat) (Orders, error) {
	r, err := s.runner(ctx, pass)
	if err == nil {
		r, err = s.seen(ctx, r, len(b.Running))
	}
	if err != nil {
		return Orders{}, err
	}
	o := Orders{Wait: waitFor(b)}
	if o.Kill, err = s.toKill(ctx, r, b.Running); err != nil {
		return Orders{}, err
	}
	if b.Lost {
		if o.Commands, err = s.handOver(ctx, r, b); err != nil {
			return o, err
		}
	}
	free := b.Free - len(o.Commands)
	if s.aged(r) {
		free = 0
	}
	more, err := s.claim(ctx, r, free)
	if o.Commands = append(o.Commands, more...); err != nil {
		return o, err
	}
	if len(o.Commands) > 0 {
		o.Wait = 0
	} else if len(b.Running) == 0 && !b.Lost { // a poll that it gave up may still claim
		o.Leave, err = s.leave(ctx, r, time.Duration(b.Idle)*time.Millisecond)
	}
	return o, err
}

// seen records that a runner polled, and its load, if that has changed.
func (s *Service) seen(ctx context.Context, r Runner, load int) (Runner, error) {
	now := s.Now()
	if r.Load == load && now.Sub(r.Seen) < seenTime {
		return r, nil
	}
	r, err := s.Liveness.Beat(ctx, r.Name(), now, load)
	if errors.Is(err, host.ErrNotFound) {
		err = ErrGone
	}
	return r, err
}

// handOver sends again the commands that a runner has claimed but not received.
func (s *Service) handOver(ctx context.Context, r Runner, b Beat) ([]Order, error) {
	claimed, err := s.Work.Claimed(ctx, r.Attempt, r.Name())
	if err != nil {
		return nil, err
	}
	claimed = slices.DeleteFunc(claimed, func(c Command) bool { return slices.Contains(b.Running, c.Key) })
	return s.take(ctx, r, claimed, len(claimed))
}

// leave releases a runner that is no longer needed. Its row stays until its machine has ended: the caller may be an
// impostor that read the ticket, and the real machine may not have come up yet.
func (s *Service) leave(ctx context.Context, r Runner, idle time.Duration) (bool, error) {
	if idle < pauseTime {
		return false, nil
	}
	if idle < r.Of.idle() && !s.aged(r) {
		if a, err := s.Attempt(ctx, r.Site, r.Attempt); err != nil || !a.Done {
			return false, err
		}
	}
	err := s.Liveness.Leave(ctx, r.Name(), r.Asked)
	switch {
	case errors.Is(err, host.ErrConflict):
		return false, nil // a command has arrived meanwhile
	case errors.Is(err, host.ErrNotFound):
		return false, ErrGone
	case err == nil && !r.Of.endsItself():
		if e := s.Launcher.Stop(ctx, r, "it is idle"); e != nil { // the next Check repeats it
			s.Logger.Warn("could not end the machine of a runner that has left; the next check tries again", "runner", r.Name(), "error", e)
		}
	}
	return err == nil, err
}

// waitFor returns how long a runner waits until its next poll, in milliseconds: a short time while commands are likely
// to arrive, and a third more each time.
func waitFor(b Beat) int64 {
	most := int64(10_000)
	switch {
	case b.Free == 0:
		return most
	case len(b.Running) == 0: // it will soon leave or get a command
		most = 4_000
	}
	return min(max(b.Idle/3, 20), most)
}

// claim takes commands for a runner. A claimed command that cannot be handed over is lost: an agent runs it again.
func (s *Service) claim(ctx context.Context, r Runner, n int) ([]Order, error) {
	if n <= 0 {
		return nil, nil
	}
	waiting, err := s.Work.Waiting(ctx, r.Attempt, r.Class, n*MaxRunners)
	if err != nil {
		return nil, err
	}
	// Concurrent runners begin at different places: if two runners want the same command, one of them makes a call in
	// vain.
	if first := r.Slot * n; first < len(waiting) {
		waiting = slices.Concat(waiting[first:], waiting[:first])
	}
	return s.take(ctx, r, waiting, n)
}

// take claims up to n of the commands and completes them.
func (s *Service) take(ctx context.Context, r Runner, commands []Command, n int) ([]Order, error) {
	var list []Order
	for _, w := range commands {
		if len(list) == n {
			break
		}
		c, err := s.Work.Claim(ctx, r.Attempt, w.Key, r.Name())
		if errors.Is(err, host.ErrConflict) || errors.Is(err, host.ErrNotFound) {
			continue
		}
		if err != nil {
			return list, err
		}
		o, err := s.order(ctx, r, c)
		if errors.Is(err, host.ErrUnavailable) || ctx.Err() != nil {
			return list, err // it stays claimed: the runner requests the missing commands
		}
		if err != nil {
			over, e := s.Commands.End(ctx, c.Attempt, c.Key, r.Name(), Result{Why: "The command could not be sent to its machine: " + err.Error()})
			if e == nil {
				e = s.wake(ctx, over)
			}
			if e != nil {
				return list, errors.Join(err, e)
			}
			continue
		}
		list = append(list, o)
	}
	return list, nil
}

// order returns a command with everything that its runner needs.
func (s *Service) order(ctx context.Context, r Runner, c Command) (Order, error) {
	spec, err := parseSpec(c.Spec)
	if err != nil {
		return Order{}, err
	}
	o := Order{Key: c.Key, Spec: spec}
	if len(spec.Secrets) > 0 {
		secrets, err := s.Secrets(ctx, c.Site, c.Project)
		if err != nil {
			return o, err
		}
		if o.Spec, err = spec.open(secrets); err != nil {
			return o, err
		}
		for _, x := range spec.Secrets {
			o.Mask = append(o.Mask, secrets[x.Key])
		}
		o.Spec.Secrets = nil
	}
	if o.Archive, err = s.Links.Blob(ctx, spec.Archive); err != nil {
		return o, err
	}
	now := s.Now()
	o.Began = now.UnixNano()
	o.Log, err = s.Links.Log(ctx, spec.LogID, r.ID, now)
	return o, err
}

// Finish records how a command ended, as its runner reports. It returns ErrGone if that no longer counts.
func (s *Service) Finish(ctx context.Context, pass, key string, result Result) error {
	r, err := s.runner(ctx, pass)
	if err != nil {
		return err
	}
	result.Lost, result.Stopped, result.Log = false, false, nil // a runner must not set these
	for name, blob := range result.Blobs {
		if blob != outputKey(r, key, name) {
			return fmt.Errorf("%w: %s is not an output of this command", ErrGone, blob)
		}
	}
	c, err := s.Commands.End(ctx, r.Attempt, key, r.Name(), result)
	if errors.Is(err, host.ErrConflict) || errors.Is(err, host.ErrNotFound) {
		if c, err = s.Commands.Command(ctx, r.Attempt, key); err != nil || c.Runner != r.Name() || c.State != Over || c.Result.Lost {
			return errors.Join(ErrGone, err)
		}
		if c.Result.Stopped { // the result no longer counts, but the caller that stopped it waits until none of its processes run
			return s.Work.Ended(ctx, r.Attempt, key, r.Name())
		} // otherwise wake again: the response or the wake may have been lost
	} else if err != nil {
		return err
	}
	return s.wake(ctx, c)
}

// Upload describes a file that a runner wants to store.
type Upload struct {
	Kind  string `json:"kind"`           // "log" or "output"
	Name  string `json:"name,omitempty"` // of the output
	Size  int64  `json:"size,omitempty"`
	Began int64  `json:"began_ns,omitempty"` // the time of the log part: nanoseconds since 1970
}

// URL returns a link with which a runner stores a part of its command's log or an output file, and the object's key.
func (s *Service) URL(ctx context.Context, pass, key string, p Upload) (url, blob string, err error) {
	r, err := s.runner(ctx, pass)
	if err != nil {
		return "", "", err
	}
	c, err := s.Commands.Command(ctx, r.Attempt, key)
	if errors.Is(err, host.ErrNotFound) || err == nil && c.Runner != r.Name() {
		return "", "", ErrGone
	} else if err != nil {
		return "", "", err
	}
	switch p.Kind {
	case "log": // also of a command that has ended, for example because it was killed
		url, err = s.Links.Log(ctx, LogID{Site: c.Site, Attempt: c.Attempt, Task: c.Task}, r.ID, time.Unix(0, p.Began).UTC())
		return url, "", err
	case "output":
		if p.Size < 0 || p.Size > MaxOutput || c.State == Over {
			return "", "", ErrGone
		}
		blob = outputKey(r, key, p.Name)
		url, err = s.Links.Output(ctx, blob, p.Size)
		return url, blob, err
	}
	return "", "", fmt.Errorf("%w: unknown kind of place %q", ErrGone, p.Kind)
}

// outputKey returns a key below the attempt's keys, which expires with them.
func outputKey(r Runner, key, name string) string {
	clean := strings.Map(func(c rune) rune {
		if slices.Contains([]rune("/\\.\x00"), c) {
			return '_'
		}
		return c
	}, name)
	return "log/" + strconv.FormatInt(r.Attempt, 10) + "/output/" + key + "/" + r.ID + "/" + clean
}
