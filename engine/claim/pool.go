package claim

import (
	"fmt"
	"slices"
	"time"

	"zerodag/engine/param"
)

// Pool is what `_pool` of a task came to: how many slots of which pool it needs while it runs.
type Pool struct {
	Name     string `json:"name"`
	Slots    int    `json:"slots"`
	Priority int    `json:"priority,omitempty"` // the higher one goes first
	// Inherits, of Prepared: the priority is the nearest `_priority`, or that of the attempt.
	Inherits bool `json:"inherits,omitempty"`
	// Size, of a pool that nobody has to make: it is there as soon as somebody asks, with so many slots. 0: it must be there.
	Size int `json:"size,omitempty"`
	// Wait is how long a try may wait for its slots before the task fails. 0: any time.
	Wait time.Duration `json:"wait,omitempty"`
	// Then, of a list, is what it needs besides, in the order in which it asks: that of the names, so that no two wait for each other.
	Then []Pool `json:"then,omitempty"`
	// OnLimit, of an attempt (see Start.Slot), is what is done while there is no slot, as keys.Concurrency has it.
	OnLimit string `json:"onLimit,omitempty"`
}

// Claims lists what is asked for, one pool each, in the order in which it is.
func (c Pool) Claims() []Pool {
	list := append([]Pool{c}, c.Then...)
	list[0].Then = nil
	return list
}

// Of is the claim of which a list are the Claims; nil of none.
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

// Use is what a task has of its pools, for one try; a group has it for one round. It is replaced as a whole, never changed.
type Use struct {
	Pool               // all that it needs, see Asked
	Try     int        `json:"try"`               // from 1; each one has slots of its own. 0: a pause came before the first
	Since   time.Time  `json:"since"`             // when this try began to wait, of a list for the pool that it asked for last
	Waits   bool       `json:"waits,omitempty"`   // it is not run before Granted
	Has     bool       `json:"has,omitempty"`     // it has all its slots
	Got     []int64    `json:"got,omitempty"`     // of a list: as Project, of those pools before Asked that it has slots of
	Begun   bool       `json:"begun,omitempty"`   // of a group: it had slots for a round, so that what comes is another one
	More    int        `json:"more,omitempty"`    // how often a try went on to ask for another pool
	Project int64      `json:"project,omitempty"` // that the pool belongs to which granted them; 0: it is one of the site
	Freed   []FreedTry `json:"freed,omitempty"`   // tries that are over since the last grant
}

// FreedTry is a try whose slots are to be given up.
type FreedTry struct {
	Try     int       `json:"try"`
	Since   time.Time `json:"since"`
	Waited  bool      `json:"waited,omitempty"`  // it was never granted
	Project int64     `json:"project,omitempty"` // see PoolUse; 0 where it waited
	Got     []int64   `json:"got,omitempty"`     // see PoolUse
	Guard   string    `json:"guard"`             // who owes that
}

// Asked is the pool that the try waits for, or of which it got slots last.
func (u *Use) Asked() Pool { return u.Claims()[len(u.Got)] }

// Standing is how a try of a task stands with its pool.
type Standing uint8

// The standings.
const (
	NotKnown Standing = iota // the attempt knows no such try
	TryOver
	TryWaits // for its slots
	TryHas   // its slots
)

// With is how the current try stands with a pool; waits says whether it may be granted what it waits for.
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

// OutOfLine is a use that waits and has left the line, as guard is to see to.
func (u Use) OutOfLine(guard string) *Use {
	u.Freed = append(slices.Clone(u.Freed), FreedTry{Try: u.Try, Since: u.Since, Waited: true, Guard: guard})
	return &u
}

// HasLeft says whether the current try has left the line.
func (u *Use) HasLeft() bool {
	return slices.ContainsFunc(u.Freed, func(f FreedTry) bool { return f.Try == u.Try })
}

// GivenUp is what is left of a use once the try is over.
func (u *Use) GivenUp(guard string) *Use {
	if u == nil || !u.Waits && !u.Has {
		return u
	}
	next := *u
	next.Waits, next.Has = false, false
	next.Freed = append(slices.Clone(u.Freed), FreedTry{Try: u.Try, Since: u.Since, Waited: u.Waits, Project: u.Project, Got: u.Got, Guard: guard})
	return &next
}

// WaitEnds is when a try that waits has waited for too long; zero: never, or it does not wait.
func (u *Use) WaitEnds() time.Time {
	if u == nil || !u.Waits || u.Asked().Wait == 0 {
		return time.Time{}
	}
	return u.Since.Add(u.Asked().Wait)
}

// Waited is what is said of a task that has waited for too long.
func (c Pool) Waited() *param.Map {
	return param.New("message", "waited "+written(c.Wait)+" for pool "+c.Name, "timeout", string(ByWait))
}

// Bounded says whether there is a pool that a try may not wait for any time for.
func (c *Pool) Bounded() bool {
	return c != nil && slices.ContainsFunc(c.Claims(), func(c Pool) bool { return c.Wait > 0 })
}

// Check reports what cannot be right of a use that was stored.
func (u *Use) Check() error {
	if u == nil {
		return nil
	}
	for _, c := range u.Claims() {
		if c.Slots < 1 || c.Wait < 0 || len(c.Then) > 0 {
			return fmt.Errorf("nobody can ask for %d slots of pool %s", c.Slots, c.Name)
		}
	}
	tooMany := func(f FreedTry) bool { return len(f.Got) > len(u.Then) }
	if u.Try < 0 || u.Try == 0 && (u.Waits || u.Has) || len(u.Got) > len(u.Then) || slices.ContainsFunc(u.Freed, tooMany) {
		return fmt.Errorf("try %d cannot have slots of %d pools", u.Try, len(u.Got)+1)
	}
	return nil
}
