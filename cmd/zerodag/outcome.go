package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/client"
	"zerodag/internal/tasklog"
)

// lastLines is how much of its log is shown of a task that failed.
const lastLines = 10

// mostFailures is how many tasks that failed are shown with their logs.
const mostFailures = 3

// failure is a task that failed, and not one that only contains such a task.
type failure struct {
	task    client.Task
	message string
	tries   int                  // how often it ran, in all rounds of its group
	place   string               // where it is written; "" where that is not known
	names   map[string]dig.Place // that its expressions see by what its workflow says
	lost    lostNames
	lines   []string // the end of the log of its last run
}

// failures are the tasks because of which an attempt failed, the first to fail first, with so many lines
// of their logs.
func (r *remote) failures(ctx context.Context, a client.Attempt, lines int) ([]failure, error) {
	tasks, err := r.Tasks(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	return r.failuresAmong(ctx, a, tasks, lines)
}

// failuresAmong are those among tasks that were read already.
func (r *remote) failuresAmong(ctx context.Context, a client.Attempt, tasks []client.Task, lines int) (_ []failure, err error) {
	var list []failure
	lost, ignored := lostNames{}, map[client.ID]bool{} // groups whose failure is, and what is below them
	old, tries := superseded(tasks), map[string]int{}
	for _, t := range tasks {
		tries[t.FullName] += triesOf(t)
		ignored[t.ID] = t.IgnoredError || t.ParentID != nil && ignored[*t.ParentID]
		lost.add(t.FullName, t.Config, t.IgnoredError || t.State == "error", t.Skipped != "")
		if message := errorOf(t); (t.State == "error" || t.State == "group_error") && message != "" && !ignored[t.ID] && !old[t.ID] {
			list = append(list, failure{task: t, message: message, lost: lost})
		}
	}
	slices.SortStableFunc(list, func(a, b failure) int { return a.task.UpdatedAt.Compare(b.task.UpdatedAt) })
	for i := range list {
		list[i].tries = tries[list[i].task.FullName]
	}
	for i := range min(len(list), mostFailures) {
		if lines > 0 {
			if list[i].lines, err = r.tail(ctx, a.ID, tellerAmong(tasks, list[i].task).FullName, lines); err != nil {
				return nil, err
			}
		}
	}
	r.place(ctx, a, list)
	return list, nil
}

// superseded are the tasks of earlier rounds of a group, and all tasks below them: a later task of the same name below the same one counts.
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

// triesOf is how often a task has run.
func triesOf(t client.Task) int {
	if t.StartedAt == nil {
		return 0
	}
	n, _ := retriesOf(t)
	return n + 1
}

// triesNote returns how often a task ran, for the place after its name; "" for once.
func triesNote(tries int) string {
	if tries < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d tries)", tries)
}

// tellerAmong is the task whose output is that of a failure: see teller.
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

// tail is the end of what a task printed when it ran last.
func (r *remote) tail(ctx context.Context, id client.ID, task string, n int) ([]string, error) {
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
		lines[i] = shortenEnd(line, longestKept)
	}
	return lines, nil
}

