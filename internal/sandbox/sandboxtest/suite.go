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

// Stores are the ports for commands and runners, of one driver. Attempts of tests differ: a store may be shared.
type Stores struct {
	Commands sandbox.Commands
	Work     sandbox.Work
	Runners  sandbox.Registry
	Liveness sandbox.Liveness
	Fences   sandbox.Fences
	Attempt  func() int64 // an id that no other test has
}

// Suite is what every driver of these ports passes.
func Suite(t *testing.T, s Stores) {
	for name, f := range map[string]func(*testing.T, Stores){
		"a command is there once":                        addOnce,
		"one claim wins":                                 claimOnce,
		"who waits is listed by class and age":           waiting,
		"an end counts once":                             endOnce,
		"to park after the end tells the end":            park,
		"troubles are counted while it waits":            note,
		"a large command comes back whole":               large,
		"a slot has one runner":                          slots,
		"a runner leaves only if no command came":        leave,
		"a fenced runner has no rights":                  fence,
		"a ticket shown twice is kept until people know": shownTwice,
		"a launch is noted":                              launched,
		"a runner joins with one secret":                 join,
		"a runner that has joined stays":                 discard,
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
		t.Errorf("%s: %v", what, err)
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
		t.Errorf("added again: %+v, %v", got, err)
	}
	if list, err := s.Work.Waiting(t.Context(), a, "other", 0); err != nil || len(list) != 0 {
		t.Errorf("it waits twice: %+v, %v", list, err)
	}
	got, err = s.Commands.Command(t.Context(), a, "2.0")
	if err != nil || got.Site != 3 || got.Project != 7 || got.Task != "+w+t" || !got.CreatedAt.Equal(first.CreatedAt) || got.Spec != nil {
		t.Errorf("read: %+v, %v", got, err)
	}
	fails(t, "one that is not there", host.ErrNotFound, second(s.Commands.Command(t.Context(), a, "3.0")))
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
		t.Errorf("%d claims have won", won.Load())
	}
	c, err := s.Commands.Command(t.Context(), a, "2.0")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Work.Claim(t.Context(), a, "2.0", c.Runner); err != nil || string(again.Spec) == "" {
		t.Errorf("the winner again: %+v, %v", again, err)
	}
	if list, err := s.Work.Claimed(t.Context(), a, c.Runner); err != nil || len(list) != 1 || list[0].Key != "2.0" {
		t.Errorf("claimed: %+v, %v", list, err)
	}
	if list, err := s.Work.Waiting(t.Context(), a, "k", 0); err != nil || len(list) != 0 {
		t.Errorf("it still waits: %+v, %v", list, err)
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
		t.Errorf("waiting: %s, %v", got, err)
	}
	if list, err := s.Work.Waiting(t.Context(), a, "k", 2); err != nil || len(list) != 2 {
		t.Errorf("two of them: %+v, %v", list, err)
	}
}

func endOnce(t *testing.T, s Stores) {
	a := s.Attempt()
	s.add(t, a, "2.0", "k")
	works(t, second(s.Work.Claim(t.Context(), a, "2.0", "r")))
	fails(t, "another caller ended it", host.ErrConflict, second(s.Commands.End(t.Context(), a, "2.0", "other", sandbox.Result{})))
	works(t, second(s.Commands.Park(t.Context(), a, "2.0", 5)))
	r := sandbox.Result{Code: 3, Signal: 9, Why: "because", Outputs: map[string][]byte{"o": []byte("x")}, Blobs: map[string]string{"b": "k"}}
	c, err := s.Commands.End(t.Context(), a, "2.0", "r", r)
	if err != nil || c.Parked != 5 || c.State != sandbox.Over {
		t.Errorf("ended: %+v, %v", c, err)
	}
	if c, err := s.Commands.End(t.Context(), a, "2.0", "r", r); err != nil || c.Parked != 5 {
		t.Errorf("the same end again: %+v, %v", c, err)
	}
	fails(t, "ended twice", host.ErrConflict, second(s.Commands.End(t.Context(), a, "2.0", "r", sandbox.Result{})))
	c, err = s.Commands.Command(t.Context(), a, "2.0")
	if err != nil || c.Result.Code != 3 || c.Result.Signal != 9 || c.Result.Why != "because" || string(c.Result.Outputs["o"]) != "x" || c.Result.Blobs["b"] != "k" {
		t.Errorf("read: %+v, %v", c, err)
	}
	endedWithAll(t, s, a)
	s.add(t, a, "3.0", "k")
	if _, err := s.Commands.End(t.Context(), a, "3.0", "", sandbox.Result{Stopped: true}); err != nil {
		t.Errorf("one that waits: %v", err)
	}
	if list, err := s.Work.Waiting(t.Context(), a, "k", 0); err != nil || len(list) != 0 {
		t.Errorf("what is over waits: %+v, %v", list, err)
	}
	fails(t, "what is over was claimed", host.ErrConflict, second(s.Work.Claim(t.Context(), a, "3.0", "r")))
}

