package httpapi

import (
	"strconv"
	"time"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/host"
)

// The shapes of answers (wire.md 3.3). Ids are strings; what is absent is null.

type id int64

// MarshalJSON writes the id as a string.
func (i id) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(int64(i), 10)), nil
}

// orNull returns nil for the zero id.
func orNull(i int64) *id {
	if i == 0 {
		return nil
	}
	v := id(i)
	return &v
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// moment is a time as an instant in seconds; the zero time is null.
type moment time.Time

// MarshalJSON writes yyyy-MM-dd'T'HH:mm:ss'Z'.
func (m moment) MarshalJSON() ([]byte, error) {
	t := time.Time(m)
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05Z"`)), nil
}

// offsetTime writes a time in a zone; that of a zone which is not known any more is UTC.
func offsetTime(t time.Time, zone string) string {
	location, err := schedule.Zone(zone)
	if err != nil {
		location = time.UTC
	}
	return t.In(location).Format(offsetForm)
}

// offsetForm is a time with its offset.
const offsetForm = "2006-01-02T15:04:05-07:00"

// object is a mapping that is never null.
type object struct{ *param.Map }

// MarshalJSON writes the mapping with its keys in order.
func (o object) MarshalJSON() ([]byte, error) {
	if o.Map == nil {
		return []byte("{}"), nil
	}
	return param.AppendJSON(nil, o.Map), nil
}

type idName struct {
	ID   id     `json:"id"`
	Name string `json:"name"`
}

func named(r host.Ref) idName { return idName{id(r.ID), r.Name} }

type nameOptID struct {
	Name string `json:"name"`
	ID   *id    `json:"id"`
}

func optional(r host.Ref) nameOptID { return nameOptID{r.Name, orNull(r.ID)} }

// collection is a list under its name; it is never null.
// mostListed is how many bytes of parameters or definitions a page of a list has: what a function may answer has 6 MB,
// and a page of attempts with large parameters must not take a machine's memory.
const mostListed = 4 << 20

func collection[T, R any](name string, rows []T, f func(T) R) map[string][]R {
	return map[string][]R{name: each(rows, f)}
}

// each shows the rows of a list; the result is never null.
func each[T, R any](rows []T, f func(T) R) []R {
	list := make([]R, len(rows))
	for i, row := range rows {
		list[i] = f(row)
	}
	return list
}

type restProject struct {
	ID          id     `json:"id"`
	Name        string `json:"name"`
	Revision    string `json:"revision"`
	CreatedAt   moment `json:"createdAt"`
	UpdatedAt   moment `json:"updatedAt"`
	DeletedAt   moment `json:"deletedAt"`
	ArchiveType string `json:"archiveType"`
	ArchiveMD5  []byte `json:"archiveMd5"`
	// Paused is there while nothing of the project starts.
	Paused *restPaused `json:"paused,omitempty"`
}

func (a *api) project(p host.Project) restProject {
	shown := restProject{ID: id(p.ID), Name: p.Name, Revision: p.Latest.Name, CreatedAt: moment(p.CreatedAt),
		UpdatedAt: moment(p.Latest.CreatedAt), DeletedAt: moment(p.DeletedAt),
		ArchiveType: a.archiveType(p.Latest), ArchiveMD5: p.Latest.ArchiveMD5}
	if x := p.Paused; !x.IsZero() {
		shown.Paused = &restPaused{By: x.By, At: moment(x.At), Reason: x.Reason}
	}
	return shown
}

func (a *api) archiveType(r host.Revision) string {
	if r.Archive == "" {
		return "none"
	}
	return a.ArchiveType
}

type restRevision struct {
	Revision    string `json:"revision"`
	CreatedAt   moment `json:"createdAt"`
	ArchiveType string `json:"archiveType"`
	ArchiveMD5  []byte `json:"archiveMd5"`
	UserInfo    object `json:"userInfo"`
}

func (a *api) revision(r host.Revision) restRevision {
	return restRevision{Revision: r.Name, CreatedAt: moment(r.CreatedAt), ArchiveType: a.archiveType(r),
		ArchiveMD5: r.ArchiveMD5, UserInfo: object{r.UserInfo}}
}

type restWorkflow struct {
	ID       id     `json:"id"`
	Name     string `json:"name"`
	Project  idName `json:"project"`
	Revision string `json:"revision"`
	Timezone string `json:"timezone"`
	Config   object `json:"config"`
	// What is for people is there where the file has it.
	Description string   `json:"description,omitempty"`
	Owner       string   `json:"owner,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

func workflow(w host.Workflow) restWorkflow {
	return restWorkflow{ID: id(w.ID), Name: w.Name, Project: named(w.Project), Revision: w.Revision.Name, Timezone: w.Zone, Config: object{w.Config},
		Description: keys.DescriptionOf(w.Config), Owner: keys.OwnerOf(w.Config), Tags: keys.TagsOf(w.Config)}
}

// lastAttempt is what a session shows of its last attempt.
type lastAttempt struct {
	ID               id      `json:"id"`
	RetryAttemptName *string `json:"retryAttemptName"`
	Done             bool    `json:"done"`
	Success          bool    `json:"success"`
	CancelRequested  bool    `json:"cancelRequested"`
	Params           object  `json:"params"`
	CreatedAt        moment  `json:"createdAt"`
	FinishedAt       moment  `json:"finishedAt"`
	StartsAt         *moment `json:"startsAt,omitempty"`
	Labels           *object `json:"labels,omitempty"`
	IgnoredErrors    bool    `json:"ignoredErrors,omitempty"`
}

type restSession struct {
	ID          id          `json:"id"`
	Project     idName      `json:"project"`
	Workflow    nameOptID   `json:"workflow"`
	SessionUUID string      `json:"sessionUuid"`
	SessionTime string      `json:"sessionTime"`
	LastAttempt lastAttempt `json:"lastAttempt"`
}

func session(s host.Session) restSession {
	l := s.Last
	return restSession{ID: id(s.ID), Project: named(s.Project), Workflow: optional(s.Workflow), SessionUUID: s.UUID,
		SessionTime: offsetTime(s.Time, l.Zone),
		LastAttempt: lastAttempt{ID: id(l.ID), RetryAttemptName: textOrNull(l.RetryName), Done: l.Done, Success: l.Success,
			CancelRequested: l.Canceled, Params: object{l.Params}, CreatedAt: moment(l.CreatedAt), FinishedAt: moment(l.FinishedAt), StartsAt: orAbsent(l.StartsAt), Labels: labels(l), IgnoredErrors: l.Ignored}}
}

type restAttempt struct {
	Status           string    `json:"status"`
	ID               id        `json:"id"`
	Index            int       `json:"index"`
	Project          idName    `json:"project"`
	Workflow         nameOptID `json:"workflow"`
	SessionID        id        `json:"sessionId"`
	SessionUUID      string    `json:"sessionUuid"`
	SessionTime      string    `json:"sessionTime"`
	RetryAttemptName *string   `json:"retryAttemptName"`
	Done             bool      `json:"done"`
	Success          bool      `json:"success"`
	CancelRequested  bool      `json:"cancelRequested"`
	Params           object    `json:"params"`
	CreatedAt        moment    `json:"createdAt"`
	FinishedAt       moment    `json:"finishedAt"`
	// StartsAt is there where the start has named a time.
	StartsAt *moment `json:"startsAt,omitempty"`
	// Labels are there where the attempt has some.
	Labels *object `json:"labels,omitempty"`
	// IgnoredErrors is there where the attempt is a success although tasks failed.
	IgnoredErrors bool `json:"ignoredErrors,omitempty"`
	// Outputs are there in the answer about one attempt, if it has any.
	Outputs *object `json:"outputs,omitempty"`
	// Paused is there in the answer about one attempt, and in its events, while it is paused.
	Paused *restPaused `json:"paused,omitempty"`
	// Warnings are there in the answer to a start, if there are any.
	Warnings []string `json:"warnings,omitempty"`
}

type restPaused struct {
	By     string `json:"by"`
	At     moment `json:"at"`
	Reason string `json:"reason"`
}

func attempt(a host.Attempt) restAttempt {
	return restAttempt{Status: a.Status(), ID: id(a.ID), Index: a.Index, Project: named(a.Project), Workflow: optional(a.Workflow),
		SessionID: id(a.SessionID), SessionUUID: a.SessionUUID, SessionTime: offsetTime(a.SessionTime, a.Zone),
		RetryAttemptName: textOrNull(a.RetryName), Done: a.Done, Success: a.Success, CancelRequested: a.Canceled,
		Params: object{a.Params}, CreatedAt: moment(a.CreatedAt), FinishedAt: moment(a.FinishedAt), StartsAt: orAbsent(a.StartsAt), Labels: labels(a), IgnoredErrors: a.Ignored}
}

// labels are those of an attempt; nil for none.
func labels(a host.Attempt) *object {
	if a.Labels == nil {
		return nil
	}
	return &object{a.Labels}
}

// orAbsent leaves a time out that is not there.
func orAbsent(t time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	m := moment(t)
	return &m
}
