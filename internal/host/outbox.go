package host

import (
	"context"
	"time"
)

// Outbox stores notices until they are delivered: one row for each channel, so that each has its own tries. It also
// stores which notices belong together (NoticeGroup), and the outcomes of each channel.
type Outbox interface {
	// PutNotices stores a notice for its channels, as one change: each batch is what one route makes of it. A batch of a
	// group whose quiet time has not passed at a given time is only counted. If a notice with the same key is still stored,
	// or is the last one of its group, it changes nothing.
	PutNotices(ctx context.Context, at time.Time, batches ...NoticeBatch) error
	// Notices lists notices of a site, ascending by id.
	Notices(ctx context.Context, q NoticeQuery) ([]StoredNotice, error)
	// DueNotices lists up to n notices of a channel whose next try is due at a given time, the earliest first.
	DueNotices(ctx context.Context, channel string, at time.Time, n int) ([]StoredNotice, error)
	// UpdateNotice replaces Since, Due, Tries, Error and GivenUpAt. It returns ErrConflict if the stored notice no longer has
	// the given tries, or was deleted: another process has tried to deliver it.
	UpdateNotice(ctx context.Context, n StoredNotice, tries int) error
	// DeleteNotice removes a notice; a missing one is not an error.
	DeleteNotice(ctx context.Context, id int64) error
	// DropNotices removes the notices that were given up before a given time, and the groups that have been quiet since
	// before then.
	DropNotices(ctx context.Context, before time.Time) error
	NoticeRecords
}

// NoticeRecords is the part of an Outbox that is about notices as a whole.
type NoticeRecords interface {
	// NoticeGroups lists groups, by key.
	NoticeGroups(ctx context.Context, q GroupQuery) ([]NoticeGroup, error)
	// EndQuiet sets the time until which groups are quiet and sets their Unsent to 0, or removes them if that time is zero;
	// it stores notices in the same change. It returns ErrConflict and changes nothing if one of the groups was changed since
	// it was read.
	EndQuiet(ctx context.Context, groups []NoticeGroup, until time.Time, notices ...StoredNotice) error
	// NoteDelivery records the outcome of the newest try of a channel: an error, or "" for a delivery.
	NoteDelivery(ctx context.Context, channel, problem string, at time.Time) error
	// Deliveries lists the recorded outcomes of all channels that were tried, by name.
	Deliveries(ctx context.Context) ([]ChannelDelivery, error)
}

// NoticeBatch is what one route makes of a notice.
type NoticeBatch struct {
	Event   string      // names the event of the notice, as StoredNotice.Key does
	Group   NoticeGroup // without Key: the notice belongs to no group and is stored in any case
	Notices []StoredNotice
}

// NoticeGroup is a kind of trouble that one route reports: the first notice is sent, and for a while further ones are
// only counted.
type NoticeGroup struct {
	Key      string // names the route and the trouble
	Route    string
	Site     int64
	Project  string
	Workflow string
	Kind     NoticeKind
	Until    time.Time // further notices are only counted until then
	Seen     int       // the number of notices since the group was created
	Unsent   int       // how many of them were only counted since the last notice was sent
	Last     string    // the event of the newest one
	Body     []byte    // JSON, of the newest one
}

// GroupQuery selects groups.
type GroupQuery struct {
	Site     int64 // AnySite: all
	Project  string
	Workflow string    // only those of this workflow of Project; "": all
	Due      time.Time // only those that have unsent notices, and whose quiet time has passed by then; zero: all
	Count    int       // 0 is all
}

// ChannelDelivery is how the newest tries of a channel ended. The times are zero if there was none.
type ChannelDelivery struct {
	Channel     string
	DeliveredAt time.Time
	FailedAt    time.Time
	Error       string // of the newest failed try
	Waiting     int    // the number of its notices that are not delivered and will be tried again
}

// Keeper takes over the delivery of notices, no matter what happens to this process.
type Keeper interface {
	// Keep returns once the notice is stored. key names the event that it is about: a second call with the same key
	// changes nothing while the notice is stored.
	Keep(ctx context.Context, n Notice, key string) error
	// Succeeded is called before an attempt is recorded as successful: a workflow whose failure was reported has recovered.
	// A repeated call changes nothing.
	Succeeded(ctx context.Context, a Attempt) error
}

// StoredNotice is a notice that is not delivered yet, or was given up.
type StoredNotice struct {
	ID        int64
	Key       string // names the event that it is about, so that a repeated call does not notify twice
	Channel   string
	Kind      NoticeKind
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
	Site    int64  // AnySite: all
	ID      int64  // 0 is any
	Attempt int64  // 0 is any
	Channel string // "" is any
	GivenUp bool   // only those
	Waiting bool   // only those that will be tried again
	After   int64  // only greater ids
	Count   int    // 0 is all
}

// NoticeRoute selects notices for channels. Empty lists select everything.
type NoticeRoute struct {
	Name      string
	Channels  []string
	Sites     []int64
	Projects  []string // globs
	Workflows []string // globs
	Tags      []string // at least one of them
	Kinds     []NoticeKind
	Quiet     time.Duration // after a notice, similar ones are counted and summarized for this long; 0: never
}

// NoticeChannel is a configured channel without its secrets, with the outcomes of its tries.
type NoticeChannel struct {
	Name string
	Type string // "slack", "mail" ...
	ChannelDelivery
}

// NoticeTest is the outcome of a notice that was sent as a test.
type NoticeTest struct {
	Channel string
	Answer  string // of the receiver
	Error   string // "" if it accepted the notice
}