// outcomeText says how an attempt has ended and, if it failed, which task, why, the last that it printed
// and what resumes it.
func outcomeText(a client.Attempt, failed []failure, ink palette) string {
	var b strings.Builder
	status := ofIgnored(a.Status, a.IgnoredErrors)
	end := status
	if a.FinishedAt != nil {
		end += " after " + wholeDuration(max(0, a.FinishedAt.Sub(*a.BeginsAt())))
	}
	fmt.Fprintf(&b, "Attempt %s of %s/%s: %s%s%s\n", a.ID, a.Project.Name, a.Workflow.Name, statusInk(ink, status), end, ink.reset)
	b.WriteString(outputsText(a.Outputs))
	for i, f := range failed {
		if i == mostFailures {
			fmt.Fprintf(&b, "  ... and %d more: zerodag tasks %s\n", len(failed)-i, a.ID)
			break
		}
		fmt.Fprintf(&b, "  %s%s%s%s: %s\n", ink.red, f.task.FullName, ink.reset, triesNote(f.tries), strings.ReplaceAll(engine.Shortened(f.message), "\n", "\n    "))
		for _, line := range f.lines {
			fmt.Fprintf(&b, "    %s| %s%s\n", ink.dim, line, ink.reset)
		}
		if f.place != "" {
			fmt.Fprintf(&b, "    at %s\n", f.place)
		}
		for _, line := range hintLines(fault{f.message, f.task.Config, a.Project.Name, f.names, f.lost, f.lines}.remedies()) {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	if a.Done && !a.Success {
		fmt.Fprintf(&b, "Mend it, push it, and go on with: zerodag retry %s --latest-revision --resume\n", a.ID)
	}
	return asCalled(b.String())
}

// mostIgnored is how many errors are shown that were ignored.
const mostIgnored = 10

// ignoredErrors are the errors of a success that were ignored, the first one first, each with its task.
func (r *remote) ignoredErrors(ctx context.Context, a client.Attempt) ([]client.Task, error) {
	tasks, err := r.Tasks(ctx, a.ID)
	list := slices.DeleteFunc(tasks, func(t client.Task) bool { return !t.IgnoredError })
	slices.SortStableFunc(list, func(a, b client.Task) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	return list, err
}

// ignoredText lists errors that were ignored, a task each; "" for none.
func ignoredText(id client.ID, list []client.Task, ink palette) string {
	var b strings.Builder
	for i, t := range list {
		if i == mostIgnored {
			fmt.Fprintf(&b, "  ... and %d more: zerodag tasks %s\n", len(list)-i, id)
			break
		}
		message := cmp.Or(errorOf(t), "the task failed without a message")
		fmt.Fprintf(&b, "  ignored: %s%s%s: %s\n", ink.yellow, t.FullName, ink.reset, strings.ReplaceAll(engine.Shortened(message), "\n", "\n    "))
	}
	return asCalled(b.String())
}

// outputsText lists what an attempt came to, a line each; "" for none.
func outputsText(outputs *param.Map) string {
	var b strings.Builder
	for name, v := range outputs.All() {
		fmt.Fprintf(&b, "  %s: %s\n", name, param.Text(v))
	}
	return b.String()
}

// briefly is a message without what says where in a program it came from.
func briefly(message string) string {
	message, _, _ = strings.Cut(message, "\n\t")
	return strings.TrimSpace(message)
}

// await waits until an attempt is over.
func (r *remote) await(ctx context.Context, id client.ID) (client.Attempt, error) {
	for pause := followFirst; ; pause = min(2*pause, followLast) {
		a, err := r.Attempt(ctx, id)
		if err != nil || a.Done {
			return a, err
		}
		if err := r.Wait(ctx, pause); err != nil {
			return a, err
		}
	}
}

// tellOutcome says on the error output how an attempt has ended. The error ends the program with code 1
// if that is no success.
func (r *remote) tellOutcome(ctx context.Context, a client.Attempt, lines int) error {
	if a.Success {
		return r.tellEnd(a, nil)
	}
	failed, err := r.failures(ctx, a, lines)
	if err != nil {
		return err
	}
	return r.tellEnd(a, failed)
}

// tellEnd is tellOutcome with failures that were found already.
func (r *remote) tellEnd(a client.Attempt, failed []failure) error {
	_, ink := look(r.err)
	fmt.Fprint(r.err, outcomeText(a, failed, ink))
	if !a.Success {
		return errShown
	}
	return nil
}

// incompleteLogs are warnings of tasks whose logs are not complete.
func incompleteLogs(tasks []client.Task) (list []string) {
	for _, t := range tasks {
		if t.LogIncomplete {
			list = append(list, "the log of "+t.FullName+" is incomplete: some of it could not be stored")
		}
	}
	return list
}

// tellFailed writes to the error output of a list or a log which logs of an attempt are incomplete, why it failed, and what resumes
// it; nothing else about a success. tasks are those of the attempt, nil where they were not read.
func (r *remote) tellFailed(ctx context.Context, id client.ID, tasks []client.Task) error {
	a, err := r.Attempt(ctx, id)
	if err != nil || !a.Done {
		return err
	}
	if tasks == nil {
		if tasks, err = r.Tasks(ctx, id); err != nil {
			return err
		}
	}
	r.warnings(incompleteLogs(tasks))
	if a.Success {
		return nil
	}
	failed, err := r.failuresAmong(ctx, a, tasks, 0)
	if err != nil {
		return err
	}
	_, ink := look(r.err)
	fmt.Fprint(r.err, outcomeText(a, failed, ink))
	return nil
}
