package host

import (
	"context"
	"io"
	"time"
	"zerodag/engine"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// Every port has one contract suite in hosttest that each driver passes (hosttest.Exercise). Unless a method documents
// otherwise: a call that returned nil is durable, reads see everything that was acknowledged before them, and a call
// may be repeated after an error that is not an answer of the store. Times have at least millisecond precision and are
// UTC.

// Log keeps the log of each attempt. A conditional append is the only lock there is.
type Log interface {
	// Append writes an entry. ErrConflict when the attempt has one of that sequence number
	// by another writer; an entry with the same nonce is there already: that is success.
	// Entry 1 is written by Attempts.Start or Begin only: to append to an attempt without
	// entries is ErrNotFound. A store that may go back to an earlier state of itself checks Basis: see there.
	Append(ctx context.Context, attempt int64, e Entry) error
	// Load reads, consistently, the newest snapshot and everything after it, in order.
	// ErrNotFound when the attempt has no entry.
	Load(ctx context.Context, attempt int64) (Stored, error)
	// History returns up to n entries from sequence number first, in order, with the newest
	// snapshot before them; for looking back, and for forks.
	History(ctx context.Context, attempt int64, first int64, n int) (Stored, error)
}

// Entry is one step of an attempt: what happened, and what that changed.
type Entry struct {
	Seq      int64 // from 1, without gaps
	Nonce    string
	At       time.Time
	Events   []byte // JSON, for display; loading does not read it
	Changes  []byte // engine.EncodeChanges
	Snapshot []byte // engine.EncodeState after the changes, when one is due; else nil
	Basis    Basis  // is not stored
}

// Basis is what the writer of an entry relies on. A database that fails over to a standby may lose its last commits,
// and processes still remember them. Lost state must not become part of the log, so such a store checks the basis in
// the same transaction. Other stores ignore it.
type Basis struct {
	// After is the nonce of the previous entry: ErrConflict when the log has a different one there. "": the writer does
	// not know.
	After string
	// Receipt is that of the message that the entry is written for: ErrLeaseLost when no message is leased under that
	// receipt. "": there is none.
	Receipt string
}

// Stored is a part of a log: a snapshot (nil before the first) that holds everything up
// to and with entry At, and the entries after it.
type Stored struct {
	Snapshot []byte
	At       int64
	Nonce    string // of entry At, if the store has it
	Entries  []Entry
}

// Message is a message of a queue.
type Message struct {
	// ID is unique in the queue for as long as the message is there: if messages have a group, sending an ID again
	// changes nothing. An ID is used once, because some queues remember it for a while after its message was deleted.
	ID string
	// Group: messages of one group are received one after the other, in the order sent; ""
	// is no group.
	Group string
	// Share: in a fair queue, messages of a share with many messages wait behind those of others; "" means no share.
	Share string
	// Type is the operator that the receiver must support, if the queue has receivers that run tasks of some operators
	// only (Forwarder); "" is for all receivers.
	Type string
	Body []byte
	Due  time.Time // not received before; zero is now
	// Relative: Due only means a time from now on. A clock that is set back meanwhile need not delay
	// the message.
	Relative bool
}

// Delivery is a message under a lease.
type Delivery struct {
	Message
	Receipt string
	// Count is how often the message was received, this time included. It survives a crash: for "tasks" as soon as
	// Receive has returned, for "events" from the next change of the receiver on.
	Count int
	// Restarted: the previous receiver was a process that has since ended, with everything it started. False if that
	// cannot be known.
	Restarted bool
	// Crashed: that process was not asked to end.
	Crashed bool
	// Unbegun: judging by the times, no previous receiver began work on the message: it was handed out and came back
	// untouched, as when a function is throttled or dies at once. False if that cannot be known.
	Unbegun bool
	// Begun is the last name that any receiver of the message noted with Marker.Begin.
	Begun string
}

// Traits are properties of a queue that its users must take into account. Zero values are those of a queue in the store
// of a single process.
type Traits struct {
	// Remembers is how long the queue is certain to remember the ID of a message, even after the message was deleted;
	// until then sending a first message again is safe. 0: a first message is stored together with the record it is
	// about, and never has to be sent again.
	Remembers time.Duration
	// Rounding is how much later than its due time a message comes on average, because the
	// queue rounds delays up.
	Rounding time.Duration
	// StaleDeletes: a receiver whose lease has ended may still delete the message, although
	// another has received it since.
	StaleDeletes bool
}

// Queue is a leased queue: a receiver has a message until the lease ends; if it is not deleted by then it comes back.
// There are two: "events" and "tasks".
type Queue interface {
	// Traits are the same at every call.
	Traits() Traits
	// Send adds messages, all or none.
	Send(ctx context.Context, messages ...Message) error
	// Receive waits until there is at least one message or ctx ends, and leases up to n for
	// lease.
	Receive(ctx context.Context, n int, lease time.Duration) ([]Delivery, error)
	// Extend makes the lease last for another lease from now. ErrLeaseLost.
	Extend(ctx context.Context, d Delivery, lease time.Duration) error
	// Delete removes a message; with a lost lease it does nothing (no error). One without a group
	// comes again when the process, or the store, ends in the next moment; until the
	// deletion is durable its ID may count as there (see Send).
	Delete(ctx context.Context, d Delivery) error
	// Release gives a message back, to be received again after a delay. If the store could not be written, a restart
	// may cut the delay short.
	Release(ctx context.Context, d Delivery, delay time.Duration) error
}

// Forwarder is a Queue whose receivers may be some that take messages of some types only.
type Forwarder interface {
	Queue
	// Forward atomically replaces a leased message with another, for receivers of its type. ErrLeaseLost: the message
	// is leased elsewhere by now. A repeated call may return it because the first call succeeded.
	Forward(ctx context.Context, d Delivery, m Message) error
}

// Marker is a Queue whose receivers note each run that they begin. After a crash the notes show which runs had begun
// and which had only been received.
type Marker interface {
	Queue
	// Begin records the name of the run that the holder of a message begins now, replacing the last record. The record
	// survives a crash of the process; a loss of power may lose it. Without a name it records nothing. canceled is the
	// flag in the row of the message's attempt at that moment (AttemptFlags). known has the number and the nonce of the
	// entry that the holder saw last: a store that may go back to an earlier state of itself answers ErrConflict if its
	// log has lost that entry (see Basis), and other stores ignore it. ErrLeaseLost.
	Begin(ctx context.Context, d Delivery, name string, known Entry) (canceled bool, err error)
}

// Inventory lists messages, where queues and attempts are in one store. It shows whether what an attempt waits for
// still has a message.
type Inventory interface {
	// MessagesOf lists the messages of an attempt in both queues as they were at one moment during the call, leased
	// ones too. A message that was deleted after that moment may come without its body.
	MessagesOf(ctx context.Context, attempt int64) ([]Message, error)
	// Silent lists up to n unfinished attempts with ids above after, ascending, that have no message in either queue,
	// or none that would advance them: see IsDeadline. It omits paused attempts and attempts that wait for a session.
	Silent(ctx context.Context, after int64, n int) ([]int64, error)
}

// Database has the methods that a server needs of its database in addition to the ports.
type Database interface {
	// Counts sets all of Vitals but Free.
	Counts(ctx context.Context, v *Vitals) error
	// Depths counts what the queues hold: "events", then "tasks".
	Depths(ctx context.Context) ([]Depth, error)
	// Queued lists up to n messages of a queue in the order sent, from behind a place. ErrNotFound: there is no such
	// queue. Like Depths it changes neither counts nor leases.
	Queued(ctx context.Context, queue string, after int64, n int) ([]Queued, error)
	// Stopping records that this process was asked to end: however it ends now, it is not a crash (Delivery.Crashed).
	Stopping() error
	// Close closes the database; closing it again has no effect. Later reads and changes, and waiting receivers, return
	// ErrUnavailable. Calls about a lease may succeed without an effect: the lease ends with the process.
	Close() error
}

// Sync selects which changes of a database survive a loss of power. All survive the end of the process.
type Sync int

const (
	// SyncAcknowledged is for changes that were acknowledged to users: pushes, starts, secrets, schedules, tokens. The
	// progress of attempts since then may be repeated.
	SyncAcknowledged Sync = iota
	// SyncAll is for every change.
	SyncAll
	// SyncNone is for none: tests, and data that can be lost.
	SyncNone
)

// Projects keeps projects and revisions. Things of other sites are ErrNotFound.
type Projects interface {
	// Push adds a revision with its workflows, and brings the schedules in line, in one
	// transaction. The project is made when there is none of that name. ErrConflict, with the
	// project's ID: it has a revision of that name.
	Push(ctx context.Context, p Push) (Project, error)
	// Project returns a project, even a deleted one.
	Project(ctx context.Context, site, id int64) (Project, error)
	// Projects lists living projects, ascending by id.
	Projects(ctx context.Context, q ProjectQuery) ([]Project, error)
	// DeleteProject takes the name away and deletes the schedules; the rest stays.
	DeleteProject(ctx context.Context, site, id int64, at time.Time) error
	// PauseProject sets who has paused a project; a zero Pause: it is not paused. A push keeps it. ErrNotFound if the
	// project was deleted.
	PauseProject(ctx context.Context, site, id int64, p Pause) error
	// Revisions lists revisions of a project, newest first.
	Revisions(ctx context.Context, q RevisionQuery) ([]Revision, error)
	// Sites lists up to n sites that have, or had, projects, ascending, with numbers above after.
	Sites(ctx context.Context, after int64, n int) ([]Site, error)
}

// Site is one of the tenants that share a deployment and do not see each other.
type Site struct {
	ID       int64
	Projects int // living ones
}

// Push is a new revision.
type Push struct {
	Site      int64
	Project   string
	Revision  Revision // Name, CreatedAt, Archive, ArchiveMD5, UserInfo
	Workflows []dig.Workflow
	// Schedules has the new times of schedules, by name of the workflow. Schedules of names that are not in it are
	// deleted.
	Schedules map[string]NextTimes
}

// NextTimes returns the times of a schedule under a new revision. old is nil when there is no schedule yet; paused is
// whether the project is paused. It is pure and may be called more than once.
type NextTimes func(old *Schedule, paused bool) Times

// ProjectQuery selects projects of a site.
type ProjectQuery struct {
	Site    int64  // AnySite: all, and Name is not asked for
	Name    string // exact; "" is any
	Pattern string // part of the name, case-sensitive; "" is any
	After   int64  // ids above this
	Count   int
}

// RevisionQuery selects revisions of a project.
type RevisionQuery struct {
	Site    int64
	Project int64
	Name    string // exact; "" is any
	Before  int64  // ids below this; 0 is all
	Count   int    // 0 is all
}

// Workflows reads definitions.
type Workflows interface {
	// Workflow returns a definition of any revision; also of a deleted project.
	Workflow(ctx context.Context, site, id int64) (Workflow, error)
	// Workflows lists definitions.
	Workflows(ctx context.Context, q WorkflowQuery) ([]Workflow, error)
}

// WorkflowQuery selects definitions: of one revision, or of the newest ones of all living
// projects of a site.
type WorkflowQuery struct {
	Site       int64
	Revision   int64  // 0: the newest revision of each living project
	Name       string // exact; "" is any
	Pattern    string // part of the name
	OrProject  bool   // Pattern may be part of the project's name instead
	Last       int64  // ids behind this in the order asked for; 0 is all
	Count      int    // 0 is all
	Bytes      int    // see Page; 0 means no limit
	Descending bool
}

// Schedules keeps when workflows run.
type Schedules interface {
	// Schedule returns a schedule of a living project. ErrNotFound.
	Schedule(ctx context.Context, site, id int64) (Schedule, error)
	// Schedules lists schedules of living projects, ascending by id.
	Schedules(ctx context.Context, q ScheduleQuery) ([]Schedule, error)
	// Update replaces Times and DisabledAt (and UpdatedAt by at), if Times are still old;
	// else ErrConflict.
	Update(ctx context.Context, s Schedule, old Times, at time.Time) error
	// Due returns up to n (0: all) enabled schedules with Times.Run after from and at or
	// before until, the earliest first, of all sites.
	Due(ctx context.Context, from, until time.Time, n int) ([]Schedule, error)
	// EachDue passes the schedules that Due lists to do in parts, the earliest first and as they are read, until there
	// are no more or do returns an error.
	EachDue(ctx context.Context, from, until time.Time, do func([]Schedule) error) error
	// NextDue is the earliest Times.Run of an enabled schedule; zero when there is none.
	NextDue(ctx context.Context) (time.Time, error)
}

// ScheduleQuery selects schedules of a site.
type ScheduleQuery struct {
	Site     int64
	Project  int64  // 0 is any
	Workflow string // exact; "" is any
	After    int64
	Count    int // 0 is all
}

// AttemptFlags are the flags in the row of an attempt under way.
type AttemptFlags interface {
	// Cancel sets Canceled, unless the attempt is done.
	Cancel(ctx context.Context, id int64) error
	// SetPaused sets Paused or takes it away, unless the attempt is done; repeated it changes nothing.
	SetPaused(ctx context.Context, id int64, paused bool) error
}

// Attempts keeps sessions and attempts: their rows, not their tasks.
type Attempts interface {
	AttemptFlags
	// Start creates the session, unless it exists, and the attempt with its entry 1 and its first message, for all of
	// the list or none. ErrConflict with the existing attempt: the one of that retry name, or, without a name or when a
	// New session has none of that name, the session's last. ErrForgotten, also for all or none, if one of them is Once
	// and its session was removed.
	Start(ctx context.Context, list ...NewAttempt) ([]Attempt, error)
	// Begin starts an attempt that waited: it writes its entry 1 and first message and sets AfterSession to
	// 0. ErrConflict if the attempt has already begun.
	Begin(ctx context.Context, attempt int64, first Entry, m Message) error
	// Attempt returns an attempt.
	Attempt(ctx context.Context, site, id int64) (Attempt, error)
	// Finish ends the attempt and keeps its archive; repeated it changes nothing.
	Finish(ctx context.Context, id int64, e End) error
	// Archive returns what Finish kept; ErrNotFound before.
	Archive(ctx context.Context, id int64) ([]byte, error)
	// Expire deletes up to n logs (entries and snapshots, not rows or archives) of attempts that finished before t, and
	// returns how many: 0 if logs expire automatically.
	Expire(ctx context.Context, t time.Time, n int) (int, error)
}

// Retention removes old data.
type Retention interface {
	// Old lists up to n attempts that were made before t, with ids above after, ascending by id, of all
	// sites. Their Params and Labels may be left out.
	Old(ctx context.Context, t time.Time, after int64, n int) ([]Attempt, error)
	// Forget removes a session with its attempts, their logs, final states and short logs of tasks. It changes nothing
	// and returns false if one of the attempts has not ended before t; if the session time is not before t (the session
	// ran ahead of its time and may be requested until then) or not before the Times.Session of the workflow's
	// schedule, even a disabled one (it skips sessions that exist); if an attempt waits for the session; or if the next
	// session of the workflow is not over: the last session that is over always stays. The removal is recorded
	// permanently, together with the session's first attempt that is removed: see NewAttempt.Once. clear, unless nil,
	// removes data of the attempts that is stored elsewhere. It is called once they are gone: until then one of them
	// may be started again, and then all stay complete. A process that ends in between leaves data behind that no one
	// requests any more. An error of clear is returned with true. A session with very many attempts may be removed in
	// parts, its first and its last attempt together at the end; otherwise it is there or it is not.
	Forget(ctx context.Context, site, session int64, t time.Time, clear func(context.Context, []Attempt) error) (bool, error)
	// Clear removes invisible leftovers of an interrupted Forget.
	Clear(ctx context.Context) error
	// SetArchive changes the recorded state of the archive of a revision, if that still is old; else ErrConflict. It
	// may be repeated.
	SetArchive(ctx context.Context, r Revision, old, state ArchiveState) error
	// ForgetRecords removes up to n entries of the audit log that were made before t, of all sites, the
	// oldest first, and reports how many.
	ForgetRecords(ctx context.Context, t time.Time, n int) (int, error)
}

// NewAttempt describes an attempt to start.
type NewAttempt struct {
	Site        int64
	Project     Ref
	Workflow    Ref
	SessionTime time.Time
	RetryName   string
	Zone        string
	Params      *param.Map
	CreatedAt   time.Time
	StartsAt    time.Time  // see Attempt
	Labels      *param.Map // nil for none
	// Once means that no user requested this attempt: it is not started if retention has removed its session, because
	// it may already have run.
	Once bool
	// New means that the session must have no attempt yet: else ErrConflict, with its last one.
	New bool
	// WaitsFor, unless negative, is the index in the same call of the attempt whose session
	// must be over first: this one then has no First and no Message yet.
	WaitsFor int
	First    Entry   // entry 1
	Message  Message // sent to events with its Group set to the attempt's id in decimal and "<id>/" put before its ID
}

// End is how an attempt ended.
type End struct {
	At       time.Time
	Success  bool
	Canceled bool
	Archive  []byte // the final state, engine.EncodeState
	// Ignored: the attempt succeeded, and errors of tasks are ignored.
	Ignored bool
	// HasOutputs: there are outputs in it.
	HasOutputs bool
	// GivenUp: it could not continue, and users are notified. Stores need not keep that.
	GivenUp bool
	// Failed is the task because of which the attempt failed, and Why its error; for display. Stores need not keep
	// them: they are part of the archive.
	Failed, Why string
	// Final is the state that Archive encodes, for traces; nil if the attempt ended without one. Stores ignore it.
	Final *engine.State
}

// Sessions lists sessions and attempts.
type Sessions interface {
	// Session returns a session with its last attempt. ErrNotFound.
	Session(ctx context.Context, site, id int64) (Session, error)
	// Sessions lists sessions with their last attempts, descending by id.
	Sessions(ctx context.Context, q SessionQuery) ([]Session, error)
	// Attempts lists attempts, descending by id.
	Attempts(ctx context.Context, q AttemptQuery) ([]Attempt, error)
	// Active lists unfinished attempts, ascending by id. Those that wait are among them.
	Active(ctx context.Context, q ActiveQuery) ([]Attempt, error)
	// CountActive counts unfinished attempts of a site, up to limit.
	CountActive(ctx context.Context, site int64, limit int) (int, error)
	// Waiting lists attempts that wait for a session.
	Waiting(ctx context.Context, session int64) ([]Attempt, error)
	// LastSession returns the newest session time of a workflow before t; zero for none.
	LastSession(ctx context.Context, project int64, workflow string, t time.Time) (time.Time, error)
}

// ActiveQuery selects unfinished attempts.
type ActiveQuery struct {
	Site  int64     // AnySite: all
	After int64     // ids above this
	Since time.Time // attempts made before may be left out; zero: none are
	Count int
}

// SessionQuery selects sessions of a site.
type SessionQuery struct {
	Site     int64
	Project  int64  // 0 is any
	Workflow string // exact; "" is any
	// Times are the session times that are asked for, with Project and Workflow, whatever is said below; nil: any.
	Times  []time.Time
	Before int64 // ids below; 0 is all
	Count  int
	Bytes  int // see Page; 0 means no limit
}

// AttemptQuery selects attempts of a site.
type AttemptQuery struct {
	Site     int64
	Project  int64  // 0 is any
	Workflow string // exact; "" is any
	Session  int64  // 0 is any
	Retried  bool   // include attempts that are not the last of their session
	Before   int64  // ids below; 0 is all
	Count    int    // 0 is all
	Bytes    int    // see Page; 0 means no limit
}

// Blobs keeps archives by key. A key is written once: its content never changes.
type Blobs interface {
	// Put stores size bytes of r under key; a key that is there already is left alone.
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	// Open reads a blob. ErrNotFound.
	Open(ctx context.Context, key string) (io.ReadCloser, int64, error)
	// Delete removes a blob; a missing blob is not an error.
	Delete(ctx context.Context, key string) error
	// Link returns a URL that reads the blob without credentials; "" when the store has none.
	Link(ctx context.Context, key string, valid time.Duration) (string, error)
}

// Secrets keeps the secrets of projects, encrypted.
type Secrets interface {
	// PutSecret sets a secret, or replaces it. A value of more than 16 KiB is refused.
	PutSecret(ctx context.Context, site, project int64, key, value string) error
	// DeleteSecret removes a secret; a missing secret is not an error.
	DeleteSecret(ctx context.Context, site, project int64, key string) error
	// SecretKeys lists the keys in their order.
	SecretKeys(ctx context.Context, site, project int64) ([]string, error)
	// ProjectSecrets returns all secrets of a project by key.
	ProjectSecrets(ctx context.Context, site, project int64) (map[string]string, error)
}
