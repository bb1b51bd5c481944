package wire

import (
	"strconv"
	"time"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/host"
)

// ID is a number that is written as a string, as JavaScript clients need it.
type ID int64

// MarshalJSON writes the id as a string.
func (i ID) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(int64(i), 10)), nil
}

// OrNull returns nil for the zero id.
func OrNull(i int64) *ID {
	if i == 0 {
		return nil
	}
	v := ID(i)
	return &v
}

// TextOrNull returns nil for an empty string.
func TextOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Moment is a time as an instant in seconds; the zero time is null.
type Moment time.Time

// MarshalJSON writes yyyy-MM-dd'T'HH:mm:ss'Z'.
func (m Moment) MarshalJSON() ([]byte, error) {
	t := time.Time(m)
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05Z"`)), nil
}

// OffsetTime writes a time in a zone; if the zone is no longer known, in UTC.
func OffsetTime(t time.Time, zone string) string {
	location, err := schedule.Zone(zone)
	if err != nil {
		location = time.UTC
	}
	return t.In(location).Format(OffsetForm)
}

// OffsetForm is the layout of a time with its offset.
const OffsetForm = "2006-01-02T15:04:05-07:00"

// Object is a mapping that is never null.
type Object struct{ *param.Map }

// MarshalJSON writes the mapping with its keys in order.
func (o Object) MarshalJSON() ([]byte, error) {
	if o.Map == nil {
		return []byte("{}"), nil
	}
	return param.AppendJSON(nil, o.Map), nil
}

// IDName is an object with its id and name.
type IDName struct {
	ID   ID     `json:"id"`
	Name string `json:"name"`
}

// Named shows a reference.
func Named(r host.Ref) IDName { return IDName{ID(r.ID), r.Name} }

// NameOptID is an object whose id may be absent.
type NameOptID struct {
	Name string `json:"name"`
	ID   *ID    `json:"id"`
}

// Optional shows a reference whose id may be absent.
func Optional(r host.Ref) NameOptID { return NameOptID{r.Name, OrNull(r.ID)} }

// MostListed is the maximum size in bytes of the parameters or definitions on a page of a list: a function's response
// may have up to 6 MB, and a page of attempts with large parameters must not use up a machine's memory.
const MostListed = 4 << 20

// Collection is a list under its name; it is never null.
func Collection[T, R any](name string, rows []T, f func(T) R) map[string][]R {
	return map[string][]R{name: Each(rows, f)}
}

// Each shows the rows of a list; the result is never null.
func Each[T, R any](rows []T, f func(T) R) []R {
	list := make([]R, len(rows))
	for i, row := range rows {
		list[i] = f(row)
	}
	return list
}

// Project is a project with its latest revision.
type Project struct {
	ID          ID     `json:"id"`
	Name        string `json:"name"`
	Revision    string `json:"revision"`
	CreatedAt   Moment `json:"createdAt"`
	UpdatedAt   Moment `json:"updatedAt"`
	DeletedAt   Moment `json:"deletedAt"`
	ArchiveType string `json:"archiveType"`
	ArchiveMD5  []byte `json:"archiveMd5"`
	// Paused is set while no attempt of the project starts.
	Paused *Paused `json:"paused,omitempty"`
}

// Revision is a project's revision.
type Revision struct {
	Revision    string `json:"revision"`
	CreatedAt   Moment `json:"createdAt"`
	ArchiveType string `json:"archiveType"`
	ArchiveMD5  []byte `json:"archiveMd5"`
	UserInfo    Object `json:"userInfo"`
}

