package events

import (
	"encoding/json"
	"time"
)

// BusSource is the source of events that are put on the event bus; StartSource is the source of events that start
// workflows.
const (
	BusSource   = "zerodag"
	StartSource = "zerodag.start"
)

// Topic is the subject of an announcement: the detail type on the bus.
type Topic string

// The topics.
const (
	AttemptStarted   Topic = "Attempt Started"
	AttemptSucceeded Topic = "Attempt Succeeded"
	AttemptFailed    Topic = "Attempt Failed"
	AttemptKilled    Topic = "Attempt Killed"
	SLAMissed        Topic = "SLA Missed"
	StartRefused     Topic = "Start Refused" // of an event: there is no attempt
)

// Announcement notifies other programs about an attempt.
type Announcement struct {
	Topic  Topic
	Time   time.Time
	Detail AttemptDetail
}

// AttemptDetail is the body of an announcement. Fields may be added, but never removed or given a different meaning.
type AttemptDetail struct {
	V                int       `json:"version"`
	ID               string    `json:"id"` // of the announcement: the same if it is repeated
	SiteID           int64     `json:"site_id"`
	ProjectID        string    `json:"project_id"`
	Project          string    `json:"project"`
	Workflow         string    `json:"workflow"`
	SessionID        string    `json:"session_id"`
	SessionUUID      string    `json:"session_uuid"`
	SessionTime      string    `json:"session_time"` // RFC 3339, in the workflow's zone
	AttemptID        string    `json:"attempt_id"`
	RetryAttemptName string    `json:"retry_attempt_name,omitempty"`
	Status           string    `json:"status"` // running, success, error or killed
	CreatedAt        time.Time `json:"created_at"`
	FinishedAt       time.Time `json:"finished_at,omitzero"`
	Reason           string    `json:"reason,omitempty"` // of StartRefused: why
}

// Encode writes the detail.
func (d AttemptDetail) Encode() []byte {
	d.V = Version
	return must(json.Marshal(d))
}

// StartDetail requests a start: the detail of an event of StartSource, or the input of a schedule or rule that calls
// the function itself, which then has an ID.
type StartDetail struct {
	ID          string          `json:"id,omitempty"`  // of the cause: the same ID starts only one attempt
	Time        time.Time       `json:"time,omitzero"` // of the cause: the session time if no other is given
	Project     string          `json:"project"`
	Workflow    string          `json:"workflow"`
	Params      json.RawMessage `json:"params,omitempty"`       // object
	SessionTime string          `json:"session_time,omitempty"` // local time of the workflow, or an instant
}
