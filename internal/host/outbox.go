package host

import (
	"context"
	"time"
)

// Outbox stores notices until they are delivered: one row for each channel, so that each has its own tries. It also
// stores which notices belong together (NoticeGroup), and the outcomes of each channel's tries.
type Outbox interface {
	// PutNotices stores a notice for its channels, in a single change. Each batch contains the notices that one route
	// makes of it. A batch of a group whose quiet time has not passed at the given time is only counted. PutNotices
	// changes nothing if a notice with the same key is still stored or was the last one of its group.
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

// NoticeRecords is the part of an Outbox that manages groups of notices and the outcomes of channels.
type NoticeRecords interface {
	// NoticeGroups lists groups, sorted by key.
	NoticeGroups(ctx context.Context, q GroupQuery) ([]NoticeGroup, error)
	// EndQuiet changes the end of the groups' quiet time and sets their Unsent to 0, or removes the groups if the new
	// time is zero. It stores notices in the same change. It returns ErrConflict and changes nothing if one of the
	// groups was changed since it was read.
	EndQuiet(ctx context.Context, groups []NoticeGroup, until time.Time, notices ...StoredNotice) error
	// NoteDelivery records the outcome of a channel's newest try: an error, or "" for a delivery.
	NoteDelivery(ctx context.Context, channel, problem string, at time.Time) error
	// Deliveries lists the recorded outcomes of all channels that were tried, sorted by name.
	Deliveries(ctx context.Context) ([]ChannelDelivery, error)
}

// NoticeBatch contains the notices that one route makes of a notice.
type NoticeBatch struct {
	Event   string      // identifies the notice's event, as StoredNotice.Key does
	Group   NoticeGroup // without Key: the notice belongs to no group and is stored in any case
	Notices []StoredNotice
}

// NoticeGroup is a kind of trouble that one route reports: the first notice is sent, and for a while further ones are
// only counted.
type NoticeGroup struct {
	Key      string // identifies the route and the trouble
	Route    string
	Site     int64
	Project  string
	Workflow string
	Kind     NoticeKind
	Until    time.Time // further notices are only counted until then
	Seen     int       // number of notices since the group was created
	Unsent   int       // number of notices that were only counted since the last one was sent
	Last     string    // the event of the newest one
	Body     []byte    // JSON, of the newest one
}

// GroupQuery selects groups.
type GroupQuery struct {
	Site     int64 // AnySite: all
	Project  string
	Workflow string    // only groups of this workflow in Project; "": all
	Due      time.Time // only groups that have unsent notices and whose quiet time has passed by then; zero: all
	Count    int       // 0 is all
}

// ChannelDelivery records the outcome of a channel's newest tries. A time is zero if there was no such try.
type ChannelDelivery struct {
	Channel     string
	DeliveredAt time.Time
	FailedAt    time.Time
	Error       string // of the newest failed try
	Waiting     int    // number of its notices that are not delivered yet and will be tried again
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
	Key       string // identifies the event that it is about, so that a repeated call does not notify users twice
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
	GivenUp bool   // only notices that were given up
	Waiting bool   // only notices that will be tried again
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
	Quiet     time.Duration // how long similar notices are counted and summarized after a notice; 0: never
}

// NoticeChannel describes a configured channel, without its secrets but with the outcomes of its tries.
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
