package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
)

// Backfill is a set of sessions of a workflow that are started as a unit: a few of them run at once, and when one ends,
// the next one begins.
type Backfill struct {
	ID       int64
	Site     int64
	Project  Ref
	Workflow Ref // the definition that all of its attempts run
	// Name is the name in the request. It is unique among the backfills of the workflow, so a repeated request adds no
	// backfill.
	Name      string
	Plan      BackfillPlan
	State     BackfillState
	CreatedAt time.Time
	UpdatedAt time.Time
	// FinishedAt is when the last session ended; zero before that.
	FinishedAt time.Time
	Version    int64 // how many times it was changed
}

// BackfillPlan is the request for a backfill. It never changes.
type BackfillPlan struct {
	Sessions   SessionTimes `json:"sessions"` // ascending, without duplicates
	Parallel   int          `json:"parallel"` // how many run at once
	Descending bool         `json:"descending,omitempty"`
	Existing   string       `json:"existing,omitempty"` // treatment of existing sessions
	Priority   int          `json:"priority"`
	Params     *param.Map   `json:"params,omitempty"`
	Zone       string       `json:"zone"` // of the workflow
}

// BackfillState is a backfill's progress.
type BackfillState struct {
	Begun   int           `json:"begun,omitempty"`   // sessions of the plan, in the order of starting, that have begun or were skipped
	Running []BackfillRun `json:"running,omitempty"` // sessions that have begun and have not ended

	Succeeded int `json:"succeeded,omitempty"`
	Failed    int `json:"failed,omitempty"`
	LeftOut   int `json:"leftOut,omitempty"` // skipped because they already existed, or because the backfill ended first
	// FailedAttempts lists the first failed attempts.
	FailedAttempts []int64 `json:"failedAttempts,omitempty"`

	OnHold bool   `json:"held,omitempty"`   // no more sessions begin for now
	Killed bool   `json:"killed,omitempty"` // no more sessions begin, and running sessions are killed
	Why    string `json:"why,omitempty"`    // why no more sessions begin: no attempt can start anymore
}

// BackfillRun is a session of a backfill that has begun. It is recorded before its attempt is created, so that a
// process that ends in between leaves no attempt that the backfill does not list.
type BackfillRun struct {
	Session int       `json:"session"`           // its place in the plan
	Attempt int64     `json:"attempt,omitempty"` // 0: not known or not created yet
	Since   time.Time `json:"since"`
}

// Backfills stores backfills.
type Backfills interface {
	// AddBackfill stores a new backfill and returns it with its id. If the name is taken, it returns ErrConflict with the
	// existing backfill.
	AddBackfill(ctx context.Context, b Backfill) (Backfill, error)
	// Backfill returns a backfill, or ErrNotFound.
	Backfill(ctx context.Context, site, id int64) (Backfill, error)
	// Backfills lists backfills, descending by id. The list of open backfills of all sites may miss a very recent one.
	Backfills(ctx context.Context, q BackfillQuery) ([]Backfill, error)
	// UpdateBackfill replaces State, UpdatedAt and FinishedAt and increments the version if it still equals b's; otherwise
	// it returns ErrConflict. It may also return ErrConflict if the response to an earlier update was lost and the
	// backfill has changed since. The caller must then read the backfill again.
	UpdateBackfill(ctx context.Context, b Backfill) error
	// ForgetBackfills removes up to n backfills, of all sites, that ended before t, and returns their number.
	ForgetBackfills(ctx context.Context, t time.Time, n int) (int, error)
}

// BackfillQuery selects backfills of a site.
type BackfillQuery struct {
	Site     int64  // AnySite: all, only with Open
	Project  int64  // 0 is any
	Workflow string // exact, only with Project; "" means any
	Open     bool   // only backfills that have not ended
	Before   int64  // only smaller ids; 0 means all
	Count    int    // 0 is all
}

// backfillName is the prefix of backfill attempt names.
const backfillName = "backfill-"

// AttemptName returns the retry attempt name of all attempts of a backfill.
func (b *Backfill) AttemptName() string { return backfillName + strconv.FormatInt(b.ID, 10) }

// BackfillOf returns the backfill that an attempt belongs to, according to its name. A user who starts an attempt may
// also choose such a name; what the backfill records about the session decides.
func BackfillOf(a Attempt) (id int64, ok bool) {
	text, ok := strings.CutPrefix(a.RetryName, backfillName)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && strconv.FormatInt(id, 10) == text
}

// Left returns how many sessions have not begun yet.
func (b *Backfill) Left() int {
	if b.Stopped() {
		return 0
	}
	return len(b.Plan.Sessions) - b.State.Begun
}

// Stopped reports whether no more sessions will ever begin.
func (b *Backfill) Stopped() bool { return b.State.Killed || b.State.Why != "" }

// Status returns the status as the REST API shows it.
func (b *Backfill) Status() string {
	over := !b.FinishedAt.IsZero()
	switch {
	case over && b.State.Killed:
		return "killed"
	case over && (b.State.Failed > 0 || b.State.Why != ""):
		return "error"
	case over:
		return "success"
	case b.State.Killed:
		return "killing"
	case b.State.OnHold:
		return "held"
	}
	return "running"
}

// SessionTimes holds session times in ascending order. They are stored as runs of equidistant times, so the times of a
// schedule need only a few numbers, however many there are.
type SessionTimes []time.Time

// MarshalJSON writes a run as [first, step, number], in seconds.
func (t SessionTimes) MarshalJSON() ([]byte, error) {
	runs := [][3]int64{}
	for i := 0; i < len(t); {
		run := [3]int64{t[i].Unix(), 0, 1}
		if i+1 < len(t) {
			run[1] = t[i+1].Unix() - t[i].Unix()
		}
		for i++; i < len(t) && t[i].Unix() == run[0]+run[1]*run[2]; i++ {
			run[2]++
		}
		runs = append(runs, run)
	}
	return json.Marshal(runs)
}

// UnmarshalJSON parses the output of MarshalJSON.
func (t *SessionTimes) UnmarshalJSON(b []byte) error {
	var runs [][3]int64
	if err := json.Unmarshal(b, &runs); err != nil {
		return fmt.Errorf("read session times: %w", err)
	}
	*t = SessionTimes{}
	for _, run := range runs {
		for n := range run[2] {
			*t = append(*t, time.Unix(run[0]+n*run[1], 0).UTC())
		}
	}
	return nil
}

// EncodeBackfill returns the plan and state of a backfill as text for stores.
func EncodeBackfill(b Backfill) (plan, state []byte, err error) {
	if plan, err = json.Marshal(b.Plan); err == nil {
		state, err = json.Marshal(b.State)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("encode backfill: %w", err)
	}
	return plan, state, nil
}

// DecodeBackfill sets the plan and state from the output of EncodeBackfill.
func (b *Backfill) DecodeBackfill(plan, state []byte) error {
	for _, part := range []struct {
		text []byte
		to   any
	}{{plan, &b.Plan}, {state, &b.State}} {
		if err := json.Unmarshal(part.text, part.to); err != nil {
			return fmt.Errorf("decode backfill %d: %w", b.ID, err)
		}
	}
	return nil
}