// endedWithAll notes that nothing of a command runs which r has ended.
func endedWithAll(t *testing.T, s Stores, a int64) {
	t.Helper()
	fails(t, "another caller says that nothing of it runs", host.ErrConflict, s.Work.Ended(t.Context(), a, "2.0", "other"))
	for range 2 {
		if err := s.Work.Ended(t.Context(), a, "2.0", "r"); err != nil {
			t.Errorf("nothing of it runs: %v", err)
		}
	}
	if c, err := s.Commands.Command(t.Context(), a, "2.0"); err != nil || !c.Ended || c.Result.Code != 3 {
		t.Errorf("nothing of it runs, read: %+v, %v", c, err)
	}
}

func park(t *testing.T, s Stores) {
	a := s.Attempt()
	s.add(t, a, "2.0", "k")
	if c, err := s.Commands.Park(t.Context(), a, "2.0", 4); err != nil || c.Parked != 4 || c.State != sandbox.Waiting {
		t.Errorf("parked: %+v, %v", c, err)
	}
	works(t, second(s.Commands.End(t.Context(), a, "2.0", "", sandbox.Result{Code: 7})))
	if c, err := s.Commands.Park(t.Context(), a, "2.0", 5); err != nil || c.State != sandbox.Over || c.Result.Code != 7 {
		t.Errorf("parked too late: %+v, %v", c, err)
	}
}

