package httpapi

import (
	"time"

	"zerodag/engine/schedule"
	"zerodag/internal/console"
	"zerodag/internal/host"
)

// brief is an attempt without its parameters, which may be a megabyte: lists have many.
type brief struct {
	ID               id        `json:"id"`
	Status           string    `json:"status"`
	Project          idName    `json:"project"`
	Workflow         nameOptID `json:"workflow"`
	SessionID        id        `json:"sessionId"`
	SessionTime      string    `json:"sessionTime"`
	RetryAttemptName *string   `json:"retryAttemptName"`
	Created          int64     `json:"created"`  // milliseconds since 1970
	Finished         int64     `json:"finished"` // 0: not yet
	// Standing is what the status does not tell: a success with errors that are "ignored", or that what runs is "paused".
	Standing string `json:"standing,omitempty"`
}

func briefly(a host.Attempt) brief {
	return brief{ID: id(a.ID), Status: a.Status(), Project: named(a.Project), Workflow: optional(a.Workflow), SessionID: id(a.SessionID),
		SessionTime: offsetTime(a.SessionTime, a.Zone), RetryAttemptName: textOrNull(a.RetryName), Created: millis(a.CreatedAt), Finished: millis(a.FinishedAt), Standing: standing(a)}
}

func standing(a host.Attempt) string {
	switch {
	case a.Ignored:
		return "ignored"
	case a.Paused && !a.Done:
		return "paused"
	}
	return ""
}

// lastBriefly is the last attempt of a session.
func lastBriefly(s host.Session) brief {
	a := s.Last
	a.Project, a.Workflow, a.SessionID, a.SessionTime = s.Project, s.Workflow, s.ID, s.Time
	return briefly(a)
}

// counting reads a number of rows that is asked for: from 1 to most.
func (c *call) counting(name string, otherwise, most int64) (int, error) {
	n, err := c.number(name, otherwise)
	if err == nil && (n < 1 || n > most) {
		err = invalid("%s= must be from 1 to %d, not %d", name, most, n)
	}
	return int(n), err
}

// timeArg reads a time of the query; zero when it was not given.
func (c *call) timeArg(name string) (time.Time, error) {
	text, given := c.arg(name)
	if !given || text == "" {
		return time.Time{}, nil
	}
	t, err := parseInstant(text)
	if err != nil {
		return time.Time{}, invalid("%s= must be a date and time with an offset or Z, as 2026-01-31T00:00:00Z, not %q", name, text)
	}
	return t, nil
}

type restRunning struct {
	Attempt brief `json:"attempt"`
	Tasks   int   `json:"tasks"` // without groups; 0 where they were not counted
	Done    int   `json:"done"`
}

type restFailed struct {
	Attempt brief   `json:"attempt"`
	Task    *string `json:"task"` // the first one that failed for good; null where it was not looked for
	Message *string `json:"message"`
}

type restLate struct {
	Kind     console.LateKind `json:"kind"`
	Since    int64            `json:"since"`
	Attempt  *brief           `json:"attempt"`
	Schedule *restSchedule    `json:"schedule"`
	Usual    int64            `json:"usual"` // milliseconds; 0 unless the kind is slow
}

type restOverview struct {
	At      int64 `json:"at"`
	Running struct {
		Total int           `json:"total"`
		Rows  []restRunning `json:"rows"`
	} `json:"running"`
	Failed struct {
		All  bool         `json:"all"`
		Rows []restFailed `json:"rows"`
	} `json:"failed"`
	Late []restLate `json:"late"`
	Next struct {
		Total int            `json:"total"`
		Rows  []restSchedule `json:"rows"`
	} `json:"next"`
}

// seenUnlessSaid is since when failures are shown to who does not say.
const seenUnlessSaid = 24 * time.Hour