// Workflow is a workflow's definition.
type Workflow struct {
	ID       ID     `json:"id"`
	Name     string `json:"name"`
	Project  IDName `json:"project"`
	Revision string `json:"revision"`
	Timezone string `json:"timezone"`
	Config   Object `json:"config"`
	// These fields are for human readers, and present if the file has them.
	Description string   `json:"description,omitempty"`
	Owner       string   `json:"owner,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// WorkflowOf shows a definition.
func WorkflowOf(w host.Workflow) Workflow {
	return Workflow{ID: ID(w.ID), Name: w.Name, Project: Named(w.Project), Revision: w.Revision.Name, Timezone: w.Zone, Config: Object{w.Config},
		Description: keys.DescriptionOf(w.Config), Owner: keys.OwnerOf(w.Config), Tags: keys.TagsOf(w.Config)}
}

// LastAttempt is the part of a session's last attempt that the session shows.
type LastAttempt struct {
	ID               ID      `json:"id"`
	RetryAttemptName *string `json:"retryAttemptName"`
	Done             bool    `json:"done"`
	Success          bool    `json:"success"`
	CancelRequested  bool    `json:"cancelRequested"`
	Params           Object  `json:"params"`
	CreatedAt        Moment  `json:"createdAt"`
	FinishedAt       Moment  `json:"finishedAt"`
	StartsAt         *Moment `json:"startsAt,omitempty"`
	Labels           *Object `json:"labels,omitempty"`
	IgnoredErrors    bool    `json:"ignoredErrors,omitempty"`
	Imported         bool    `json:"imported,omitempty"`
}

// Session is a session with its last attempt.
type Session struct {
	ID          ID          `json:"id"`
	Project     IDName      `json:"project"`
	Workflow    NameOptID   `json:"workflow"`
	SessionUUID string      `json:"sessionUuid"`
	SessionTime string      `json:"sessionTime"`
	LastAttempt LastAttempt `json:"lastAttempt"`
}

// SessionOf shows a session.
func SessionOf(s host.Session) Session {
	l := s.Last
	return Session{ID: ID(s.ID), Project: Named(s.Project), Workflow: Optional(s.Workflow), SessionUUID: s.UUID,
		SessionTime: OffsetTime(s.Time, l.Zone),
		LastAttempt: LastAttempt{ID: ID(l.ID), RetryAttemptName: TextOrNull(l.RetryName), Done: l.Done, Success: l.Success,
			CancelRequested: l.Canceled, Params: Object{l.Params}, CreatedAt: Moment(l.CreatedAt), FinishedAt: Moment(l.FinishedAt), StartsAt: OrAbsent(l.StartsAt), Labels: Labels(l), IgnoredErrors: l.Ignored, Imported: l.Imported}}
}

// Attempt is an attempt.
type Attempt struct {
	Status           string    `json:"status"`
	ID               ID        `json:"id"`
	Index            int       `json:"index"`
	Project          IDName    `json:"project"`
	Workflow         NameOptID `json:"workflow"`
	SessionID        ID        `json:"sessionId"`
	SessionUUID      string    `json:"sessionUuid"`
	SessionTime      string    `json:"sessionTime"`
	RetryAttemptName *string   `json:"retryAttemptName"`
	Done             bool      `json:"done"`
	Success          bool      `json:"success"`
	CancelRequested  bool      `json:"cancelRequested"`
	Params           Object    `json:"params"`
	CreatedAt        Moment    `json:"createdAt"`
	FinishedAt       Moment    `json:"finishedAt"`
	// StartsAt is set if the start specified a time.
	StartsAt *Moment `json:"startsAt,omitempty"`
	// Labels is set if the attempt has labels.
	Labels *Object `json:"labels,omitempty"`
	// IgnoredErrors is set if the attempt succeeded although tasks failed.
	IgnoredErrors bool `json:"ignoredErrors,omitempty"`
	// Imported is set if the attempt ran on another server: its tasks and logs are unknown.
	Imported bool `json:"imported,omitempty"`
	// Outputs is set in the response about one attempt, if it has outputs.
	Outputs *Object `json:"outputs,omitempty"`
	// Paused is set in the response about one attempt and in its events, while it is paused.
	Paused *Paused `json:"paused,omitempty"`
	// Warnings is set in the response to a start, if there are warnings.
	Warnings []string `json:"warnings,omitempty"`
}

// Paused records who paused an object, when and why.
type Paused struct {
	By     string `json:"by"`
	At     Moment `json:"at"`
	Reason string `json:"reason"`
}

// AttemptOf shows an attempt.
func AttemptOf(a host.Attempt) Attempt {
	return Attempt{Status: a.Status(), ID: ID(a.ID), Index: a.Index, Project: Named(a.Project), Workflow: Optional(a.Workflow),
		SessionID: ID(a.SessionID), SessionUUID: a.SessionUUID, SessionTime: OffsetTime(a.SessionTime, a.Zone),
		RetryAttemptName: TextOrNull(a.RetryName), Done: a.Done, Success: a.Success, CancelRequested: a.Canceled,
		Params: Object{a.Params}, CreatedAt: Moment(a.CreatedAt), FinishedAt: Moment(a.FinishedAt), StartsAt: OrAbsent(a.StartsAt), Labels: Labels(a), IgnoredErrors: a.Ignored, Imported: a.Imported}
}

// Labels returns an attempt's labels; nil for none.
func Labels(a host.Attempt) *Object {
	if a.Labels == nil {
		return nil
	}
	return &Object{a.Labels}
}

// OrAbsent returns nil for the zero time, so that the field is omitted.
func OrAbsent(t time.Time) *Moment {
	if t.IsZero() {
		return nil
	}
	m := Moment(t)
	return &m
}
