package client

import (
	"encoding/json"
	"strings"
	"time"

	"zerodag/engine/param"
)

// The API's objects (wire.md 3.3). Optional values, which may be null, are pointers.

// ID is a decimal number; servers write it as a string, and clients may write a string or a number.
type ID string

// UnmarshalJSON accepts strings and numbers.
func (id *ID) UnmarshalJSON(b []byte) error {
	*id = ID(strings.Trim(string(b), `"`))
	if *id == "null" {
		*id = ""
	}
	return nil
}

// Ref identifies a project or workflow. ID is empty for a workflow that is not stored.
type Ref struct {
	ID   ID     `json:"id"`
	Name string `json:"name"`
}

// Project is a project with its newest revision.
type Project struct {
	ID          ID         `json:"id"`
	Name        string     `json:"name"`
	Revision    string     `json:"revision"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
	DeletedAt   *time.Time `json:"deletedAt"`
	ArchiveType string     `json:"archiveType"`
	ArchiveMD5  *string    `json:"archiveMd5"`
	Paused      *Paused    `json:"paused,omitempty"` // who paused it, so that no attempt starts; nil if it is not paused
}

// Revision is one pushed version of a project.
type Revision struct {
	Revision    string     `json:"revision"`
	CreatedAt   time.Time  `json:"createdAt"`
	ArchiveType string     `json:"archiveType"`
	ArchiveMD5  *string    `json:"archiveMd5"`
	UserInfo    *param.Map `json:"userInfo"`
}

// Workflow is a definition.
type Workflow struct {
	ID       ID         `json:"id"`
	Name     string     `json:"name"`
	Project  Ref        `json:"project"`
	Revision string     `json:"revision"`
	Timezone string     `json:"timezone"`
	Config   *param.Map `json:"config"`
	// These strings are for human readers; they are copied from the file.
	Description string   `json:"description,omitempty"`
	Owner       string   `json:"owner,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// SessionTime is a time converted to a workflow's zone and schedule.
type SessionTime struct {
	Project     Ref       `json:"project"`
	Revision    string    `json:"revision"`
	SessionTime time.Time `json:"sessionTime"`
	Timezone    string    `json:"timezone"`
}

// Schedule describes when a workflow runs next.
type Schedule struct {
	ID               ID         `json:"id"`
	Project          Ref        `json:"project"`
	Workflow         Ref        `json:"workflow"`
	NextRunTime      time.Time  `json:"nextRunTime"`
	NextScheduleTime time.Time  `json:"nextScheduleTime"`
	DisabledAt       *time.Time `json:"disabledAt"`
}

// Session is a workflow at a session time, with its last attempt.
type Session struct {
	ID          ID        `json:"id"`
	Project     Ref       `json:"project"`
	Workflow    Ref       `json:"workflow"`
	SessionUUID string    `json:"sessionUuid"`
	SessionTime time.Time `json:"sessionTime"`
	LastAttempt *Last     `json:"lastAttempt"`
}

// Last is a session's last attempt.
type Last struct {
	ID               ID         `json:"id"`
	RetryAttemptName *string    `json:"retryAttemptName"`
	Done             bool       `json:"done"`
	Success          bool       `json:"success"`
	IgnoredErrors    bool       `json:"ignoredErrors,omitempty"` // it succeeded although tasks failed
	Imported         bool       `json:"imported,omitempty"`      // it ran on another server: its tasks and logs are unknown
	CancelRequested  bool       `json:"cancelRequested"`
	Params           *param.Map `json:"params"`
	CreatedAt        time.Time  `json:"createdAt"`
	FinishedAt       *time.Time `json:"finishedAt"`
	StartsAt         *time.Time `json:"startsAt,omitempty"`
	Labels           *param.Map `json:"labels,omitempty"`
}

// Attempt is one run of a session.
type Attempt struct {
	ID               ID         `json:"id"`
	Index            int        `json:"index"`
	Project          Ref        `json:"project"`
	Workflow         Ref        `json:"workflow"`
	SessionID        ID         `json:"sessionId"`
	SessionUUID      string     `json:"sessionUuid"`
	SessionTime      time.Time  `json:"sessionTime"`
	RetryAttemptName *string    `json:"retryAttemptName"`
	Done             bool       `json:"done"`
	Success          bool       `json:"success"`
	IgnoredErrors    bool       `json:"ignoredErrors,omitempty"` // it succeeded although tasks failed
	Imported         bool       `json:"imported,omitempty"`      // it ran on another server: its tasks and logs are unknown
	CancelRequested  bool       `json:"cancelRequested"`
	Params           *param.Map `json:"params"`
	CreatedAt        time.Time  `json:"createdAt"`
	FinishedAt       *time.Time `json:"finishedAt"`
	Status           string     `json:"status"`
	Outputs          *param.Map `json:"outputs,omitempty"`
	Paused           *Paused    `json:"paused,omitempty"`
	StartsAt         *time.Time `json:"startsAt,omitempty"` // the time requested when it was started
	Labels           *param.Map `json:"labels,omitempty"`
	Warnings         []string   `json:"warnings,omitempty"` // warnings about its start
}

// BeginsAt returns when the attempt began or will begin.
func (a *Attempt) BeginsAt() *time.Time {
	if a.StartsAt != nil {
		return a.StartsAt
	}
	return &a.CreatedAt
}

// Paused records who paused an attempt or a project, when and why.
type Paused struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Task is a task of an attempt.
type Task struct {
	ID              ID         `json:"id"`
	FullName        string     `json:"fullName"`
	ParentID        *ID        `json:"parentId"`
	Config          *param.Map `json:"config"`
	Upstreams       []ID       `json:"upstreams"`
	IsGroup         bool       `json:"isGroup"`
	Skipped         string     `json:"skipped,omitempty"`
	IgnoredError    bool       `json:"ignoredError,omitempty"`
	LogIncomplete   bool       `json:"logIncomplete,omitempty"` // a part of its log could not be stored
	State           string     `json:"state"`
	CancelRequested bool       `json:"cancelRequested"`
	ExportParams    *param.Map `json:"exportParams"`
	StoreParams     *param.Map `json:"storeParams"`
	StateParams     *param.Map `json:"stateParams"`
	UpdatedAt       time.Time  `json:"updatedAt"`
	RetryAt         *time.Time `json:"retryAt"`
	StartedAt       *time.Time `json:"startedAt"`
	Error           *param.Map `json:"error"`
	AgentID         string     `json:"agentId,omitempty"` // the server that runs it now
	Waiting         *Waiting   `json:"waiting,omitempty"`
}

// Waiting describes what keeps a ready task from running; for the root, it concerns the whole attempt.
type Waiting struct {
	Reason string     `json:"reason"` // start_time, turn, pause, slots or place
	Since  *time.Time `json:"since"`
	Until  *time.Time `json:"until"`
	Pool   string     `json:"pool"` // for slots and turn
	Slots  int        `json:"slots"`
}

// LogFile is one of an attempt's log files; Direct is empty if only the server can provide it.
type LogFile struct {
	FileName string    `json:"fileName"`
	FileSize int64     `json:"fileSize"`
	TaskName string    `json:"taskName"`
	FileTime time.Time `json:"fileTime"`
	AgentID  string    `json:"agentId"`
	Direct   Direct    `json:"direct"`
}

// Direct is a file's URL in a storage service.
type Direct string

// UnmarshalJSON accepts a URL, null and, from old servers, {"url": URL}.
func (d *Direct) UnmarshalJSON(b []byte) error {
	var object struct{ URL string }
	if len(b) > 0 && b[0] == '{' {
		err := json.Unmarshal(b, &object)
		*d = Direct(object.URL)
		return err
	}
	var text *string
	if err := json.Unmarshal(b, &text); err != nil || text == nil {
		return err
	}
	*d = Direct(*text)
	return nil
}

// MarshalJSON writes null for none.
func (d Direct) MarshalJSON() ([]byte, error) {
	if d == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(d))
}

// Token is a bearer token. The field Token is set only in the response to its creation.
type Token struct {
	ID        ID        `json:"id"`
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	Site      ID        `json:"site"`
	CreatedAt time.Time `json:"createdAt"`
	// LastUsed is approximate; nil for never.
	LastUsed  *time.Time `json:"lastUsedAt"`
	ExpiresAt *time.Time `json:"expiresAt"` // nil for never
	Projects  []string   `json:"projects"`  // the only projects that the token may use; empty: all
	Token     string     `json:"token,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"` // warnings about a new token
}

// TokenRequest describes a new token.
type TokenRequest struct {
	Name string `json:"name"`
	Role string `json:"role"`
	// Site is the token's site; nil: the caller's own.
	Site      *ID        `json:"site,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"` // nil for never
	Projects  []string   `json:"projects,omitempty"`  // empty: all
}
