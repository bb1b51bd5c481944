package claim

import (
	"fmt"
	"slices"
	"time"

	"zerodag/engine/param"
)

// Pool is the evaluated `_pool` of a task: how many slots of which pool it needs while it runs.
type Pool struct {
	Name     string `json:"name"`
	Slots    int    `json:"slots"`
	Priority int    `json:"priority,omitempty"` // higher ones go first
	// Inherits, in Prepared, means that the priority is the nearest `_priority`, or the attempt's priority.
	Inherits bool `json:"inherits,omitempty"`
	// Size is the size of a pool that exists implicitly from its first request; 0 for a pool that a user must create.
	Size int `json:"size,omitempty"`
	// Wait is how long a try may wait for its slots before the task fails; 0 means no limit.
	Wait time.Duration `json:"wait,omitempty"`
	// Then, in a list, holds the other pools that the task needs, in the order in which it requests them: by name, so
	// that no two tasks wait for each other.
	Then []Pool `json:"then,omitempty"`
	// OnLimit is set for an attempt (see Start.Slot): what happens while no slot is free, as in keys.Concurrency.
	OnLimit string `json:"onLimit,omitempty"`
}

// Claims lists the pools that are requested, one per entry, in order of request.
func (c Pool) Claims() []Pool {
	list := append([]Pool{c}, c.Then...)
	list[0].Then = nil
	return list
}

// Of returns the Pool whose Claims are the list; nil for an empty list.
func Of(list []Pool) *Pool {
	if len(list) == 0 {
		return nil
	}
	first := list[0]
	if len(list) > 1 {
		first.Then = list[1:]
	}
	return &first
}

// Use records which slots a task holds or waits for during one try, or a group during one iteration. It is replaced as
// a whole, never changed.
type Use struct {
	Pool               // everything it needs, see Asked
	Try     int        `json:"try"`               // from 1; each has separate slots. 0: a pause came before the first
	Since   time.Time  `json:"since"`             // when this try began to wait; in a list, for its latest request
	Waits   bool       `json:"waits,omitempty"`   // it must not run before Granted
	Has     bool       `json:"has,omitempty"`     // it has all its slots
	Got     []int64    `json:"got,omitempty"`     // for a list: like Project, for each pool before Asked
	Begun   bool       `json:"begun,omitempty"`   // for a group: it had slots for an earlier iteration
	More    int        `json:"more,omitempty"`    // how many times a try proceeded to request the next pool
	Project int64      `json:"project,omitempty"` // owns the pool that granted them; 0 if the site does
	Freed   []FreedTry `json:"freed,omitempty"`   // tries that ended since the last grant
}

// FreedTry is a try whose slots must be released.
type FreedTry struct {
	Try     int       `json:"try"`
	Since   time.Time `json:"since"`
	Waited  bool      `json:"waited,omitempty"`  // it was never granted
	Project int64     `json:"project,omitempty"` // see Use; 0 if it waited
	Got     []int64   `json:"got,omitempty"`     // see Use
	Guard   string    `json:"guard"`             // message that owes the release
}

// Asked returns the pool that the try waits for, or whose slots it got last.
func (u *Use) Asked() Pool { return u.Claims()[len(u.Got)] }

// Standing describes where a task's try stands with one of its pools.
type Standing uint8

// Values of Standing.
const (
	NotKnown Standing = iota // the attempt has no such try
	TryOver
	TryWaits // for its slots
	TryHas   // its slots
)

// With returns where the current try stands with a pool; waits reports whether its request may be granted.
func (u *Use) With(pool string, waits bool) Standing {
	at := slices.IndexFunc(u.Claims(), func(c Pool) bool { return c.Name == pool })
	switch {
	case !u.Has && !(u.Waits && waits):
		return TryOver
	case at < 0 || at > len(u.Got):
		return NotKnown
	case u.Waits && at == len(u.Got):
		return TryWaits
	}
	return TryHas
}

// OutOfLine returns a waiting use that has left the line; guard owes its release.
func (u Use) OutOfLine(guard string) *Use {
	u.Freed = append(slices.Clone(u.Freed), FreedTry{Try: u.Try, Since: u.Since, Waited: true, Guard: guard})
	return &u
}

// HasLeft reports whether the current try has left the line.
func (u *Use) HasLeft() bool {
	return slices.ContainsFunc(u.Freed, func(f FreedTry) bool { return f.Try == u.Try })
}

// GivenUp returns what remains of a use once the try has ended.
func (u *Use) GivenUp(guard string) *Use {
	if u == nil || !u.Waits && !u.Has {
		return u
	}
	next := *u
	next.Waits, next.Has = false, false
	next.Freed = append(slices.Clone(u.Freed), FreedTry{Try: u.Try, Since: u.Since, Waited: u.Waits, Project: u.Project, Got: u.Got, Guard: guard})
	return &next
}

// WaitEnds returns when a waiting try exceeds its wait limit; zero if there is no limit or the try does not wait.
func (u *Use) WaitEnds() time.Time {
	if u == nil || !u.Waits || u.Asked().Wait == 0 {
		return time.Time{}
	}
	return u.Since.Add(u.Asked().Wait)
}

// Waited returns the error for a task that has waited too long.
func (c Pool) Waited() *param.Map {
	return param.New("message", "waited "+written(c.Wait)+" for pool "+c.Name, "timeout", string(ByWait))
}

// Bounded reports whether waiting for one of the pools is limited.
func (c *Pool) Bounded() bool {
	return c != nil && slices.ContainsFunc(c.Claims(), func(c Pool) bool { return c.Wait > 0 })
}

// Check reports a stored use that cannot be valid.
func (u *Use) Check() error {
	if u == nil {
		return nil
	}
	for _, c := range u.Claims() {
		if c.Slots < 1 || c.Wait < 0 || len(c.Then) > 0 {
			return fmt.Errorf("no task can request %d slots of pool %s", c.Slots, c.Name)
		}
	}
	tooMany := func(f FreedTry) bool { return len(f.Got) > len(u.Then) }
	if u.Try < 0 || u.Try == 0 && (u.Waits || u.Has) || len(u.Got) > len(u.Then) || slices.ContainsFunc(u.Freed, tooMany) {
		return fmt.Errorf("try %d of a task cannot have slots of %d pools", u.Try, len(u.Got)+1)
	}
	return nil
}
