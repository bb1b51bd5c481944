package attemptview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/internal/client"
	"zerodag/internal/remedy"
	"zerodag/internal/tasklog"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
)

// Attempts reads a server's attempts through a client.
type Attempts struct{ *client.Client }

// Failure is a task that failed, as opposed to a group that contains it.
type Failure struct {
	task    client.Task
	message string
	tries   int                  // how many times it ran, across all iterations of its group
	place   string               // where it is defined; "" if that is unknown
	names   map[string]dig.Place // the names that its expressions can use according to its workflow
	lost    remedy.LostNames
	lines   []string // the end of its last run's log
}

// Failures returns the tasks that made an attempt fail, the first to fail first. The tasks that will be displayed
// include the last lines of their logs and their place in the workflow.
func (r Attempts) Failures(ctx context.Context, a client.Attempt, lines int) ([]Failure, error) {
	tasks, err := r.Tasks(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	return r.FailuresAmong(ctx, a, tasks, lines)
}

// FailuresAmong is Failures for an attempt whose tasks have already been read.
func (r Attempts) FailuresAmong(ctx context.Context, a client.Attempt, tasks []client.Task, lines int) (_ []Failure, err error) {
	var list []Failure
	lost, ignored := remedy.LostNames{}, map[client.ID]bool{} // groups with ignored failures, and the tasks below
	old, tries := superseded(tasks), map[string]int{}
	for _, t := range tasks {
		tries[t.FullName] += triesOf(t)
		ignored[t.ID] = t.IgnoredError || t.ParentID != nil && ignored[*t.ParentID]
		lost.Add(t.FullName, t.Config, t.IgnoredError || t.State == "error", t.Skipped != "")
		if message := ErrorOf(t); (t.State == "error" || t.State == "group_error") && message != "" && !ignored[t.ID] && !old[t.ID] {
			list = append(list, Failure{task: t, message: message, lost: lost})
		}
	}
	slices.SortStableFunc(list, func(a, b Failure) int { return a.task.UpdatedAt.Compare(b.task.UpdatedAt) })
	for i := range list {
		list[i].tries = tries[list[i].task.FullName]
	}
	for i := range min(len(list), taskview.MostFailures) {
		if lines > 0 {
			if list[i].lines, err = r.tail(ctx, a.ID, tellerAmong(tasks, list[i].task).FullName, lines); err != nil {
				return nil, err
			}
		}
	}
	r.place(ctx, a, list)
	return list, nil
}

// superseded returns the tasks of earlier iterations of a group, and all tasks below them: only the last task with a
// name and a parent counts.
func superseded(tasks []client.Task) map[client.ID]bool {
	type place struct {
		parent client.ID
		name   string
	}
	parentOf := func(t client.Task) (id client.ID) {
		if t.ParentID != nil {
			id = *t.ParentID
		}
		return id
	}
	newest := map[place]client.ID{}
	for _, t := range tasks {
		newest[place{parentOf(t), t.FullName}] = t.ID
	}
	old := map[client.ID]bool{}
	for _, t := range tasks {
		old[t.ID] = newest[place{parentOf(t), t.FullName}] != t.ID || old[parentOf(t)]
	}
	return old
}

// triesOf returns how many times a task has run.
func triesOf(t client.Task) int {
	if t.StartedAt == nil {
		return 0
	}
	n, _ := RetriesOf(t)
	return n + 1
}

// tellerAmong returns the task whose output explains a failure: see teller in package localrun.
func tellerAmong(tasks []client.Task, t client.Task) client.Task {
	if !t.IsGroup {
		return t
	}
	last := t
	for _, x := range tasks {
		if x.State == "canceled" && x.StartedAt != nil && !x.IsGroup && engine.WorksBelow(x.FullName, t.FullName) {
			last = x
		}
	}
	return last
}

// tail returns the end of what a task's last run printed.
func (r Attempts) tail(ctx context.Context, id client.ID, task string, n int) ([]string, error) {
	handles, err := r.LogFiles(ctx, id, task)
	if err != nil {
		return nil, err
	}
	handles = slices.DeleteFunc(handles, func(h client.LogFile) bool { return h.TaskName != task })
	if len(handles) == 0 {
		return nil, nil
	}
	h := slices.MaxFunc(handles, func(a, b client.LogFile) int {
		return cmp.Or(a.FileTime.Compare(b.FileTime), cmp.Compare(a.FileName, b.FileName))
	})
	file, err := r.Log(ctx, id, h)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := tasklog.Last(file, n)
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", h.FileName, err)
	}
	for i, line := range lines {
		lines[i] = term.ShortenEnd(line, taskview.LongestKept)
	}
	return lines, nil
}

// Limits on the reads that find where a task is defined, because a user is waiting for the result.
const (
	mostPlaced = 20 // files
	placeTime  = 5 * time.Second
)

// place finds where the tasks behind an attempt's first failures are defined in its revision's files. It gives up if
// the server does not serve the files, or if a file is missing or too large.
func (r Attempts) place(ctx context.Context, a client.Attempt, failed []Failure) {
	if a.Workflow.ID == "" || len(failed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	w, err := r.Definition(ctx, a.Workflow.ID)
	if err != nil || w.Revision == "" {
		return
	}
	files, gone := map[string]string{}, map[string]bool{}
	missing := false // no file of this revision can be read
	source := func(name string) ([]byte, error) {
		text, known := files[name]
		if !known && (missing || gone[name] || len(files) >= mostPlaced) {
			return nil, dig.ErrNotFound
		}
		if !known {
			var found bool
			if text, found, err = r.FileText(ctx, a.Project.ID, w.Revision, name); err != nil || !found {
				missing, gone[name] = missing || len(files) == 0, true
				return nil, dig.ErrNotFound
			}
			files[name] = text
		}
		return []byte(text), nil
	}
	for i := range min(len(failed), taskview.MostFailures) {
		if at, found := dig.Find(source, w.Name+".dig", failed[i].task.FullName, failed[i].message); found {
			failed[i].place = at.String()
		}
		failed[i].names = dig.Names(source, w.Name+".dig", failed[i].task.FullName)
	}
}
