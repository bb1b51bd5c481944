package sandboxtest

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sandbox"
)

// Stores holds one driver's ports for commands and runners. Each test uses its own attempts, so tests may share a
// store.
type Stores struct {
	Commands sandbox.Commands
	Work     sandbox.Work
	Runners  sandbox.Registry
	Liveness sandbox.Liveness
	Fences   sandbox.Fences
	Attempt  func() int64 // an ID that no other test uses
}

// Suite runs the tests that every driver of these ports must pass.
func Suite(t *testing.T, s Stores) {
	for name, f := range map[string]func(*testing.T, Stores){
		"commands are added once":                 addOnce,
		"concurrent claims":                       claimOnce,
		"waiting commands by class and age":       waiting,
		"commands end once":                       endOnce,
		"park after the end returns the result":   park,
		"troubles are counted while waiting":      note,
		"large command":                           large,
		"one runner per slot":                     slots,
		"runner leaves only without new commands": leave,
		"fenced runner has no rights":             fence,
		"ticket used twice until notified":        shownTwice,
		"launch":                                  launched,
		"runner joins with one secret":            join,
		"joined runner is not discarded":          discard,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, s)
		})
	}
}

func command(attempt int64, key, class string, at time.Time) sandbox.Command {
	return sandbox.Command{Attempt: attempt, Key: key, Site: 3, Project: 7, Task: "+w+t", Class: class, Spec: []byte(`{"args":["sh"]}`), CreatedAt: at.UTC().Truncate(time.Microsecond), State: sandbox.Waiting}
}

