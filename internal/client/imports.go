package client

import (
	"context"
	"net/http"
	"time"

	"zerodag/engine/param"
)

// PastAttempt is an attempt that ended on another server. Revision, RetryAttemptName and Timezone may be empty.
type PastAttempt struct {
	ID               ID         `json:"id"`
	Project          string     `json:"project"`
	Revision         string     `json:"revision"`
	Workflow         string     `json:"workflow"`
	SessionUUID      string     `json:"sessionUuid"`
	SessionTime      time.Time  `json:"sessionTime"`
	RetryAttemptName string     `json:"retryAttemptName"`
	Timezone         string     `json:"timezone"`
	Params           *param.Map `json:"params"`
	CreatedAt        time.Time  `json:"createdAt"`
	FinishedAt       time.Time  `json:"finishedAt"`
	Success          bool       `json:"success"`
	CancelRequested  bool       `json:"cancelRequested"`
}

// Size returns the number of bytes that the attempt takes up in a call.
func (p PastAttempt) Size() int {
	text, err := encode(p)
	if err != nil {
		return 0 // the call will report the error
	}
	return len(text)
}

// ImportedAttempts is the result of ImportAttempts.
type ImportedAttempts struct {
	Added   int               `json:"added"`
	Present int               `json:"present"`
	Missing []MissingWorkflow `json:"missing"`
	Refused []string          `json:"refused"`
}

// MissingWorkflow is a workflow of imported attempts that the server does not have. Workflow is "" if the whole project
// is missing.
type MissingWorkflow struct {
	Project  string `json:"project"`
	Workflow string `json:"workflow"`
	Attempts int    `json:"attempts"`
}

// ImportAttempts adds another server's finished attempts, oldest first. It may be repeated.
func (c *Client) ImportAttempts(ctx context.Context, list []PastAttempt, dryRun bool) (r ImportedAttempts, err error) {
	body := struct {
		Attempts []PastAttempt `json:"attempts"`
		DryRun   bool          `json:"dryRun"`
	}{list, dryRun}
	err = c.send(ctx, http.MethodPost, "/api/import/attempts", nil, body, &r)
	return r, err
}

// PastSchedule is a schedule's state on another server.
type PastSchedule struct {
	Project          string     `json:"project"`
	Workflow         string     `json:"workflow"`
	NextRunTime      time.Time  `json:"nextRunTime"`
	NextScheduleTime time.Time  `json:"nextScheduleTime"`
	LastSessionTime  *time.Time `json:"lastSessionTime"`
	DisabledAt       *time.Time `json:"disabledAt"`
}

// ImportedSchedule is the outcome for a schedule of another server: "set", "missing" or "ahead", because it has already
// started its next session here.
type ImportedSchedule struct {
	Project  string    `json:"project"`
	Workflow string    `json:"workflow"`
	Outcome  string    `json:"outcome"`
	Schedule *Schedule `json:"schedule"` // as it is now; nil if it is missing
}

// ImportSchedules lets schedules continue from where they are on another server. enabling selects whether they are
// enabled: as "here", as "there", or "disabled".
func (c *Client) ImportSchedules(ctx context.Context, list []PastSchedule, enabling string, dryRun bool) ([]ImportedSchedule, error) {
	var answer struct{ Schedules []ImportedSchedule }
	body := struct {
		Schedules []PastSchedule `json:"schedules"`
		Enabling  string         `json:"enabling"`
		DryRun    bool           `json:"dryRun"`
	}{list, enabling, dryRun}
	err := c.send(ctx, http.MethodPost, "/api/import/schedules", nil, body, &answer)
	return answer.Schedules, err
}
