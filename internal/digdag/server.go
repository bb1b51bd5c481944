package digdag

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"zerodag/internal/client"
)

// Server reads the history from the API of a running Digdag.
type Server struct{ API *client.Client }

// Attempts implements History. The API lists attempts from the newest to the oldest, but they are needed in the
// opposite order. So the first pass only counts them and records where each page begins, and the second pass reads the
// pages again, the last page first. Attempts that begin in between are left for the next import.
func (s Server) Attempts(ctx context.Context, f Filter, survey func(Survey), do func([]client.PastAttempt) error) error {
	projects, err := s.projects(ctx, f)
	if err != nil {
		return err
	}
	w := walk{Server: s, filter: f, living: map[client.ID]bool{}, open: map[client.ID]bool{}, definitions: map[client.ID]client.Workflow{}}
	for _, p := range projects {
		w.living[p.ID] = true
	}
	lists := []string{""} // of all projects
	if len(f.Projects) > 0 {
		lists = nil
		for _, p := range projects {
			lists = append(lists, p.Name)
		}
	}
	for _, project := range lists {
		if err := w.look(ctx, project); err != nil {
			return err
		}
	}
	survey(w.count())
	for _, p := range slices.Backward(w.pages) {
		if err := w.send(ctx, p, do); err != nil {
			return err
		}
	}
	return nil
}

// projects returns the selected projects that are not deleted.
func (s Server) projects(ctx context.Context, f Filter) (list []client.Project, err error) {
	for _, name := range f.Projects {
		p, err := s.API.Project(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	if len(f.Projects) > 0 {
		return list, nil
	}
	return s.API.AllProjects(ctx)
}

// walk is one reading of all attempts.
type walk struct {
	Server
	filter      Filter
	living      map[client.ID]bool // projects
	open        map[client.ID]bool // sessions with an unfinished attempt
	pages       []page             // from the newest to the oldest
	sessions    map[client.ID]int  // attempts of each session
	deleted     int
	definitions map[client.ID]client.Workflow
}

// page is a page of one project's attempts or of all attempts.
type page struct {
	project string
	below   client.ID // its ids are below this one
}

// look records the pages of a list.
func (w *walk) look(ctx context.Context, project string) error {
	at := page{project: project}
	for {
		list, err := w.API.AllAttempts(ctx, project, client.Page{Last: at.below})
		if err != nil {
			return fmt.Errorf("list attempts: %w", err)
		}
		if len(list) == 0 || list[len(list)-1].ID == at.below {
			return nil
		}
		if at.below == "" { // the first page has no upper limit, and would be a different one later
			newest, err := strconv.ParseInt(string(list[0].ID), 10, 64)
			if err != nil {
				return fmt.Errorf("list attempts: the id of an attempt is %q, not a number", list[0].ID)
			}
			at.below = client.ID(strconv.FormatInt(newest+1, 10))
		}
		w.pages = append(w.pages, at)
		old := true
		for _, a := range list {
			if a.CreatedAt.Before(w.filter.Since) {
				continue
			}
			old = false
			w.note(a)
		}
		if old {
			return nil
		}
		at.below = list[len(list)-1].ID
	}
}

// note counts an attempt.
func (w *walk) note(a client.Attempt) {
	switch {
	case !w.living[a.Project.ID]:
		w.deleted++
		return
	case !a.Done:
		w.open[a.SessionID] = true
	}
	if w.sessions == nil {
		w.sessions = map[client.ID]int{}
	}
	w.sessions[a.SessionID]++
}

func (w *walk) count() Survey {
	n := Survey{Deleted: w.deleted}
	for session, attempts := range w.sessions {
		if w.open[session] {
			n.Unfinished += attempts
		} else {
			n.Attempts += attempts
		}
	}
	return n
}

// send passes on the attempts of a page.
func (w *walk) send(ctx context.Context, p page, do func([]client.PastAttempt) error) error {
	list, err := w.API.AllAttempts(ctx, p.project, client.Page{Last: p.below})
	if err != nil {
		return fmt.Errorf("list attempts: %w", err)
	}
	var past []client.PastAttempt
	for _, a := range slices.Backward(list) {
		if a.CreatedAt.Before(w.filter.Since) || !w.living[a.Project.ID] || !a.Done || w.open[a.SessionID] {
			continue
		}
		one, err := w.past(ctx, a)
		if err != nil {
			return err
		}
		past = append(past, one)
	}
	if len(past) == 0 {
		return nil
	}
	return do(past)
}

// past converts an attempt. The API does not report its revision and time zone, but its definition contains them.
func (w *walk) past(ctx context.Context, a client.Attempt) (client.PastAttempt, error) {
	d, known := w.definitions[a.Workflow.ID]
	if !known && a.Workflow.ID != "" {
		var err error
		if d, err = w.API.Definition(ctx, a.Workflow.ID); err != nil && !client.IsMissing(err) {
			return client.PastAttempt{}, fmt.Errorf("read the workflow of attempt %s: %w", a.ID, err)
		}
		w.definitions[a.Workflow.ID] = d
	}
	p := client.PastAttempt{ID: a.ID, Project: a.Project.Name, Revision: d.Revision, Workflow: a.Workflow.Name, SessionUUID: a.SessionUUID, SessionTime: a.SessionTime,
		Timezone: d.Timezone, Params: a.Params, CreatedAt: a.CreatedAt, FinishedAt: a.CreatedAt, Success: a.Success, CancelRequested: a.CancelRequested}
	if a.RetryAttemptName != nil {
		p.RetryAttemptName = *a.RetryAttemptName
	}
	if a.FinishedAt != nil { // old releases did not record it
		p.FinishedAt = *a.FinishedAt
	}
	return p, nil
}

// Schedules implements History. The API does not report a schedule's last session.
func (s Server) Schedules(ctx context.Context, f Filter) ([]client.PastSchedule, error) {
	list, err := s.API.AllSchedules(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	var out []client.PastSchedule
	for _, x := range list {
		if len(f.Projects) == 0 || slices.Contains(f.Projects, x.Project.Name) {
			out = append(out, client.PastSchedule{Project: x.Project.Name, Workflow: x.Workflow.Name, NextRunTime: x.NextRunTime, NextScheduleTime: x.NextScheduleTime, DisabledAt: x.DisabledAt})
		}
	}
	return out, nil
}