func (s Stores) add(t *testing.T, attempt int64, key, class string) sandbox.Command {
	t.Helper()
	c, err := s.Commands.Add(t.Context(), command(attempt, key, class, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fails and works record whether a call was refused as it should be; second is the error returned along with a value.
func fails(t *testing.T, what string, want, err error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func works(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

func addOnce(t *testing.T, s Stores) {
	a := s.Attempt()
	first := command(a, "2.0", "k", time.Now())
	works(t, second(s.Commands.Add(t.Context(), first)))
	works(t, second(s.Work.Claim(t.Context(), a, "2.0", "r")))
	got, err := s.Commands.Add(t.Context(), command(a, "2.0", "other", time.Now()))
	if err != nil || got.State != sandbox.Claimed || got.Class != "k" || got.Runner != "r" {
		t.Errorf("second Add: got %+v, %v, want the claimed command", got, err)
	}
	if list, err := s.Work.Waiting(t.Context(), a, "other", 0); err != nil || len(list) != 0 {
		t.Errorf("Waiting in the other class: got %+v, %v, want none", list, err)
	}
	got, err = s.Commands.Command(t.Context(), a, "2.0")
	if err != nil || got.Site != 3 || got.Project != 7 || got.Task != "+w+t" || !got.CreatedAt.Equal(first.CreatedAt) || got.Spec != nil {
		t.Errorf("got command %+v, %v", got, err)
	}
	fails(t, "read an unknown command", host.ErrNotFound, second(s.Commands.Command(t.Context(), a, "3.0")))
}

func claimOnce(t *testing.T, s Stores) {
	a := s.Attempt()
	s.add(t, a, "2.0", "k")
	var won atomic.Int32
	var all sync.WaitGroup
	for _, r := range strings.Fields("r1 r2 r3 r4 r5 r6") {
		all.Go(func() {
			c, err := s.Work.Claim(t.Context(), a, "2.0", r)
			switch {
			case err == nil && c.Runner == r && string(c.Spec) == `{"args":["sh"]}`:
				won.Add(1)
			case !errors.Is(err, host.ErrConflict):
				t.Errorf("%s: %+v, %v", r, c, err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d concurrent claims succeeded, want 1", won.Load())
	}
	c, err := s.Commands.Command(t.Context(), a, "2.0")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Work.Claim(t.Context(), a, "2.0", c.Runner); err != nil || string(again.Spec) == "" {
		t.Errorf("second claim of the same runner: got %+v, %v", again, err)
	}
	if list, err := s.Work.Claimed(t.Context(), a, c.Runner); err != nil || len(list) != 1 || list[0].Key != "2.0" {
		t.Errorf("got claimed commands %+v, %v", list, err)
	}
	if list, err := s.Work.Waiting(t.Context(), a, "k", 0); err != nil || len(list) != 0 {
		t.Errorf("got waiting commands %+v, %v, want none", list, err)
	}
}

func waiting(t *testing.T, s Stores) {
	a, now := s.Attempt(), time.Now()
	for i, key := range []string{"9.0", "2.0", "30.1"} {
		works(t, second(s.Commands.Add(t.Context(), command(a, key, "k", now.Add(time.Duration(i)*time.Second)))))
	}
	s.add(t, a, "4.0", "other")
	var keys []string
	list, err := s.Work.Waiting(t.Context(), a, "k", 0)
	for _, c := range list {
		keys = append(keys, c.Key)
	}
	if got := strings.Join(keys, " "); err != nil || got != "9.0 2.0 30.1" {
		t.Errorf("got waiting commands %s, %v", got, err)
	}
	if list, err := s.Work.Waiting(t.Context(), a, "k", 2); err != nil || len(list) != 2 {
		t.Errorf("with a limit of 2: got %+v, %v", list, err)
	}
}

func endOnce(t *testing.T, s Stores) {
	a := s.Attempt()
	s.add(t, a, "2.0", "k")
	works(t, second(s.Work.Claim(t.Context(), a, "2.0", "r")))
	fails(t, "end by another runner", host.ErrConflict, second(s.Commands.End(t.Context(), a, "2.0", "other", sandbox.Result{})))
	works(t, second(s.Commands.Park(t.Context(), a, "2.0", 5)))
	r := sandbox.Result{Code: 3, Signal: 9, Why: "because", Outputs: map[string][]byte{"o": []byte("x")}, Blobs: map[string]string{"b": "k"}}
	c, err := s.Commands.End(t.Context(), a, "2.0", "r", r)
	if err != nil || c.Parked != 5 || c.State != sandbox.Over {
		t.Errorf("End: got %+v, %v", c, err)
	}
	if c, err := s.Commands.End(t.Context(), a, "2.0", "r", r); err != nil || c.Parked != 5 {
		t.Errorf("same End again: got %+v, %v", c, err)
	}
	fails(t, "different result", host.ErrConflict, second(s.Commands.End(t.Context(), a, "2.0", "r", sandbox.Result{})))
	c, err = s.Commands.Command(t.Context(), a, "2.0")
	if err != nil || c.Result.Code != 3 || c.Result.Signal != 9 || c.Result.Why != "because" || string(c.Result.Outputs["o"]) != "x" || c.Result.Blobs["b"] != "k" {
		t.Errorf("got command %+v, %v", c, err)
	}
	endedWithAll(t, s, a)
	s.add(t, a, "3.0", "k")
	if _, err := s.Commands.End(t.Context(), a, "3.0", "", sandbox.Result{Stopped: true}); err != nil {
		t.Errorf("end a waiting command: %v", err)
	}
	if list, err := s.Work.Waiting(t.Context(), a, "k", 0); err != nil || len(list) != 0 {
		t.Errorf("got waiting commands %+v, %v, want none", list, err)
	}
	fails(t, "claim an ended command", host.ErrConflict, second(s.Work.Claim(t.Context(), a, "3.0", "r")))
}

// endedWithAll tests that only runner r can report that all processes of a command have ended, and that it may repeat
// the report.
func endedWithAll(t *testing.T, s Stores, a int64) {
	t.Helper()
	fails(t, "Ended by another runner", host.ErrConflict, s.Work.Ended(t.Context(), a, "2.0", "other"))
	for range 2 {
		if err := s.Work.Ended(t.Context(), a, "2.0", "r"); err != nil {
			t.Errorf("Ended: %v", err)
		}
	}
	if c, err := s.Commands.Command(t.Context(), a, "2.0"); err != nil || !c.Ended || c.Result.Code != 3 {
		t.Errorf("got command %+v, %v after Ended", c, err)
	}
}

func park(t *testing.T, s Stores) {
	a := s.Attempt()
	s.add(t, a, "2.0", "k")
	if c, err := s.Commands.Park(t.Context(), a, "2.0", 4); err != nil || c.Parked != 4 || c.State != sandbox.Waiting {
		t.Errorf("Park: got %+v, %v", c, err)
	}
	works(t, second(s.Commands.End(t.Context(), a, "2.0", "", sandbox.Result{Code: 7})))
	if c, err := s.Commands.Park(t.Context(), a, "2.0", 5); err != nil || c.State != sandbox.Over || c.Result.Code != 7 {
		t.Errorf("Park after the end: got %+v, %v, want the result", c, err)
	}
}

func note(t *testing.T, s Stores) {
	a := s.Attempt()
	s.add(t, a, "2.0", "k")
	for i, text := range []string{"no room", "", "no room at all"} {
		if c, err := s.Work.Note(t.Context(), a, "2.0", text); err != nil || c.Troubles != []int{1, 1, 2}[i] {
			t.Errorf("Note(%q): got %+v, %v", text, c, err)
		}
	}
	works(t, second(s.Work.Claim(t.Context(), a, "2.0", "r")))
	fails(t, "note for a claimed command", host.ErrConflict, second(s.Work.Note(t.Context(), a, "2.0", "x")))
	if c, err := s.Commands.Command(t.Context(), a, "2.0"); err != nil || c.Troubles != 2 || c.Trouble != "no room at all" {
		t.Errorf("got command %+v, %v", c, err)
	}
}

func large(t *testing.T, s Stores) {
	a := s.Attempt()
	c := command(a, "2.0", "k", time.Now())
	var b strings.Builder
	for i := range 60_000 { // data that does not compress well
		b.WriteByte(byte(i*i*7919>>3) | 1)
	}
	c.Spec = []byte(b.String())
	works(t, second(s.Commands.Add(t.Context(), c)))
	if got, err := s.Work.Claim(t.Context(), a, "2.0", "r"); err != nil || string(got.Spec) != b.String() {
		t.Errorf("got a command of %d bytes, want %d: %v", len(got.Spec), b.Len(), err)
	}
}

func runnerIn(attempt int64, slot int, id string) sandbox.Runner {
	of := sandbox.Class{Image: "i", CPU: 1024, Memory: 2048}
	return sandbox.Runner{Attempt: attempt, Class: of.Key(), Slot: slot, ID: id, Of: of, Site: 3, Project: 7, Launched: time.Now().UTC().Truncate(time.Microsecond),
		Asked: 1}
}

func (s Stores) runner(t *testing.T, r sandbox.Runner) string {
	t.Helper()
	works(t, s.Runners.AddRunner(t.Context(), r))
	return r.Name()
}

func slots(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	fails(t, "second runner in a slot", host.ErrConflict, s.Runners.AddRunner(t.Context(), runnerIn(a, 0, "two")))
	s.runner(t, runnerIn(a, 1, "two"))
	if err := s.Runners.AddRunner(t.Context(), runnerIn(a, 1, "two")); err != nil {
		t.Errorf("add the same runner again: %v", err)
	}
	if list, err := s.Runners.Runners(t.Context(), a); err != nil || len(list) != 2 || list[0].Name() != name || list[0].Of.Image != "i" || list[0].Project != 7 {
		t.Errorf("got runners %+v, %v", list, err)
	}
	all, err := s.Runners.Runners(t.Context(), 0)
	found := 0
	for _, r := range all {
		if r.Attempt == a {
			found++
		}
	}
	if err != nil || found != 2 {
		t.Errorf("got %d runners in the list of all, want 2: %v", found, err)
	}
	fails(t, "read an earlier runner of the slot", host.ErrNotFound, second(s.Runners.Runner(t.Context(), runnerIn(a, 0, "other").Name())))
	for _, name := range []string{"", "x", "1-2-3", "a-b-c-d"} {
		if _, err := s.Runners.Runner(t.Context(), name); err == nil {
			t.Errorf("read runner %q, want an error", name)
		}
	}
}

func leave(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	at := time.Now().UTC().Truncate(time.Microsecond)
	r, err := s.Liveness.Beat(t.Context(), name, at, 3)
	if err != nil || !r.Seen.Equal(at) || r.Load != 3 || r.Asked != 1 {
		t.Errorf("Beat: got %+v, %v", r, err)
	}
	works(t, s.Liveness.Ask(t.Context(), name))
	fails(t, "leave after a new command", host.ErrConflict, s.Liveness.Leave(t.Context(), name, r.Asked))
	fails(t, "remove after a new command", host.ErrConflict, s.Runners.Remove(t.Context(), name, r.Asked))
	if err := s.Liveness.Leave(t.Context(), name, 2); err != nil {
		t.Errorf("leave: %v", err)
	}
	ask, left := s.Liveness.Ask(t.Context(), name), s.Liveness.Leave(t.Context(), name, 2)
	if !errors.Is(ask, host.ErrNotFound) || !errors.Is(left, host.ErrNotFound) {
		t.Errorf("after leaving: Ask returned %v, Leave returned %v, want ErrNotFound", ask, left)
	}
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || !r.Fenced || !r.Left {
		t.Errorf("got %+v, %v after leaving", r, err)
	}
	if err := s.Runners.Remove(t.Context(), name, 2); err != nil {
		t.Errorf("remove: %v", err)
	}
	if err := s.Runners.Remove(t.Context(), name, 2); err != nil {
		t.Errorf("remove again: %v", err)
	}
	next := s.runner(t, runnerIn(a, 0, "two"))
	if err := s.Runners.Remove(t.Context(), name, -1); err != nil {
		t.Errorf("remove an earlier runner of the slot: %v", err)
	}
	if _, err := s.Runners.Runner(t.Context(), next); err != nil {
		t.Errorf("read the later runner of the slot: %v", err)
	}
}

func discard(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	fails(t, "discard after a new command", host.ErrConflict, s.Runners.Discard(t.Context(), name, 0))
	works(t, second(s.Liveness.Join(t.Context(), name, []byte{1}, time.Now())))
	for _, asked := range []int{1, -1} {
		if err := s.Runners.Discard(t.Context(), name, asked); !errors.Is(err, host.ErrConflict) {
			t.Errorf("discard a joined runner: got %v, want ErrConflict", err)
		}
	}
	if _, err := s.Runners.Runner(t.Context(), name); err != nil {
		t.Errorf("read the joined runner: %v", err)
	}
	for slot, asked := range []int{1, -1} {
		other := s.runner(t, runnerIn(a, slot+1, "two"))
		for range 2 {
			if err := s.Runners.Discard(t.Context(), other, asked); err != nil {
				t.Errorf("discard a runner that has not joined: %v", err)
			}
		}
		if _, err := s.Runners.Runner(t.Context(), other); !errors.Is(err, host.ErrNotFound) {
			t.Errorf("read a discarded runner: got %v, want ErrNotFound", err)
		}
	}
}

func fence(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	if r, err := s.Fences.Fence(t.Context(), name, "because"); err != nil || !r.Fenced || r.Why != "because" {
		t.Errorf("Fence: got %+v, %v", r, err)
	}
	if r, err := s.Fences.Fence(t.Context(), name, "again"); !errors.Is(err, host.ErrConflict) || r.Name() != name || r.Why != "because" {
		t.Errorf("second Fence: got %+v, %v", r, err)
	}
	fails(t, "join a fenced runner", host.ErrNotFound, second(s.Liveness.Join(t.Context(), name, []byte{1}, time.Now())))
	_, beat := s.Liveness.Beat(t.Context(), name, time.Now(), 0)
	if ask, launched := s.Liveness.Ask(t.Context(), name), s.Runners.Launched(t.Context(), name, "t", time.Now()); !errors.Is(beat, host.ErrNotFound) || !errors.Is(ask, host.ErrNotFound) || !errors.Is(launched, host.ErrNotFound) {
		t.Errorf("fenced runner: got %v from Beat, %v from Ask, %v from Launched, want ErrNotFound", beat, ask, launched)
	}
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || !r.Fenced {
		t.Errorf("got runner %+v, %v", r, err)
	}
	if err := s.Runners.Remove(t.Context(), name, -1); err != nil {
		t.Error(err)
	}
	fails(t, "fence a removed runner", host.ErrNotFound, second(s.Fences.Fence(t.Context(), name, "x")))
}

func shownTwice(t *testing.T, s Stores) {
	a := s.Attempt()
	free, fenced, left := s.runner(t, runnerIn(a, 0, "one")), s.runner(t, runnerIn(a, 1, "two")), s.runner(t, runnerIn(a, 2, "three"))
	works(t, second(s.Fences.Fence(t.Context(), fenced, "because")))
	works(t, s.Liveness.Leave(t.Context(), left, 1))
	for name, why := range map[string]string{free: "twice", fenced: "because", left: "twice"} {
		for range 2 {
			if r, err := s.Fences.ShownTwice(t.Context(), name, "twice"); err != nil || !r.Fenced || !r.Twice || r.Told || r.Why != why || r.Name() != name {
				t.Errorf("ShownTwice: got %+v, %v", r, err)
			}
		}
		for range 2 {
			works(t, s.Fences.Told(t.Context(), name))
		}
		if r, err := s.Runners.Runner(t.Context(), name); err != nil || !r.Told || !r.Twice {
			t.Errorf("got %+v, %v after Told", r, err)
		}
	}
	other := runnerIn(a, 0, "other").Name()
	_, err := s.Fences.ShownTwice(t.Context(), other, "twice")
	if told := s.Fences.Told(t.Context(), other); !errors.Is(err, host.ErrNotFound) || !errors.Is(told, host.ErrNotFound) {
		t.Errorf("unknown runner: got %v from ShownTwice, %v from Told, want ErrNotFound", err, told)
	}
}

func launched(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || r.Task != "" {
		t.Errorf("got %+v, %v before", r, err)
	}
	at := time.Now().UTC().Truncate(time.Microsecond)
	works(t, s.Runners.Refused(t.Context(), name, "no room", at))
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || r.Task != "" || r.Refused != "no room" || !r.Launched.Equal(at) {
		t.Errorf("got %+v, %v after a refusal", r, err)
	}
	at = at.Add(time.Second)
	works(t, s.Runners.Launched(t.Context(), name, "task", at))
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || r.Task != "task" || r.Refused != "" || !r.Launched.Equal(at) || r.Hash != nil {
		t.Errorf("got %+v, %v after the launch", r, err)
	}
}

func join(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || r.Hash != nil || !r.Seen.IsZero() {
		t.Errorf("got %+v, %v before", r, err)
	}
	at := time.Now().UTC().Truncate(time.Microsecond)
	for range 2 {
		if r, err := s.Liveness.Join(t.Context(), name, []byte{1, 2}, at); err != nil || !r.Seen.Equal(at) || r.Of.Image != "i" {
			t.Errorf("Join: got %+v, %v", r, err)
		}
	}
	fails(t, "join with another secret", host.ErrConflict, second(s.Liveness.Join(t.Context(), name, []byte{3}, at)))
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || string(r.Hash) != "\x01\x02" || !r.Seen.Equal(at) {
		t.Errorf("got %+v, %v after joining", r, err)
	}
	works(t, second(s.Fences.Fence(t.Context(), name, "because")))
	_, other := s.Liveness.Join(t.Context(), name, []byte{3}, at)
	if _, err := s.Liveness.Join(t.Context(), name, []byte{1, 2}, at); !errors.Is(err, host.ErrNotFound) || !errors.Is(other, host.ErrConflict) {
		t.Errorf("join a fenced runner: got %v with its secret, %v with a different secret", err, other)
	}
	fails(t, "join an unknown runner", host.ErrNotFound, second(s.Liveness.Join(t.Context(), runnerIn(a, 0, "other").Name(), []byte{1}, at)))
}
