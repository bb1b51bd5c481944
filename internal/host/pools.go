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

// Limits on pools.
const (
	// MaxPoolSlots is the maximum number of slots of a pool.
	MaxPoolSlots = 1000
	// MaxClaimSlots is the largest number of slots of a pool that one task may request.
	MaxClaimSlots = 10
)

// PoolRef identifies a pool of a site or of one of its projects.
type PoolRef struct {
	Site    int64
	Project int64 // 0: the pool belongs to the site
	Name    string
}

// Prefixes of implicit pool names. No name chosen by a user contains a `:`.
const (
	concurrencyPool = "concurrency:"
	limitPool       = keys.LimitPrefix
)

// LimitPool returns the name of a project's pool whose size is set by tasks with `limit` in `_pool`.
func LimitPool(name string) string { return limitPool + name }

// longestKey limits how much of a key is in a pool's name.
const longestKey = 100

// ConcurrencyPool returns the name of the pool that limits how many attempts of a workflow with the same key run at
// once.
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

// Implicit reports whether the pool was not created by a user but exists because attempts or tasks requested its slots.
func (r PoolRef) Implicit() bool {
	return strings.HasPrefix(r.Name, concurrencyPool) || strings.HasPrefix(r.Name, limitPool)
}

// NoPool returns the message for a pool that does not exist.
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

// Pools stores the existing pools.
type Pools interface {
	// SetPool creates a pool, or changes its number of slots. If a pool is made smaller, holders keep their slots.
	SetPool(ctx context.Context, ref PoolRef, slots int, at time.Time) (Pool, error)
	// HoldPool puts a pool on hold or ends the hold. It returns ErrNotFound if the pool does not exist.
	HoldPool(ctx context.Context, ref PoolRef, held bool, at time.Time) (Pool, error)
	// Pool returns a pool, or ErrNotFound.
	Pool(ctx context.Context, ref PoolRef) (Pool, error)
	// Pools lists pools, ascending by id.
	Pools(ctx context.Context, q PoolQuery) ([]Pool, error)
	// DeletePool removes a pool. It returns ErrConflict if a task has or waits for one of its slots, and ErrNotFound if
	// the pool does not exist. A task that requests a slot at the same moment may find out that the pool is gone only at
	// the next read of the line.
	DeletePool(ctx context.Context, ref PoolRef) error
}

// PoolQuery selects a site's pools: those of the site itself and those of its projects.
type PoolQuery struct {
	Site  int64 // AnySite: all
	After int64 // only greater ids
	Count int   // 0 means all
}

// Claim is one try's request for slots of a pool. The waiting claims form the pool's line.
type Claim struct {
	Holder   string // identifies attempt, task and try, and is therefore never reused
	Slots    int    // 1 to MaxClaimSlots; they are granted all together or not at all
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

// Line is a pool's current state: the holders of its slots, and the waiting claims.
type Line struct {
	Slots   int // 0: the pool does not exist
	Held    bool
	Taken   []TakenSlot // ascending by number; there may be more than Slots after the pool was made smaller
	Waiting []Claim     // in order, at least as many as the pool has slots
}

// Semaphore stores the holders of a pool's slots and the tasks that wait for them. It decides nothing, because
// decisions belong to package pool. Every call may be repeated, and all methods except FreeSlots apply either all of
// their changes or none.
type Semaphore interface {
	// Line reads a pool with at least the first n claims of its line, if it has that many. The result contains everything
	// that was acknowledged before the call; concurrent changes may be visible in part.
	Line(ctx context.Context, ref PoolRef, n int) (Line, error)
	// TakeSlots gives slots to the holder of a claim and, if inLine is set, removes the claim from the line. It returns
	// ErrConflict if one of the slots is taken, which may be by the same holder in a call whose response was lost.
	TakeSlots(ctx context.Context, ref PoolRef, c Claim, numbers []int, inLine bool, at time.Time) error
	// JoinLine puts a claim in the line.
	JoinLine(ctx context.Context, ref PoolRef, c Claim) error
	// LeaveLine removes a claim from the line.
	LeaveLine(ctx context.Context, ref PoolRef, c Claim) error
	// FreeSlots frees the given slots that belong to holder.
	FreeSlots(ctx context.Context, ref PoolRef, holder string, numbers []int) error
}

// Holder identifies one try of a task, or an attempt as a whole, in a claim.
type Holder struct {
	Attempt int64
	Task    int // number of the task in the attempt; 0: the attempt as a whole
	Try     int
}

func (h Holder) String() string { return fmt.Sprintf("%d/%d/%d", h.Attempt, h.Task, h.Try) }

// ParseHolder parses the result of Holder.String.
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
