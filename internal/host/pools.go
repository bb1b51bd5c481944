package host

import (
	"cmp"
	"strings"
	"time"
)

// Bounds of pools.
const (
	// MaxPoolSlots is how many slots a pool may have.
	MaxPoolSlots = 1000
	// MaxClaimSlots is how many slots of a pool one task may ask for.
	MaxClaimSlots = 10
)

// PoolRef names a pool: one of a site, or one of a project of it.
type PoolRef struct {
	Site    int64
	Project int64 // 0: the pool belongs to the site
	Name    string
}

// Pool is a number of slots that tasks share: who has none of them waits in a line.
type Pool struct {
	PoolRef
	Slots     int
	Held      bool // nobody is given a slot
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Claim is what one try of a task asks of a pool. The claims that wait form the line of the pool.
type Claim struct {
	Holder   string // names attempt, task and try, and so never comes again
	Slots    int    // 1 to MaxClaimSlots: all of them or none
	Priority int    // the higher one goes first
	Since    int64  // in milliseconds since 1970: of one priority the earlier one goes first
}

// Compare orders claims as they stand in a line.
func (c Claim) Compare(other Claim) int {
	return cmp.Or(cmp.Compare(other.Priority, c.Priority), cmp.Compare(c.Since, other.Since), strings.Compare(c.Holder, other.Holder))
}

// TakenSlot is a slot that somebody has.
type TakenSlot struct {
	Number int // from 0
	Holder string
	At     time.Time // when it was taken
}

// Line is a pool as it is: who has its slots, and who waits for them.
type Line struct {
	Slots   int // 0: there is no such pool
	Held    bool
	Taken   []TakenSlot // ascending by number; after the pool was made smaller there may be more of them than slots
	Waiting []Claim     // in order, and at least as many of them as the pool has slots
}
