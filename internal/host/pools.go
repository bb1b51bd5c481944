package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/dig/keys"
)

// Bounds of pools.
const (
	// MaxPoolSlots is how many slots a pool may have.
	MaxPoolSlots = 1000
	// MaxClaimSlots is the largest number of slots of a pool that one task may request.
	MaxClaimSlots = 10
)

// PoolRef names a pool: one of a site, or one of a project of it.
type PoolRef struct {
	Site    int64
	Project int64 // 0: the pool belongs to the site
	Name    string
}

// Prefixes of the names of implicit pools. No name chosen by a user contains a `:`.
const (
	concurrencyPool = "concurrency:"
	limitPool       = keys.LimitPrefix
)

// LimitPool names the pool of a project whose size its tasks set, by `limit` of `_pool`.
func LimitPool(name string) string { return limitPool + name }

// longestKey is how much of the text of a key is in the name of a pool.
const longestKey = 100

// ConcurrencyPool names the pool whose slots attempts of a workflow have which run at once, those with one key.
func ConcurrencyPool(workflow, key string) string {
	name := concurrencyPool + workflow
	if key == "" {
		return name
	}
	plain := func(r rune) bool { return r > ' ' && r <= '~' }
	if len(key) > longestKey || strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }) {
		key = fmt.Sprintf("%x", sha256.Sum256([]byte(key)))
	}
	return name + ":" + key
}

// Implicit reports whether the pool was not created by a user: it exists because attempts or tasks requested slots of
// it.
func (r PoolRef) Implicit() bool {
	return strings.HasPrefix(r.Name, concurrencyPool) || strings.HasPrefix(r.Name, limitPool)
}

// NoPool is the message about a pool that does not exist.
func NoPool(name string) string {
	return fmt.Sprintf("Pool '%s' does not exist: `zerodag pool set %s N` creates it with N slots", name, name)
}

// Pool is a number of slots that tasks share: tasks without a slot wait in a line.
type Pool struct {
	ID int64
	PoolRef
	Slots     int
	Held      bool // no slots are granted
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Pools keeps which pools there are.
type Pools interface {
	// SetPool creates a pool, or changes its number of slots. Holders keep their slots when a pool is made smaller.
	SetPool(ctx context.Context, ref PoolRef, slots int, at time.Time) (Pool, error)
	// HoldPool sets whether a pool is held. ErrNotFound.
	HoldPool(ctx context.Context, ref PoolRef, held bool, at time.Time) (Pool, error)
	// Pool returns a pool. ErrNotFound.
	Pool(ctx context.Context, ref PoolRef) (Pool, error)
	// Pools lists pools, ascending by id.
	Pools(ctx context.Context, q PoolQuery) ([]Pool, error)
	// DeletePool removes a pool. ErrConflict: a task has or waits for a slot of it. ErrNotFound. A task that requests a
	// slot at the same moment may learn only from the next read of the line that the pool is gone.
	DeletePool(ctx context.Context, ref PoolRef) error
}

// PoolQuery selects pools of a site: those of the site itself and those of its projects.
type PoolQuery struct {
	Site  int64 // AnySite: all
	After int64 // ids above this
	Count int   // 0 is all
}

// Claim is one try's request for slots of a pool. The waiting claims form the line of the pool.
type Claim struct {
	Holder   string // names attempt, task and try, and is therefore never reused
	Slots    int    // 1 to MaxClaimSlots: all of them or none
	Priority int    // -9 to 9: higher goes first
	Since    int64  // in milliseconds since 1970: within a priority, earlier goes first
}

// Compare orders claims by their place in a line.
func (c Claim) Compare(other Claim) int {
	return cmp.Or(cmp.Compare(other.Priority, c.Priority), cmp.Compare(c.Since, other.Since), strings.Compare(c.Holder, other.Holder))
}

// TakenSlot is a slot with its holder.
type TakenSlot struct {
	Number int // from 0
	Holder string
	At     time.Time // when it was taken
}

// Line is a pool as it is: the holders of its slots, and the waiting claims.
type Line struct {
	Slots   int // 0: there is no such pool
	Held    bool
	Taken   []TakenSlot // ascending by number; after the pool was made smaller there may be more of them than slots
	Waiting []Claim     // in order, and at least as many of them as the pool has slots
}

// Semaphore stores the holders of a pool's slots and the tasks that wait for them. It decides nothing: package pool
// does. Every method may be repeated, and all but FreeSlots apply either all of their changes or none.
type Semaphore interface {
	// Line reads a pool with at least the first n claims of its line, if it has as many. Everything that was
	// acknowledged before the call is seen; concurrent changes may be seen in part.
	Line(ctx context.Context, ref PoolRef, n int) (Line, error)
	// TakeSlots gives slots to the holder of a claim and, where inLine, takes the claim out of the line. ErrConflict:
	// one of them is taken, maybe by the same holder in a call whose answer was lost.
	TakeSlots(ctx context.Context, ref PoolRef, c Claim, numbers []int, inLine bool, at time.Time) error
	// JoinLine puts a claim into the line.
	JoinLine(ctx context.Context, ref PoolRef, c Claim) error
	// LeaveLine takes a claim out of the line.
	LeaveLine(ctx context.Context, ref PoolRef, c Claim) error
	// FreeSlots frees those of the slots that belong to holder.
	FreeSlots(ctx context.Context, ref PoolRef, holder string, numbers []int) error
}

// Holder is one try of a task, or an attempt as a whole, as a claim names it.
type Holder struct {
	Attempt int64
	Task    int // its place in the attempt; 0: the attempt
	Try     int
}

func (h Holder) String() string { return fmt.Sprintf("%d/%d/%d", h.Attempt, h.Task, h.Try) }

// ParseHolder reads what Holder.String wrote.
func ParseHolder(s string) (Holder, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 {
		return Holder{}, fmt.Errorf("%q does not name an attempt at a task", s)
	}
	attempt, err := strconv.ParseInt(parts[0], 10, 64)
	task, badTask := strconv.Atoi(parts[1])
	try, badTry := strconv.Atoi(parts[2])
	if err := errors.Join(err, badTask, badTry); err != nil {
		return Holder{}, fmt.Errorf("%q does not name an attempt at a task: %w", s, err)
	}
	return Holder{attempt, task, try}, nil
}
