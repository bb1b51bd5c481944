package host

import (
	"context"
	"time"
)

// Outbox stores notices until they are delivered: one row for each channel, so that each has its own tries. It also
// stores which notices belong together (NoticeGroup), and the outcomes of each channel's tries.
type Outbox interface {
	// PutNotices stores a notice for its channels, as one change: each batch holds what one route makes of it. A batch of
	// a group whose quiet time has not passed at a given time is only counted; it is always sent if its own Group.Until is
	// zero. If a notice with the same key is still stored, or is the last one of its group, it changes nothing. The
	// batches are in the order of their Group.Key: all callers lock groups in the same order.
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
	// DropNotices removes the notices that were given up on before a given time.
	DropNotices(ctx context.Context, before time.Time) error
	NoticeRecords
}

// NoticeRecords is the part of an Outbox that manages groups of notices and the outcomes of channels.
type NoticeRecords interface {
	// DropGroups removes the groups whose quiet time passed before a given time and that have no unsent notices: only those
	// of some kinds and of some routes. An empty list selects all.
	DropGroups(ctx context.Context, before time.Time, kinds []NoticeKind, routes []string) error
	// NoticeGroups lists groups, by key.
	NoticeGroups(ctx context.Context, q GroupQuery) ([]NoticeGroup, error)
	// EndQuiet sets the time until which groups are quiet and sets their Unsent to 0, or removes them if that time is zero;
	// it stores notices in the same change. It returns ErrConflict and changes nothing if one of the groups was changed since
	// it was read. The groups are in the order of their keys, like those of PutNotices.
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
	Until    time.Time // further notices are only counted until then; zero in a batch: its notices are sent in any case
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
	Routes   []string  // only those of these routes; empty: all
	Without  []string  // none of these routes
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

// StoredNotice is a notice that has not been delivered yet, or was given up on.
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
	Due       time.Time // of the next try; zero: it was given up on
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
	GivenUp bool   // only notices that were given up on
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
