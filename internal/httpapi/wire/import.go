package wire

import (
	"encoding/json"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

// MostImport is the maximum size of a body with attempts or schedules of another server, and mostImported is the
// maximum number of them.
const (
	MostImport   = 4 << 20
	mostImported = 500
)

// ImportAttemptsBody adds attempts of another server.
type ImportAttemptsBody struct {
	Attempts []*PastAttempt `json:"attempts"`
	DryRun   Choice         `json:"dryRun"`
}

// PastAttempt is an attempt that ended on another server.
type PastAttempt struct {
	ID               Words      `json:"id"`
	Project          *string    `json:"project"`
	Revision         string     `json:"revision"`
	Workflow         *string    `json:"workflow"`
	SessionUUID      *string    `json:"sessionUuid"`
	SessionTime      *Instant   `json:"sessionTime"`
	RetryAttemptName string     `json:"retryAttemptName"`
	Timezone         string     `json:"timezone"`
	Params           *param.Map `json:"params"`
	CreatedAt        *Instant   `json:"createdAt"`
	FinishedAt       *Instant   `json:"finishedAt"`
	Success          bool       `json:"success"`
	CancelRequested  bool       `json:"cancelRequested"`
}

// List returns the attempts, or an error if something is missing.
func (b *ImportAttemptsBody) List() ([]catalogue.PastAttempt, error) {
	if b.Attempts == nil {
		return nil, NotSet("attempts")
	}
	if len(b.Attempts) > mostImported {
		return nil, Invalid("attempts has %d elements, but at most %d are allowed", len(b.Attempts), mostImported)
	}
	list := make([]catalogue.PastAttempt, 0, len(b.Attempts))
	for _, p := range b.Attempts {
		if p == nil {
			return nil, Invalid("attempts must contain objects, not null")
		}
		if absent := missing(map[string]bool{"project": p.Project == nil, "workflow": p.Workflow == nil, "sessionUuid": p.SessionUUID == nil,
			"sessionTime": p.SessionTime == nil, "createdAt": p.CreatedAt == nil, "finishedAt": p.FinishedAt == nil},
			"project", "workflow", "sessionUuid", "sessionTime", "createdAt", "finishedAt"); len(absent) > 0 {
			return nil, NotSet(absent...)
		}
		list = append(list, catalogue.PastAttempt{ID: string(p.ID), Project: *p.Project, Revision: p.Revision, Workflow: *p.Workflow, Row: host.PastAttempt{
			SessionTime: p.SessionTime.UTC(), SessionUUID: *p.SessionUUID, RetryName: p.RetryAttemptName, Zone: p.Timezone, Params: p.Params,
			CreatedAt: p.CreatedAt.UTC(), FinishedAt: p.FinishedAt.UTC(), Success: p.Success, Canceled: p.CancelRequested}})
	}
	return list, nil
}

// missing returns the names that are absent, in the given order.
func missing(absent map[string]bool, names ...string) (list []string) {
	for _, name := range names {
		if absent[name] {
			list = append(list, name)
		}
	}
	return list
}

// ImportedAttempts is the result of an import.
type ImportedAttempts struct {
	Added   int               `json:"added"`
	Present int               `json:"present"`
	Missing []MissingWorkflow `json:"missing"`
	Refused []string          `json:"refused"`
}

// MissingWorkflow is a workflow of imported attempts that does not exist here; without a name, the project is missing.
type MissingWorkflow struct {
	Project  string  `json:"project"`
	Workflow *string `json:"workflow"`
	Attempts int     `json:"attempts"`
}

// ImportedAttemptsOf shows the result of an import.
func ImportedAttemptsOf(r catalogue.PastResult) ImportedAttempts {
	return ImportedAttempts{Added: r.Added, Present: r.Present, Refused: append([]string{}, r.Refused...),
		Missing: Each(r.Missing, func(m catalogue.MissingWorkflow) MissingWorkflow {
			return MissingWorkflow{m.Project, TextOrNull(m.Workflow), m.Attempts}
		})}
}

// ImportSchedulesBody sets schedules to their positions on another server.
type ImportSchedulesBody struct {
	Schedules []*PastSchedule `json:"schedules"`
	Enabling  Enabling        `json:"enabling"`
	DryRun    Choice          `json:"dryRun"`
}

// Enabling is a keyword for the enabled state of imported schedules.
type Enabling catalogue.Enabling

// UnmarshalJSON reads a keyword.
func (e *Enabling) UnmarshalJSON(b []byte) error {
	var word string
	if err := json.Unmarshal(b, &word); err != nil {
		return Invalid("enabling must be here, there or disabled, not %.100s", b)
	}
	switch c := catalogue.Enabling(word); c {
	case catalogue.AsHere, catalogue.AsThere, catalogue.NeverHere:
		*e = Enabling(c)
		return nil
	}
	return Invalid("enabling must be here, there or disabled, not %q", word)
}

// PastSchedule is a schedule's state on another server.
type PastSchedule struct {
	Project          *string  `json:"project"`
	Workflow         *string  `json:"workflow"`
	NextRunTime      *Instant `json:"nextRunTime"`
	NextScheduleTime *Instant `json:"nextScheduleTime"`
	LastSessionTime  *Instant `json:"lastSessionTime"`
	DisabledAt       *Instant `json:"disabledAt"`
}

// List returns the schedules, or an error if something is missing.
func (b *ImportSchedulesBody) List() ([]catalogue.PastSchedule, error) {
	if b.Schedules == nil {
		return nil, NotSet("schedules")
	}
	switch {
	case b.Enabling == "":
		return nil, NotSet("enabling")
	case len(b.Schedules) > mostImported:
		return nil, Invalid("schedules has %d elements, but at most %d are allowed", len(b.Schedules), mostImported)
	}
	list := make([]catalogue.PastSchedule, 0, len(b.Schedules))
	for _, p := range b.Schedules {
		if p == nil {
			return nil, Invalid("schedules must contain objects, not null")
		}
		if absent := missing(map[string]bool{"project": p.Project == nil, "workflow": p.Workflow == nil, "nextRunTime": p.NextRunTime == nil, "nextScheduleTime": p.NextScheduleTime == nil},
			"project", "workflow", "nextRunTime", "nextScheduleTime"); len(absent) > 0 {
			return nil, NotSet(absent...)
		}
		list = append(list, catalogue.PastSchedule{Project: *p.Project, Workflow: *p.Workflow, DisabledAt: p.DisabledAt.orZero(),
			Times: host.Times{Run: p.NextRunTime.UTC(), Session: p.NextScheduleTime.UTC(), Last: p.LastSessionTime.orZero()}})
	}
	return list, nil
}

// orZero returns the time; zero for nil.
func (t *Instant) orZero() time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// ImportedSchedule is the outcome for a schedule of another server. Schedule is null if it is missing here.
type ImportedSchedule struct {
	Project  string    `json:"project"`
	Workflow string    `json:"workflow"`
	Outcome  string    `json:"outcome"`
	Schedule *Schedule `json:"schedule"`
}
