package localrun

import (
	"context"
	"fmt"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/program"
	"zerodag/internal/remedy"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
)

// report prints the attempt's outcome. The error for a failed attempt means that the reason was already shown.
func (r *run) report(s *engine.State) error {
	switch {
	case !program.AsDigdag():
		columns, ink := term.Look(r.Err)
		fmt.Fprint(r.Err, r.outcome(s).text(columns, ink))
	case s.Succeeded():
		saved := ""
		switch {
		case r.DryRun:
			saved = " No operator was run, and nothing is saved: this was a dry run."
		case r.status != nil:
			saved = " Task state is saved at " + r.status.dir + " directory."
		}
		fmt.Fprintf(r.Err, "Success.%s\n%s", saved, hints)
	default:
		var b strings.Builder
		b.WriteString("error: \n")
		failures(&b, s)
		if r.status != nil && !r.DryRun {
			fmt.Fprintf(&b, "\nTask state is saved at %s directory.\n%s", r.status.dir, hints)
		}
		fmt.Fprint(r.Err, b.String())
	}
	if s.Succeeded() {
		return nil
	}
	return program.ErrShown
}

// reasonOf returns why a task failed.
func reasonOf(t *engine.Task) string {
	message, _ := t.Error.Get("message")
	text, err := param.AsString("message", message)
	if err != nil || text == "" {
		text = param.Text(t.Error)
	}
	if _, after, found := strings.Cut(text, "Exception: "); found {
		text = after
	}
	return text
}

// runOutcome describes how a run ended, for display.
type runOutcome struct {
	count       taskview.Tally
	took        time.Duration
	succeeded   bool
	interrupted bool
	failed      []runFailure
	dry         bool
	skipped     int // succeeded tasks that did not run again
	leftOut     int // skipped tasks whose _if was false
	ignored     int // tasks whose errors were ignored
	saved       bool
	again       string     // the command that resumes the run
	outputs     *param.Map // the run's outputs; nil for none
}

// runFailure is a task that failed, its error, its place in the workflow, a possible fix, and the end of its output.
type runFailure struct {
	task, reason, place string
	tries               int // how many times it ran, across all iterations of its group
	remedies, lines     []string
}

func (r *run) outcome(s *engine.State) runOutcome {
	o := runOutcome{took: time.Since(r.began), succeeded: s.Succeeded(), interrupted: s.Canceled(), dry: r.DryRun, saved: r.status != nil, again: r.Again(r.sessionAt), outputs: s.Outputs()}
	var rows []taskview.Row
	lost := remedy.LostNames{}
	for _, t := range s.Tasks() {
		lost.Add(t.Name, t.Config, t.Ignored || t.FailedItself(), t.Skipped != "")
	}
	old, tries := s.Superseded(), map[string]int{}
	for _, t := range s.Tasks() {
		tries[t.Name] += t.Runs()
	}
	for _, t := range s.Tasks() {
		row := taskview.NewRow(t)
		row.Old = old[t.ID]
		rows = append(rows, row)
		if !t.FailedItself() || s.IsIgnored(t) || old[t.ID] {
			continue
		}
		if reason := reasonOf(t); !o.interrupted || !strings.Contains(reason, context.Canceled.Error()) {
			f := r.failure(s, t, lost)
			f.tries = tries[t.Name]
			o.failed = append(o.failed, f)
		}
	}
	tasks := taskview.NewGrove(rows, true)
	o.count = tasks.Tally()
	for i, row := range rows {
		if !row.Old {
			o.add(row, tasks.IsLeaf(i), r.plan.took(row.Name))
		}
	}
	return o
}

// add counts a task that an earlier run completed, that was skipped, or whose failure was ignored.
func (o *runOutcome) add(row taskview.Row, leaf, done bool) {
	if leaf && done {
		o.skipped++
	}
	if leaf && row.Skipped {
		o.leftOut++
	}
	if row.Ignored {
		o.ignored++
	}
}

// teller returns the task whose output explains a failure: a group has no output, so it is the last task below it that
// was running when the group ended.
func teller(s *engine.State, t *engine.Task) *engine.Task {
	if !t.Group {
		return t
	}
	last := t
	for _, x := range s.Tasks() {
		if x.State == engine.Canceled && !x.StartedAt.IsZero() && !x.Group && engine.WorksBelow(x.Name, t.Name) {
			last = x
		}
	}
	return last
}

// failure returns information that helps to fix a failed task.
func (r *run) failure(s *engine.State, t *engine.Task, lost remedy.LostNames) runFailure {
	reason := strings.TrimSuffix(taskview.Briefly(reasonOf(t)), " (runtime)")
	f := runFailure{task: t.Name, reason: reason, lines: r.output.LastOf(teller(s, t).Name)}
	if message, _ := t.Error.Get("message"); message == "" {
		reason, f.reason = "", "the task failed without a message"
	}
	f.reason = engine.Shortened(ofThisMachine(f.reason))
	names := dig.Names(r.Folder.Source, r.Workflow.Name+".dig", t.Name)
	f.remedies = remedy.Fault{Message: reason, Config: t.Config, Names: names, Lost: lost}.Remedies()
	if place, found := dig.Find(r.Folder.Source, r.Workflow.Name+".dig", t.Name, reason); found {
		f.place = place.String()
	}
	return f
}

// ofThisMachine changes a message about a missing secret so that it refers to the secrets of this machine's user.
// Operators name the project whose secret is missing, but a run on this machine has no project.
func ofThisMachine(message string) string {
	return strings.ReplaceAll(message, "zerodag secrets --project "+localProjectName+" ", "zerodag secrets --local ")
}
