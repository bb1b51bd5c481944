package host

import (
	"context"
	"time"
)

// Outbox stores notices until they are delivered.
type Outbox interface {
	// PutNotice stores a notice. If a notice with the same key is still stored, it changes nothing.
	PutNotice(ctx context.Context, n StoredNotice) error
	// Notices lists notices of a site, ascending by id.
	Notices(ctx context.Context, q NoticeQuery) ([]StoredNotice, error)
	// DueNotices lists up to n notices whose next try is due at a given time, the earliest first.
	DueNotices(ctx context.Context, at time.Time, n int) ([]StoredNotice, error)
	// UpdateNotice replaces Since, Due, Tries, Error and GivenUpAt. It returns ErrConflict if the stored notice no longer has
	// the given tries, or was deleted: another process has tried to deliver it.
	UpdateNotice(ctx context.Context, n StoredNotice, tries int) error
	// DeleteNotice removes a notice; a missing one is not an error.
	DeleteNotice(ctx context.Context, id int64) error
	// DropNotices removes the notices that were given up before a given time.
	DropNotices(ctx context.Context, before time.Time) error
}

// Keeper takes over the delivery of notices, no matter what happens to this process.
type Keeper interface {
	// Keep returns once the notice is stored. key names the event that it is about: a second call with the same key
	// changes nothing while the notice is stored.
	Keep(ctx context.Context, n Notice, key string) error
}

// StoredNotice is a notice that is not delivered yet, or was given up.
type StoredNotice struct {
	ID        int64
	Key       string // names the event that it is about, so that a repeated call does not notify twice
	Site      int64
	Attempt   int64
	Project   string
	Workflow  string
	Message   string
	Body      []byte // JSON, as it is sent
	CreatedAt time.Time
	Since     time.Time // when its tries began: when it was stored, or last sent again by a user
	Due       time.Time // of the next try; zero: it was given up
	Tries     int       // since then, including one in progress
	Error     string    // of the last failed try; "" for none
	GivenUpAt time.Time // zero while it is retried
}

// NoticeQuery selects notices.
type NoticeQuery struct {
	Site    int64 // AnySite: all
	ID      int64 // 0 is any
	Attempt int64 // 0 is any
	GivenUp bool  // only those
	After   int64 // only greater ids
	Count   int   // 0 is all
}