func note(t *testing.T, s Stores) {
	a := s.Attempt()
	s.add(t, a, "2.0", "k")
	for i, text := range []string{"no room", "", "no room at all"} {
		if c, err := s.Work.Note(t.Context(), a, "2.0", text); err != nil || c.Troubles != []int{1, 1, 2}[i] {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	works(t, second(s.Work.Claim(t.Context(), a, "2.0", "r")))
	fails(t, "it waits no more", host.ErrConflict, second(s.Work.Note(t.Context(), a, "2.0", "x")))
	if c, err := s.Commands.Command(t.Context(), a, "2.0"); err != nil || c.Troubles != 2 || c.Trouble != "no room at all" {
		t.Errorf("read: %+v, %v", c, err)
	}
}

func large(t *testing.T, s Stores) {
	a := s.Attempt()
	c := command(a, "2.0", "k", time.Now())
	var b strings.Builder
	for i := range 60_000 { // nothing that compresses well
		b.WriteByte(byte(i*i*7919>>3) | 1)
	}
	c.Spec = []byte(b.String())
	works(t, second(s.Commands.Add(t.Context(), c)))
	if got, err := s.Work.Claim(t.Context(), a, "2.0", "r"); err != nil || string(got.Spec) != b.String() {
		t.Errorf("%d bytes came back of %d, %v", len(got.Spec), b.Len(), err)
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
	fails(t, "a second one", host.ErrConflict, s.Runners.AddRunner(t.Context(), runnerIn(a, 0, "two")))
	s.runner(t, runnerIn(a, 1, "two"))
	if err := s.Runners.AddRunner(t.Context(), runnerIn(a, 1, "two")); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if list, err := s.Runners.Runners(t.Context(), a); err != nil || len(list) != 2 || list[0].Name() != name || list[0].Of.Image != "i" || list[0].Project != 7 {
		t.Errorf("listed: %+v, %v", list, err)
	}
	all, err := s.Runners.Runners(t.Context(), 0)
	found := 0
	for _, r := range all {
		if r.Attempt == a {
			found++
		}
	}
	if err != nil || found != 2 {
		t.Errorf("%d of them among all, %v", found, err)
	}
	fails(t, "an earlier one of the slot", host.ErrNotFound, second(s.Runners.Runner(t.Context(), runnerIn(a, 0, "other").Name())))
	for _, name := range []string{"", "x", "1-2-3", "a-b-c-d"} {
		if _, err := s.Runners.Runner(t.Context(), name); err == nil {
			t.Errorf("%q is a runner", name)
		}
	}
}

func leave(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	at := time.Now().UTC().Truncate(time.Microsecond)
	r, err := s.Liveness.Beat(t.Context(), name, at, 3)
	if err != nil || !r.Seen.Equal(at) || r.Load != 3 || r.Asked != 1 {
		t.Errorf("beat: %+v, %v", r, err)
	}
	works(t, s.Liveness.Ask(t.Context(), name))
	fails(t, "it left although it was asked", host.ErrConflict, s.Liveness.Leave(t.Context(), name, r.Asked))
	fails(t, "removed although it was asked", host.ErrConflict, s.Runners.Remove(t.Context(), name, r.Asked))
	if err := s.Liveness.Leave(t.Context(), name, 2); err != nil {
		t.Errorf("it cannot leave: %v", err)
	}
	ask, left := s.Liveness.Ask(t.Context(), name), s.Liveness.Leave(t.Context(), name, 2)
	if !errors.Is(ask, host.ErrNotFound) || !errors.Is(left, host.ErrNotFound) {
		t.Errorf("asked when it had left: %v; it leaves again: %v", ask, left)
	}
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || !r.Fenced || !r.Left {
		t.Errorf("when it has left: %+v, %v", r, err)
	}
	if err := s.Runners.Remove(t.Context(), name, 2); err != nil {
		t.Errorf("it cannot be removed: %v", err)
	}
	if err := s.Runners.Remove(t.Context(), name, 2); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	next := s.runner(t, runnerIn(a, 0, "two"))
	if err := s.Runners.Remove(t.Context(), name, -1); err != nil {
		t.Errorf("an earlier one of the slot: %v", err)
	}
	if _, err := s.Runners.Runner(t.Context(), next); err != nil {
		t.Errorf("the later one is gone: %v", err)
	}
}

func discard(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	fails(t, "it is gone although it was asked", host.ErrConflict, s.Runners.Discard(t.Context(), name, 0))
	works(t, second(s.Liveness.Join(t.Context(), name, []byte{1}, time.Now())))
	for _, asked := range []int{1, -1} {
		if err := s.Runners.Discard(t.Context(), name, asked); !errors.Is(err, host.ErrConflict) {
			t.Errorf("it is gone although it has joined: %v", err)
		}
	}
	if _, err := s.Runners.Runner(t.Context(), name); err != nil {
		t.Errorf("it does not stay: %v", err)
	}
	for slot, asked := range []int{1, -1} {
		other := s.runner(t, runnerIn(a, slot+1, "two"))
		for range 2 {
			if err := s.Runners.Discard(t.Context(), other, asked); err != nil {
				t.Errorf("one that has not joined: %v", err)
			}
		}
		if _, err := s.Runners.Runner(t.Context(), other); !errors.Is(err, host.ErrNotFound) {
			t.Errorf("it is there: %v", err)
		}
	}
}

func fence(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	if r, err := s.Fences.Fence(t.Context(), name, "because"); err != nil || !r.Fenced || r.Why != "because" {
		t.Errorf("fenced: %+v, %v", r, err)
	}
	if r, err := s.Fences.Fence(t.Context(), name, "again"); !errors.Is(err, host.ErrConflict) || r.Name() != name || r.Why != "because" {
		t.Errorf("fenced twice: %+v, %v", r, err)
	}
	fails(t, "it joins", host.ErrNotFound, second(s.Liveness.Join(t.Context(), name, []byte{1}, time.Now())))
	_, beat := s.Liveness.Beat(t.Context(), name, time.Now(), 0)
	if ask, launched := s.Liveness.Ask(t.Context(), name), s.Runners.Launched(t.Context(), name, "t", time.Now()); !errors.Is(beat, host.ErrNotFound) || !errors.Is(ask, host.ErrNotFound) || !errors.Is(launched, host.ErrNotFound) {
		t.Errorf("it has rights: %v, %v, %v", beat, ask, launched)
	}
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || !r.Fenced {
		t.Errorf("read: %+v, %v", r, err)
	}
	if err := s.Runners.Remove(t.Context(), name, -1); err != nil {
		t.Error(err)
	}
	fails(t, "one that is gone", host.ErrNotFound, second(s.Fences.Fence(t.Context(), name, "x")))
}

func shownTwice(t *testing.T, s Stores) {
	a := s.Attempt()
	free, fenced, left := s.runner(t, runnerIn(a, 0, "one")), s.runner(t, runnerIn(a, 1, "two")), s.runner(t, runnerIn(a, 2, "three"))
	works(t, second(s.Fences.Fence(t.Context(), fenced, "because")))
	works(t, s.Liveness.Leave(t.Context(), left, 1))
	for name, why := range map[string]string{free: "twice", fenced: "because", left: "twice"} {
		for range 2 {
			if r, err := s.Fences.ShownTwice(t.Context(), name, "twice"); err != nil || !r.Fenced || !r.Twice || r.Told || r.Why != why || r.Name() != name {
				t.Errorf("shown twice: %+v, %v", r, err)
			}
		}
		for range 2 {
			works(t, s.Fences.Told(t.Context(), name))
		}
		if r, err := s.Runners.Runner(t.Context(), name); err != nil || !r.Told || !r.Twice {
			t.Errorf("told: %+v, %v", r, err)
		}
	}
	other := runnerIn(a, 0, "other").Name()
	_, err := s.Fences.ShownTwice(t.Context(), other, "twice")
	if told := s.Fences.Told(t.Context(), other); !errors.Is(err, host.ErrNotFound) || !errors.Is(told, host.ErrNotFound) {
		t.Errorf("one that is not there: %v, %v", err, told)
	}
}

func launched(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || r.Task != "" {
		t.Errorf("before: %+v, %v", r, err)
	}
	at := time.Now().UTC().Truncate(time.Microsecond)
	works(t, s.Runners.Refused(t.Context(), name, "no room", at))
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || r.Task != "" || r.Refused != "no room" || !r.Launched.Equal(at) {
		t.Errorf("refused: %+v, %v", r, err)
	}
	at = at.Add(time.Second)
	works(t, s.Runners.Launched(t.Context(), name, "task", at))
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || r.Task != "task" || r.Refused != "" || !r.Launched.Equal(at) || r.Hash != nil {
		t.Errorf("after: %+v, %v", r, err)
	}
}

func join(t *testing.T, s Stores) {
	a := s.Attempt()
	name := s.runner(t, runnerIn(a, 0, "one"))
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || r.Hash != nil || !r.Seen.IsZero() {
		t.Errorf("before: %+v, %v", r, err)
	}
	at := time.Now().UTC().Truncate(time.Microsecond)
	for range 2 {
		if r, err := s.Liveness.Join(t.Context(), name, []byte{1, 2}, at); err != nil || !r.Seen.Equal(at) || r.Of.Image != "i" {
			t.Errorf("it joins: %+v, %v", r, err)
		}
	}
	fails(t, "another one joins", host.ErrConflict, second(s.Liveness.Join(t.Context(), name, []byte{3}, at)))
	if r, err := s.Runners.Runner(t.Context(), name); err != nil || string(r.Hash) != "\x01\x02" || !r.Seen.Equal(at) {
		t.Errorf("then: %+v, %v", r, err)
	}
	works(t, second(s.Fences.Fence(t.Context(), name, "because")))
	_, other := s.Liveness.Join(t.Context(), name, []byte{3}, at)
	if _, err := s.Liveness.Join(t.Context(), name, []byte{1, 2}, at); !errors.Is(err, host.ErrNotFound) || !errors.Is(other, host.ErrConflict) {
		t.Errorf("of one that is fenced joins itself: %v, and another one: %v", err, other)
	}
	fails(t, "one that is not there", host.ErrNotFound, second(s.Liveness.Join(t.Context(), runnerIn(a, 0, "other").Name(), []byte{1}, at)))
}
