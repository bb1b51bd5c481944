package wire

import (
	"time"

	"zerodag/internal/console"
	"zerodag/internal/host"
)

// Brief is an attempt without its parameters, which may take a megabyte, for lists of many attempts.
type Brief struct {
	ID               ID        `json:"id"`
	Status           string    `json:"status"`
	Project          IDName    `json:"project"`
	Workflow         NameOptID `json:"workflow"`
	SessionID        ID        `json:"sessionId"`
	SessionTime      string    `json:"sessionTime"`
	RetryAttemptName *string   `json:"retryAttemptName"`
	Created          int64     `json:"created"`  // milliseconds since 1970
	Finished         int64     `json:"finished"` // 0: not yet
	// Standing adds to the status: "ignored" if a successful attempt has ignored errors, or "paused" if a running one is
	// paused.
	Standing string `json:"standing,omitempty"`
}

// Briefly shows an attempt in a list of many.
func Briefly(a host.Attempt) Brief {
	return Brief{ID: ID(a.ID), Status: a.Status(), Project: Named(a.Project), Workflow: Optional(a.Workflow), SessionID: ID(a.SessionID),
		SessionTime: OffsetTime(a.SessionTime, a.Zone), RetryAttemptName: TextOrNull(a.RetryName), Created: Millis(a.CreatedAt), Finished: Millis(a.FinishedAt), Standing: Standing(a)}
}

// Standing returns the keyword that adds to an attempt's status.
func Standing(a host.Attempt) string {
	switch {
	case a.Ignored:
		return "ignored"
	case a.Paused && !a.Done:
		return "paused"
	}
	return ""
}

// LastBriefly shows a session's last attempt.
func LastBriefly(s host.Session) Brief {
	a := s.Last
	a.Project, a.Workflow, a.SessionID, a.SessionTime = s.Project, s.Workflow, s.ID, s.Time
	return Briefly(a)
}

// Running is an attempt in the overview that has not ended.
type Running struct {
	Attempt Brief `json:"attempt"`
	Tasks   int   `json:"tasks"` // without groups; 0 if they were not counted
	Done    int   `json:"done"`
}

// Failed is a session in the overview whose last attempt failed.
type Failed struct {
	Attempt Brief   `json:"attempt"`
	Task    *string `json:"task"` // the first that failed without further retries; null if not looked up
	Message *string `json:"message"`
}

// Late is a schedule in the overview whose session has not started in time.
type Late struct {
	Kind     console.LateKind `json:"kind"`
	Since    int64            `json:"since"`
	Attempt  *Brief           `json:"attempt"`
	Schedule *Schedule        `json:"schedule"`
	Usual    int64            `json:"usual"` // milliseconds; 0 unless the kind is slow
}

// Overview is the data for the console's first page.
type Overview struct {
	At      int64 `json:"at"`
	Running struct {
		Total int       `json:"total"`
		Rows  []Running `json:"rows"`
	} `json:"running"`
	Failed struct {
		All  bool     `json:"all"`
		Rows []Failed `json:"rows"`
	} `json:"failed"`
	Late []Late `json:"late"`
	Next struct {
		Total int        `json:"total"`
		Rows  []Schedule `json:"rows"`
	} `json:"next"`
}

// SeenUnlessSaid is the default period for which failures are shown.
const SeenUnlessSaid = 24 * time.Hour

// Found is a page of the sessions that a search found.
type Found struct {
	Sessions []Brief `json:"sessions"` // the last attempt of each
	Next     *ID     `json:"next"`     // the before parameter of the next page; null on the last
}

// Grid shows the last sessions of a workflow, each with its tasks.
type Grid struct {
	Columns []Brief `json:"columns"` // the last attempt of each session, the newest session first
	Rows    []Row   `json:"rows"`
	More    bool    `json:"more"` // there are more rows than requested
	Next    *ID     `json:"next"` // the before parameter for earlier columns; null for none
}

// Row is a task in all columns: item i of each list belongs to column i.
type Row struct {
	Name  string    `json:"name"`  // the part that it adds to its parent's name
	Inner bool      `json:"inner"` // there are tasks below it
	State []*string `json:"state"` // null if the attempt has no such task
	Took  []int64   `json:"took"`  // milliseconds from the first run to the end; 0 unless it has ended
	Tries []int     `json:"tries"` // how many times it was created
}

// GridRow shows a session of a grid.
func GridRow(row console.Row) Row {
	to := Row{Name: row.Name, Inner: row.Inner, State: []*string{}, Took: []int64{}, Tries: []int{}}
	for _, cell := range row.Cells {
		to.State, to.Took, to.Tries = append(to.State, TextOrNull(cell.State)), append(to.Took, cell.Took.Milliseconds()), append(to.Tries, cell.Tries)
	}
	return to
}

// Time is a future session time, with the time at which it starts.
type Time struct {
	SessionTime string `json:"sessionTime"` // in the workflow's zone
	RunTime     Moment `json:"runTime"`
}

// Date is a day of a calendar.
type Date struct {
	SessionTime string `json:"sessionTime"` // in the workflow's zone
	State       string `json:"state"`       // "new", or the status of the session's last attempt
	SessionID   *ID    `json:"sessionId"`
	AttemptID   *ID    `json:"attemptId"`
	// Ahead means that the schedule itself will start it, so that a backfill does not.
	Ahead bool `json:"ahead"`
}

// Dates lists the days on which a schedule starts.
type Dates struct {
	Dates []Date `json:"dates"`
	// All is false if some sessions of the workflow were not read: a date marked as new may then already have one.
	All bool `json:"all"`
}