func getOverview(c *call) (any, error) {
	seen, err := c.number("seen", c.Now().Add(-seenUnlessSaid).UnixMilli())
	if err != nil {
		return nil, err
	}
	o, err := c.console.Overview(c.ctx(), c.actor.Site, time.UnixMilli(seen))
	if err != nil {
		return nil, err
	}
	r := restOverview{At: millis(o.At), Late: make([]restLate, len(o.Late))}
	r.Running.Total = o.Active
	r.Running.Rows = each(o.Running, func(x console.Running) restRunning { return restRunning{briefly(x.Attempt), x.Tasks, x.Done} })
	r.Failed.All = o.FailedAll
	r.Failed.Rows = each(o.Failed, func(x console.Failed) restFailed {
		return restFailed{briefly(x.Attempt), textOrNull(x.Task), textOrNull(beginning(x.Message))}
	})
	for i, x := range o.Late {
		if r.Late[i], err = c.late(x); err != nil {
			return nil, err
		}
	}
	r.Next.Total, r.Next.Rows = o.Schedules, make([]restSchedule, len(o.Next))
	for i, s := range o.Next {
		if r.Next.Rows[i], err = c.schedule(s); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (c *call) late(x console.Late) (restLate, error) {
	r := restLate{Kind: x.Kind, Since: millis(x.Since), Usual: x.Usual.Milliseconds()}
	if x.Kind != console.Due {
		b := briefly(x.Attempt)
		r.Attempt = &b
		return r, nil
	}
	s, err := c.schedule(x.Schedule)
	r.Schedule = &s
	return r, err
}

type restFound struct {
	Sessions []brief `json:"sessions"` // the last attempt of each
	Next     *id     `json:"next"`     // what before= is for the next page; null on the last
}

func findSessions(c *call) (any, error) {
	f, err := c.sessionFilter("state")
	if err != nil {
		return nil, err
	}
	f.Workflow = c.text("workflow")
	if f.Before, err = c.number("before", 0); err != nil {
		return nil, err
	}
	if f.Count, err = c.counting("count", 50, 200); err != nil {
		return nil, err
	}
	if name, given := c.arg("project"); given {
		p, err := c.byName(name)
		if err != nil {
			return nil, err
		}
		f.Project = p.ID
	}
	p, err := c.console.Sessions(c.ctx(), f)
	if err != nil {
		return nil, err
	}
	return restFound{each(p.Sessions, lastBriefly), orNull(p.Next)}, nil
}

type restGrid struct {
	Columns []brief   `json:"columns"` // the last attempt of each session, the newest session first
	Rows    []restRow `json:"rows"`
	More    bool      `json:"more"` // there are more rows than asked for
	Next    *id       `json:"next"` // what before= is for the columns before these; null for none
}

// restRow is a task through all columns: item i of each list is of column i.
type restRow struct {
	Name  string    `json:"name"`  // what it adds to the name of the parent
	Inner bool      `json:"inner"` // there are tasks below it
	State []*string `json:"state"` // null where the attempt has no such task
	Took  []int64   `json:"took"`  // milliseconds from the first run to the end; 0 unless it is over
	Tries []int     `json:"tries"` // how often it was made
}

func getGrid(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	q := console.GridQuery{Site: c.actor.Site, Parent: c.text("parent")}
	if q.Before, err = c.number("before", 0); err != nil {
		return nil, err
	}
	if q.Columns, err = c.counting("columns", 30, 60); err != nil {
		return nil, err
	}
	if q.Rows, err = c.counting("rows", 200, 500); err != nil {
		return nil, err
	}
	w, err := c.Node.Workflow(c.ctx(), q.Site, n)
	if err != nil {
		return nil, found(err, "workflow id=%d", n)
	}
	q.Project, q.Workflow = w.Project.ID, w.Name
	g, err := c.console.Grid(c.ctx(), q)
	if err != nil {
		return nil, err
	}
	return restGrid{Columns: each(g.Columns, lastBriefly), Rows: each(g.Rows, gridRow), More: g.More, Next: orNull(g.Next)}, nil
}

func gridRow(row console.Row) restRow {
	to := restRow{Name: row.Name, Inner: row.Inner, State: []*string{}, Took: []int64{}, Tries: []int{}}
	for _, cell := range row.Cells {
		to.State, to.Took, to.Tries = append(to.State, textOrNull(cell.State)), append(to.Took, cell.Took.Milliseconds()), append(to.Tries, cell.Tries)
	}
	return to
}

type restTime struct {
	SessionTime string `json:"sessionTime"` // in the zone of the workflow
	RunTime     moment `json:"runTime"`
}

func getUpcoming(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	count, err := c.counting("count", 10, 1000)
	if err != nil {
		return nil, err
	}
	from, err := c.timeArg("from")
	if err != nil {
		return nil, err
	}
	list, err := c.console.Upcoming(c.ctx(), c.actor.Site, n, from, count)
	if err != nil {
		return nil, c.noSchedule(err)
	}
	return collection("times", list, func(t schedule.Time) restTime { return restTime{t.Time.Format(offsetForm), moment(t.RunTime)} }), nil
}

type restDate struct {
	SessionTime string `json:"sessionTime"` // in the zone of the workflow
	State       string `json:"state"`       // "new", or the status of the session's last attempt
	SessionID   *id    `json:"sessionId"`
	AttemptID   *id    `json:"attemptId"`
	// Ahead says that the schedule itself has yet to start it: no backfill does.
	Ahead bool `json:"ahead"`
}

type restDates struct {
	Dates []restDate `json:"dates"`
	// All is false where not all sessions of the workflow were looked at: what is new may be there.
	All bool `json:"all"`
}

func getDates(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	count, err := c.counting("count", 100, 1000)
	if err != nil {
		return nil, err
	}
	if _, err := c.required("from"); err != nil {
		return nil, err
	}
	from, err := c.timeArg("from")
	if err != nil {
		return nil, err
	}
	until, err := c.timeArg("to")
	if err != nil {
		return nil, err
	}
	if until.IsZero() {
		until = c.Now()
	}
	list, all, err := c.console.Dates(c.ctx(), c.actor.Site, n, from, until, count)
	if err != nil {
		return nil, c.noSchedule(err)
	}
	r := restDates{Dates: make([]restDate, len(list)), All: all}
	for i, d := range list {
		r.Dates[i] = restDate{SessionTime: d.Time.Format(offsetForm), State: "new", Ahead: d.Ahead}
		if s := d.Session; s != nil {
			r.Dates[i].State, r.Dates[i].SessionID, r.Dates[i].AttemptID = s.Last.Status(), orNull(s.ID), orNull(s.Last.ID)
		}
	}
	return r, nil
}
