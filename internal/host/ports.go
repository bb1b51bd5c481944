package host

import (
	"context"
	"io"
	"slices"
	"time"
	"zerodag/engine"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// Every port has one contract suite in hosttest that each driver passes (hosttest.Exercise). Unless a method documents
// otherwise, the effect of a call that returned nil is durable, reads see everything that was acknowledged before them,
// and a call may be repeated after an error that is not a response from the store. Times have at least millisecond
// precision and are UTC.

// Log stores each attempt's log. Its conditional append is the only lock.
type Log interface {
	// Append writes an entry. It returns ErrConflict if the attempt has an entry with that sequence number from another
	// writer; if the existing entry has the same nonce, the call succeeds. Only Attempts.Start and Begin write entry 1:
	// appending to an attempt without entries returns ErrNotFound. A store that may go back to an earlier state also
	// checks the entry's Basis.
	Append(ctx context.Context, attempt int64, e Entry) error
	// Load consistently reads the newest snapshot and all entries after it, in order. It returns ErrNotFound if the
	// attempt has no entry.
	Load(ctx context.Context, attempt int64) (Stored, error)
	// History returns up to n entries in order, beginning with sequence number first, with the newest snapshot before
	// them. It is used to show earlier states, and for forks.
	History(ctx context.Context, attempt int64, first int64, n int) (Stored, error)
}

// Entry is one step of an attempt: what happened, and what that changed.
type Entry struct {
	Seq      int64 // from 1, without gaps
	Nonce    string
	At       time.Time
	Events   []byte // JSON, for display; loading does not read it
	Changes  []byte // engine.EncodeChanges
	Snapshot []byte // engine.EncodeState after the changes if a snapshot is due, else nil
	Basis    Basis  // not stored
}

// Basis holds what an entry's writer assumes. A database that fails over to a standby may lose its last commits, while
// processes still remember them. Lost state must not become part of the log, so such a store checks the basis in the
// same transaction. Other stores ignore it.
type Basis struct {
	// After is the nonce of the previous entry: the store returns ErrConflict if the log has a different entry there. ""
	// means that the writer does not know it.
	After string
	// Receipt identifies the delivery of the message for which the entry is written: the store returns ErrLeaseLost if no
	// message is leased under that receipt. "" means that there is none.
	Receipt string
}

// Stored is a part of a log: a snapshot (nil before the first one) of the state after entry At, and the entries after
// it.
type Stored struct {
	Snapshot []byte
	At       int64
	Nonce    string // of entry At, if the store has it
	Entries  []Entry
}

// Message is a message in a queue.
type Message struct {
	// ID is unique in the queue for as long as the message exists: if messages have a group, sending an ID again
	// changes nothing. An ID must not be reused, because some queues remember it for a while after its message is
	// deleted.
	ID string
	// Group is the group of the message. Messages of one group are received one after the other, in the order sent; ""
	// means no group.
	Group string
	// Share is the message's share: in a fair queue, the messages of a share that has many of them wait behind the
	// messages of other shares; "" means no share.
	Share string
	// Type is the operator that the receiver must support, if the queue has receivers that run tasks of only some
	// operators (Forwarder); "" means any receiver.
	Type string
	Body []byte
	Due  time.Time // not received earlier; zero means now
	// Relative means that only the interval from now to Due matters: the message does not have to be delayed if the clock
	// is set back in the meantime.
	Relative bool
}

// Delivery is a message under a lease.
type Delivery struct {
	Message
	Receipt string
	// Count is how many times the message has been received, including this time. It survives a crash: for "tasks" as soon
	// as Receive has returned, for "events" once the receiver has made its next change.
	Count int
	// Restarted means that the previous receiver was a process that has since ended, with everything that it started. It
	// is false if that cannot be known.
	Restarted bool
	// Crashed means that that process was not asked to end.
	Crashed bool
	// Unbegun means that, judging by the times, no previous receiver began work on the message: it came back untouched, as
	// when a function is throttled or dies at once. It is false if that cannot be known.
	Unbegun bool
	// Begun is the last name that any receiver of the message recorded with Marker.Begin.
	Begun string
}

// Traits are properties of a queue that its users must take into account. The zero value describes a queue in the store
// of a single process.
type Traits struct {
	// Remembers is how long the queue is certain to remember the ID of a message, even after the message was deleted;
	// until then sending a first message again is safe. 0 means that a first message is stored together with the record
	// that it is about, and never has to be sent again.
	Remembers time.Duration
	// Rounding is the average delay of a message after its due time, because the queue rounds delays up.
	Rounding time.Duration
	// StaleDeletes means that a receiver whose lease has ended may still delete the message, although another has received
	// it since.
	StaleDeletes bool
}

// Queue is a leased queue: a receiver holds a message until the lease ends; if the message is not deleted by then, it
// is delivered again. There are two queues: "events" and "tasks".
type Queue interface {
	// Traits returns the same value on every call.
	Traits() Traits
	// Send adds messages, all or none.
	Send(ctx context.Context, messages ...Message) error
	// Receive waits until there is at least one message or ctx ends, and leases up to n messages for the given duration.
	Receive(ctx context.Context, n int, lease time.Duration) ([]Delivery, error)
	// Extend renews the lease for the given duration from now. It returns ErrLeaseLost if the lease is lost.
	Extend(ctx context.Context, d Delivery, lease time.Duration) error
	// Delete removes a message; if the lease is lost, it does nothing and returns no error. A message without a group may
	// be delivered again if the process or the store ends immediately afterwards; until the deletion is durable, its ID
	// may count as existing (see Send).
	Delete(ctx context.Context, d Delivery) error
	// Release returns a message to the queue, which delivers it again after a delay. If the store could not be written to,
	// a restart may shorten the delay.
	Release(ctx context.Context, d Delivery, delay time.Duration) error
}

// Forwarder is a Queue some of whose receivers accept only messages of some types.
type Forwarder interface {
	Queue
	// Forward atomically replaces a leased message with another, for receivers of its type. It returns ErrLeaseLost if the
	// message is leased elsewhere by now. A repeated call may return that error because the first call succeeded.
	Forward(ctx context.Context, d Delivery, m Message) error
}

// Marker is a Queue whose receivers record each run that they begin. After a crash the records show which runs had
// begun and which had only been received.
type Marker interface {
	Queue
	// Begin records the name of the run that the holder of a message begins now, replacing the last record. The record
	// survives a crash of the process, but may not survive a power loss. Without a name it records nothing. canceled is
	// the flag in the row of the message's attempt at that moment (AttemptFlags). known has the number and the nonce of
	// the last entry that the holder saw: a store that may go back to an earlier state returns ErrConflict if its log has
	// lost that entry (see Basis), and other stores ignore it. Begin returns ErrLeaseLost if the lease is lost.
	Begin(ctx context.Context, d Delivery, name string, known Entry) (canceled bool, err error)
}

// Inventory lists and removes messages if queues and attempts are in one store. It shows whether everything that an attempt waits
// for still has a message.
type Inventory interface {
	// MessagesOf lists an attempt's messages in both queues as they were at one moment during the call, including leased
	// ones. A message that was deleted after that moment may be listed without its body.
	MessagesOf(ctx context.Context, attempt int64) ([]Message, error)
	// HeldOf lists an attempt's messages in the queue "tasks" that servers hold now.
	HeldOf(ctx context.Context, attempt int64) ([]Held, error)
	// Discard removes an attempt's messages in the queue "tasks" that no server holds: once an attempt has ended, its
	// messages have no effect.
	Discard(ctx context.Context, attempt int64) error
	// Silent lists up to n unfinished attempts with ids above after, ascending, that have no message in either queue,
	// or none that would advance them: see IsDeadline. It omits paused attempts and attempts that wait for a session.
	Silent(ctx context.Context, after int64, n int) ([]int64, error)
}

// Held is a leased message.
type Held struct {
	Message
	Holder string // the name of the server (Server.Name) that holds the lease
}

// Database has the methods that a server needs from its database in addition to the ports.
type Database interface {
	// Counts sets all fields of Vitals except Free.
	Counts(ctx context.Context, v *Vitals) error
	// Census returns all workflows' unfinished attempts, and up to n scheduled workflows and n pools, those with the most
	// waiting claims first.
	Census(ctx context.Context, n int) (Census, error)
	// Depths returns the sizes of the queues: "events", then "tasks".
	Depths(ctx context.Context) ([]Depth, error)
	// Queued lists up to n messages of a queue after a place, in the order sent. It returns ErrNotFound if the queue does
	// not exist. Like Depths, it changes neither counts nor leases.
	Queued(ctx context.Context, queue string, after int64, n int) ([]Queued, error)
	// Stopping records that this process was asked to end, so that its end does not count as a crash (Delivery.Crashed).
	Stopping() error
	// Close closes the database; closing it again has no effect. Later reads and changes, and waiting receivers, return
	// ErrUnavailable. Calls about a lease may succeed without an effect: the lease ends with the process.
	Close() error
}

// Sync selects which changes to a database survive a power loss. All survive the end of the process.
type Sync int

const (
	// SyncAcknowledged protects changes that were acknowledged to users: pushes, starts, secrets, schedules, tokens. Later
	// progress of attempts may be repeated.
	SyncAcknowledged Sync = iota
	// SyncAll protects every change.
	SyncAll
	// SyncNone protects no change: for tests, and for data that may be lost.
	SyncNone
)

// Projects stores projects and revisions. It returns ErrNotFound for objects of other sites.
type Projects interface {
	// Push adds a revision with its workflows, and adjusts the schedules, in one transaction. It creates the project if
	// there is none of that name. If the project already has a revision of that name, it returns ErrConflict with the
	// project's ID.
	Push(ctx context.Context, p Push) (Project, error)
	// Project returns a project, even a deleted one.
	Project(ctx context.Context, site, id int64) (Project, error)
	// Projects lists projects that are not deleted, ascending by id.
	Projects(ctx context.Context, q ProjectQuery) ([]Project, error)
	// DeleteProject releases the project's name and deletes its schedules; the rest stays.
	DeleteProject(ctx context.Context, site, id int64, at time.Time) error
	// PauseProject records who paused a project; a zero Pause resumes it. A push keeps the pause. It returns ErrNotFound
	// if the project was deleted.
	PauseProject(ctx context.Context, site, id int64, p Pause) error
	// Revisions lists revisions of a project, newest first.
	Revisions(ctx context.Context, q RevisionQuery) ([]Revision, error)
	// Sites lists up to n sites with numbers above after that have or had projects, ascending.
	Sites(ctx context.Context, after int64, n int) ([]Site, error)
}

// Site is one of the tenants that share a deployment and do not see each other.
type Site struct {
	ID       int64
	Projects int // projects that are not deleted
}

// Push is a request to add a new revision.
type Push struct {
	Site      int64
	Project   string
	Revision  Revision // Name, CreatedAt, Archive, ArchiveMD5, UserInfo
	Workflows []dig.Workflow
	// Schedules holds the new times of schedules, by name of the workflow. Schedules of other workflows are deleted.
	Schedules map[string]NextTimes
}

// NextTimes returns a schedule's times under a new revision. old is nil if there is no schedule yet; paused reports
// whether the project is paused. The function is pure and may be called more than once.
type NextTimes func(old *Schedule, paused bool) Times

// ProjectQuery selects projects of a site.
type ProjectQuery struct {
	Site    int64  // AnySite: all, only without Name
	Name    string // exact; "" is any
	Pattern string // part of the name, case-sensitive; "" means any
	After   int64  // ids above this
	Count   int
}

// RevisionQuery selects revisions of a project.
type RevisionQuery struct {
	Site    int64
	Project int64
	Name    string // exact; "" is any
	Before  int64  // only smaller ids; 0 means all
	Count   int    // 0 is all
}

// Workflows reads definitions.
type Workflows interface {
	// Workflow returns a definition of any revision, even of a deleted project.
	Workflow(ctx context.Context, site, id int64) (Workflow, error)
	// Workflows lists definitions.
	Workflows(ctx context.Context, q WorkflowQuery) ([]Workflow, error)
}

// WorkflowQuery selects definitions: of one revision, or of the newest revisions of all existing projects of a site.
type WorkflowQuery struct {
	Site       int64
	Revision   int64  // 0: the newest revision of each existing project
	Name       string // exact; "" is any
	Pattern    string // part of the name
	OrProject  bool   // Pattern may be part of the project's name instead
	Last       int64  // only ids after this in the requested order; 0 means all
	Count      int    // 0 is all
	Bytes      int    // see Page; 0 means no limit
	Descending bool
}

// Schedules stores when workflows run.
type Schedules interface {
	// Schedule returns a schedule of a project that is not deleted, or ErrNotFound.
	Schedule(ctx context.Context, site, id int64) (Schedule, error)
	// Schedules lists schedules of projects that are not deleted, ascending by id.
	Schedules(ctx context.Context, q ScheduleQuery) ([]Schedule, error)
	// Update replaces Times and DisabledAt, and sets UpdatedAt to at, if Times still equals old; otherwise it returns
	// ErrConflict.
	Update(ctx context.Context, s Schedule, old Times, at time.Time) error
	// Due returns up to n (0: all) enabled schedules with Times.Run after from and at or
	// before until, the earliest first, of all sites.
	Due(ctx context.Context, from, until time.Time, n int) ([]Schedule, error)
	// EachDue passes the schedules that Due lists to do in batches, the earliest first and as they are read, until there
	// are no more or do returns an error.
	EachDue(ctx context.Context, from, until time.Time, do func([]Schedule) error) error
	// NextDue returns the earliest Times.Run of an enabled schedule; zero if there is none.
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

// AttemptFlags sets the flags in an unfinished attempt's row.
type AttemptFlags interface {
	// Cancel sets Canceled, unless the attempt is done.
	Cancel(ctx context.Context, id int64) error
	// SetPaused sets or clears Paused unless the attempt is done; a repeated call changes nothing.
	SetPaused(ctx context.Context, id int64, paused bool) error
}

// AddedAttempts adds attempts: those that start here, and those that ended elsewhere.
type AddedAttempts interface {
	// Start creates the session, unless it exists, and the attempt with its entry 1 and its first message, for the whole
	// list or not at all. It returns ErrConflict with the existing attempt: the one with that retry name or, without a
	// name or if a New session has none of that name, the session's last one. It returns ErrForgotten, and starts none, if
	// one of them is Once and its session was removed.
	Start(ctx context.Context, list ...NewAttempt) ([]Attempt, error)
	// Begin starts an attempt that waited: it writes its entry 1 and first message and sets AfterSession to
	// 0. It returns ErrConflict if the attempt has already begun.
	Begin(ctx context.Context, attempt int64, first Entry, m Message) error
	// Import adds attempts that ended on another server, in the given order, each with its session unless that exists, and
	// returns their number. It omits an attempt if its session has an attempt with that retry name, one that was created
	// later or one that started here, or was removed by retention: the last attempt decides what a session is. After an
	// error, the first ones may have been added.
	Import(ctx context.Context, list ...PastAttempt) (added int, err error)
}

// Attempts stores sessions and attempts: their rows, not their tasks.
type Attempts interface {
	AttemptFlags
	AddedAttempts
	// Attempt returns an attempt.
	Attempt(ctx context.Context, site, id int64) (Attempt, error)
	// Finish ends the attempt and stores its archive; a repeated call changes nothing.
	Finish(ctx context.Context, id int64, e End) error
	// Archive returns the archive that Finish stored; ErrNotFound before that, and for an imported attempt.
	Archive(ctx context.Context, id int64) ([]byte, error)
	// Expire deletes up to n logs (entries and snapshots, not rows or archives) of attempts that finished before t, and
	// returns their number: 0 if logs expire automatically.
	Expire(ctx context.Context, t time.Time, n int) (int, error)
}

// Retention removes old data.
type Retention interface {
	// Old lists up to n attempts of all sites that were created before t, with ids above after, ascending by id. Their
	// Params and Labels may be omitted.
	Old(ctx context.Context, t time.Time, after int64, n int) ([]Attempt, error)
	// Forget removes a session with its attempts and their logs, final states and short task logs. It changes nothing and
	// returns false if one of the attempts has not ended before t; if the session time is not before t (the session ran
	// ahead of its time and may be requested until then) or not before the Times.Session of the workflow's schedule, even
	// a disabled one (it skips sessions that exist); if an attempt waits for the session; or if the workflow's next
	// session has not ended: the last session that has ended always stays. The removal is recorded permanently, together
	// with the session's first attempt that is removed: see NewAttempt.Once. clear, unless nil, removes data of the
	// attempts that is stored elsewhere. It is called once they are gone: until then one of them may be started again, and
	// then all of them stay complete. A process that ends in between leaves unused data behind. An error from clear is
	// returned together with true. A session with very many attempts may be removed in parts, with its first and its last
	// attempt together at the end; otherwise it is removed as a whole.
	Forget(ctx context.Context, site, session int64, t time.Time, clear func(context.Context, []Attempt) error) (bool, error)
	// Clear removes invisible leftovers of an interrupted Forget.
	Clear(ctx context.Context) error
	// SetArchive changes the recorded state of a revision's archive if it still equals old; otherwise it returns
	// ErrConflict. It may be repeated.
	SetArchive(ctx context.Context, r Revision, old, state ArchiveState) error
	// ForgetRecords removes up to n audit log entries of all sites that were recorded before t, the oldest first, and
	// returns their number.
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
	// New means that the session must not have an attempt yet: otherwise the start returns ErrConflict with its last
	// attempt.
	New bool
	// WaitsFor, unless negative, is the index, in the same call, of the attempt whose session must end first: then this
	// attempt has no First and no Message yet.
	WaitsFor int
	First    Entry   // entry 1
	Message  Message // sent to events; its Group becomes the attempt's id in decimal, and its ID gets the prefix "<id>/"
}

// PastAttempt is an attempt that ended on another server. Its tasks and logs are unknown here.
type PastAttempt struct {
	Site                  int64
	Project               Ref
	Workflow              Ref // a definition with the workflow's name
	SessionTime           time.Time
	SessionUUID           string // of a session that does not exist yet
	RetryName             string
	Zone                  string
	Params                *param.Map
	CreatedAt, FinishedAt time.Time
	Success, Canceled     bool
}

// End describes how an attempt ended.
type End struct {
	At       time.Time
	Success  bool
	Canceled bool
	Archive  []byte // the final state, engine.EncodeState
	// Ignored means that the attempt succeeded with ignored task errors.
	Ignored bool
	// HasOutputs means that the final state contains outputs.
	HasOutputs bool
	// GivenUp means that the attempt could not continue, and users are notified. Stores do not have to keep that.
	GivenUp bool
	// Failed is the task that made the attempt fail, and Why its error; for display. Stores do not have to keep them: they
	// are part of the archive.
	Failed, Why string
	// Final is the state that Archive encodes, for traces; nil if the attempt ended without one. Stores ignore it.
	Final *engine.State
}

// Sessions lists sessions and attempts.
type Sessions interface {
	// Session returns a session with its last attempt, or ErrNotFound.
	Session(ctx context.Context, site, id int64) (Session, error)
	// Sessions lists sessions with their last attempts, descending by id.
	Sessions(ctx context.Context, q SessionQuery) ([]Session, error)
	// Attempts lists attempts, descending by id.
	Attempts(ctx context.Context, q AttemptQuery) ([]Attempt, error)
	// Active lists unfinished attempts, including waiting ones, ascending by id.
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
	Since time.Time // attempts created earlier may be omitted; zero: none are
	Count int
}

// SessionQuery selects sessions of a site.
type SessionQuery struct {
	Site     int64
	Project  int64  // 0 is any
	Workflow string // exact; "" is any
	// Times lists the requested session times. It is used with Project and Workflow, and the fields below are ignored; nil
	// means any.
	Times  []time.Time
	Before int64 // only ids below this; 0 means all
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
	Before   int64  // only ids below this; 0 means all
	Count    int    // 0 is all
	Bytes    int    // see Page; 0 means no limit
}

// Blobs stores archives by key. A key is written once: its content never changes.
type Blobs interface {
	// Put stores size bytes of r under key; an existing key is left unchanged.
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	// Open reads a blob. It returns ErrNotFound if the blob does not exist.
	Open(ctx context.Context, key string) (io.ReadCloser, int64, error)
	// Delete removes a blob; a missing blob is not an error.
	Delete(ctx context.Context, key string) error
	// Link returns a URL that reads the blob without credentials; "" if the store does not support links.
	Link(ctx context.Context, key string, valid time.Duration) (string, error)
}

// SecretName names a project secret.
type SecretName struct {
	Site, Project int64
	Key           string
}

// SiteSecret describes a secret that the projects of a site share, without its value.
type SiteSecret struct {
	Key string
	// Projects names the only projects that may use it; none means all projects of the site.
	Projects []string
}

// Serves reports whether a project may use the secret.
func (s SiteSecret) Serves(project string) bool {
	return len(s.Projects) == 0 || slices.Contains(s.Projects, project)
}

// Rekeyed is the result of encrypting secrets again.
type Rekeyed struct {
	Secrets, Changed int          // how many secrets there are, and how many were encrypted again
	Unreadable       []SecretName // secrets that none of the server's keys decrypts
}

// Secrets stores the secrets of projects in encrypted form. A site's secrets are stored under the id 0, which no
// project has (package sitesecret).
type Secrets interface {
	// PutSecret sets a secret, or replaces it. A value of more than 16 KiB is refused.
	PutSecret(ctx context.Context, site, project int64, key, value string) error
	// DeleteSecret removes a secret; a missing secret is not an error.
	DeleteSecret(ctx context.Context, site, project int64, key string) error
	// SecretKeys lists the keys, sorted.
	SecretKeys(ctx context.Context, site, project int64) ([]string, error)
	// ProjectSecrets returns all secrets of a project by key.
	ProjectSecrets(ctx context.Context, site, project int64) (map[string]string, error)
}
