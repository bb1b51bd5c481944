package host

import (
	"crypto/rand"
	"fmt"
	"time"

	"zerodag/engine/param"
)

// AnySite is the site that the host passes when it looks up an object by id, regardless of the object's site.
const AnySite int64 = -1

// Ref refers to a project or a workflow.
type Ref struct {
	ID   int64
	Name string
}

// Project is a folder of workflows that was pushed, with its newest revision.
type Project struct {
	ID        int64
	Site      int64
	Name      string // as it was before a deletion
	CreatedAt time.Time
	DeletedAt time.Time // zero if it is not deleted
	Paused    Pause     // zero: its attempts may start
	Latest    Revision
}

// Pause records who paused a project's starts, when and why.
type Pause struct {
	By, Reason string
	At         time.Time
}

// IsZero reports whether the project is not paused.
func (p Pause) IsZero() bool { return p.At.IsZero() }

// Revision is one pushed version of a project.
type Revision struct {
	ID         int64
	ProjectID  int64
	Name       string
	CreatedAt  time.Time
	Archive    string // key of the archive in Blobs
	ArchiveMD5 []byte
	UserInfo   *param.Map // the pusher, according to the authenticator
	Kept       ArchiveState
}

// Workflow is a definition: one workflow of one revision.
type Workflow struct {
	ID       int64
	Site     int64
	Project  Ref
	Revision Ref
	Archive  string // key of the revision's archive in Blobs
	Name     string
	Zone     string
	Config   *param.Map
}

// Schedule describes when a workflow of a project runs next.
type Schedule struct {
	ID         int64
	Site       int64
	Project    Ref
	Workflow   Ref // the newest definition
	Times      Times
	CreatedAt  time.Time
	UpdatedAt  time.Time
	DisabledAt time.Time // zero while it is enabled
}

// Times is the changing part of a schedule. Once a schedule has ended, both of its next times are 9999-01-01.
type Times struct {
	Run     time.Time // when the next attempt starts
	Session time.Time // its session time
	Last    time.Time // session time of the last started attempt; zero for none
}

// Session is a workflow (by name: it spans revisions) at a session time.
type Session struct {
	ID       int64
	Site     int64
	Project  Ref
	Workflow Ref // the last attempt's definition; ID is 0 if it no longer exists
	UUID     string
	Time     time.Time
	Last     Attempt
}

// Attempt is the row of one run of a session; its tasks are in its log.
type Attempt struct {
	ID          int64
	Site        int64
	SessionID   int64
	SessionUUID string
	SessionTime time.Time
	Project     Ref
	Workflow    Ref
	Index       int    // 1, 2, 3 ... in the session
	RetryName   string // "" for none; unique in the session
	Zone        string
	Params      *param.Map
	Labels      *param.Map // strings by which users find it; nil for none
	CreatedAt   time.Time
	StartsAt    time.Time // requested start time in whole seconds; zero: it began at once
	FinishedAt  time.Time // zero until it has ended
	Canceled    bool      // a kill was requested
	Paused      bool      // no new work begins; its state contains the user who paused it
	Done        bool
	Success     bool
	Ignored     bool // it succeeded with ignored errors
	Imported    bool // it ran on another server: its tasks and logs are unknown
	HasOutputs  bool // its final state has outputs, which are read only on request
	// AfterSession is the session that must have no unfinished attempt before this one starts
	// (backfill); 0 once it was started.
	AfterSession int64
}

// BeginsAt returns when the attempt began, or will begin if it waits for its start time.
func (a *Attempt) BeginsAt() time.Time {
	if a.StartsAt.After(a.CreatedAt) {
		return a.StartsAt
	}
	return a.CreatedAt
}

// Status returns the status as the REST API shows it.
func (a *Attempt) Status() string {
	switch {
	case a.Success:
		return "success"
	case a.Done && a.Canceled:
		return "killed"
	case a.Done:
		return "error"
	}
	return "running"
}

// NewUUID returns a random (version 4) UUID.
func NewUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
