package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
)

const hints = `  * Use --session <daily | hourly | "yyyy-MM-dd[ HH:mm:ss]"> to not reuse the last session time.
  * Use --rerun, --start +NAME, or --goal +NAME argument to rerun skipped tasks.
`

// report says how the attempt ended. The error of one that did not succeed has been shown.
func (r *localRun) report(s *engine.State) error {
	switch {
	case !asDigdag():
		columns, ink := look(r.err)
		io.WriteString(r.err, r.outcome(s).text(columns, ink))
	case s.Succeeded():
		saved := ""
		switch {
		case r.dryRun:
			saved = " No operator was run, and nothing is saved: this was a dry run."
		case r.status != nil:
			saved = " Task state is saved at " + r.status.dir + " directory."
		}
		fmt.Fprintf(r.err, "Success.%s\n%s", saved, hints)
	default:
		var b strings.Builder
		b.WriteString("error: \n")
		failures(&b, s)
		if r.status != nil && !r.dryRun {
			fmt.Fprintf(&b, "\nTask state is saved at %s directory.\n%s", r.status.dir, hints)
		}
		io.WriteString(r.err, b.String())
	}
	if s.Succeeded() {
		return nil
	}
	return errShown
}

// failures lists the tasks that failed in the original's form.
func failures(b *strings.Builder, s *engine.State) {
	if s.Canceled() {
		b.WriteString("  The run was interrupted.\n")
	}
	for _, t := range s.Tasks() {
		if t.State == engine.Failed {
			fmt.Fprintf(b, "  * %s:\n    %s\n", t.Name, reasonOf(t))
		}
	}
}

// reasonOf is why a task failed.
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

// runOutcome is how a run ended, for people.
type runOutcome struct {
	count       tally
	took        time.Duration
	succeeded   bool
	interrupted bool
	failed      []runFailure
	dry         bool
	skipped     int // of the tasks that succeeded
	leftOut     int // of them, whose _if was false
	ignored     int // errors that are successes
	saved       bool
	again       string     // the command that goes on where it stopped
	outputs     *param.Map // what the run came to; nil for none
}

// runFailure is a task that failed, why, where it is written, what may mend it, and the end of what it printed.
type runFailure struct {
	task, reason, place string
	tries               int // how often it ran, in all rounds of its group
	remedies, lines     []string
}

func (r *localRun) outcome(s *engine.State) runOutcome {
	o := runOutcome{took: time.Since(r.began), succeeded: s.Succeeded(), interrupted: s.Canceled(), dry: r.dryRun, saved: r.status != nil, again: r.again(r.sessionAt), outputs: s.Outputs()}
	var rows []treeRow
	lost := lostNames{}
	for _, t := range s.Tasks() {
		lost.add(t.Name, t.Config, t.Ignored || t.FailedItself(), t.Skipped != "")
	}
	old, tries := s.Superseded(), map[string]int{}
	for _, t := range s.Tasks() {
		tries[t.Name] += t.Runs()
	}
	for _, t := range s.Tasks() {
		row := newTreeRow(t)
		row.old = old[t.ID]
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
	tasks := newGrove(rows, true)
	o.count = tasks.tally()
	for i := range rows {
		if rows[i].old {
			continue
		}
		if tasks.isLeaf(i) && r.plan.took(rows[i].name) {
			o.skipped++
		}
		if rows[i].skipped && tasks.isLeaf(i) {
			o.leftOut++
		}
		if rows[i].ignored {
			o.ignored++
		}
	}
	return o
}

// teller is the task whose output is that of a failure: a group has none, and was ended while the last one below it ran.
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

// failure says of a task all that helps to mend it.
func (r *localRun) failure(s *engine.State, t *engine.Task, lost lostNames) runFailure {
	reason := strings.TrimSuffix(briefly(reasonOf(t)), " (runtime)")
	f := runFailure{task: t.Name, reason: reason, lines: r.output.lastOf(teller(s, t).Name)}
	if message, _ := t.Error.Get("message"); message == "" {
		reason, f.reason = "", "the task failed without a message"
	}
	f.reason = engine.Shortened(ofThisMachine(f.reason))
	names := dig.Names(r.files.Source, r.workflow.Name+".dig", t.Name)
	f.remedies = fault{message: reason, config: t.Config, names: names, lost: lost}.remedies()
	if place, found := dig.Find(r.files.Source, r.workflow.Name+".dig", t.Name, reason); found {
		f.place = place.String()
	}
	return f
}

// ofThisMachine has a message name the secrets of this machine's user. Operators name the project whose secret is
// missing, and a run on this machine is of none.
func ofThisMachine(message string) string {
	return strings.ReplaceAll(message, "zerodag secrets --project "+localProjectName+" ", "zerodag secrets --local ")
}

// text says what failed, why, what it printed last, and what to do, for a terminal of so many columns; 0 is as
// wide as it is.
func (o runOutcome) text(columns int, ink palette) string {
	if o.succeeded {
		return o.success(ink)
	}
	var b strings.Builder
	for i, f := range o.failed {
		if i == mostFailures {
			b.WriteString(fitting(fmt.Sprintf("... and %d more: %s", len(o.failed)-i, namesOf(o.failed[i:])), columns))
			break
		}
		const mark = "error:"
		about := fitting(fmt.Sprintf("%s %s%s: %s", mark, f.task, triesNote(f.tries), strings.ReplaceAll(f.reason, "\n", "\n  ")), columns)
		b.WriteString(ink.red + mark + ink.reset + strings.TrimPrefix(about, mark))
		for _, line := range f.lines {
			fmt.Fprintf(&b, "  %s| %s%s\n", ink.dim, line, ink.reset)
		}
		if f.place != "" {
			b.WriteString(fitting("  at "+f.place, columns))
		}
		for _, line := range hintLines(f.remedies) {
			b.WriteString(fitting("  "+line, columns))
		}
	}
	word, colour := "Failed", ink.red
	if o.interrupted {
		word, colour = "Interrupted", ink.yellow
	}
	fmt.Fprintf(&b, "%s%s%s after %s: %s.\n", colour, word, ink.reset, shortDuration(o.took), o.count.atEnd())
	switch {
	case o.dry:
		b.WriteString("Nothing was run or saved (--dry-run).\n")
	case !o.saved:
		b.WriteString("Nothing was saved (--no-save): the next run begins anew.\n")
	case o.interrupted:
		fmt.Fprintf(&b, "What was running will run again.\nGo on with: %s\n", o.again)
	default:
		fmt.Fprintf(&b, "Mend it, and go on with: %s\n", o.again)
	}
	return b.String()
}

// success is what is said when nothing failed.
func (o runOutcome) success(ink palette) string {
	if o.dry {
		text := fmt.Sprintf("%sNothing was run%s (--dry-run): of %s every parameter could be evaluated.\n", ink.yellow, ink.reset, counted(o.count.total, "task"))
		if o.skipped > 0 {
			text += fmt.Sprintf("%d have succeeded before: a run would skip them, and --rerun runs all.\n", o.skipped)
		}
		return text
	}
	notes, colour := "", ink.green
	if o.leftOut > 0 {
		notes = fmt.Sprintf(", %d of them left out by _if", o.leftOut)
	}
	if o.ignored > 0 {
		notes, colour = notes+", with "+counted(o.ignored, "ignored error"), ink.yellow
	}
	text := fmt.Sprintf("%sSuccess%s: %s in %s%s.\n", colour, ink.reset, counted(o.count.total, "task"), shortDuration(o.took), notes)
	if o.skipped > 0 {
		text += fmt.Sprintf("%d had succeeded before and did not run again: --rerun runs all.\n", o.skipped)
	}
	return text + outputsText(o.outputs)
}

// fitting breaks lines between words where they are wider than a terminal of so many columns; 0 breaks none.
func fitting(text string, columns int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if columns == 0 || width(line) <= columns {
			b.WriteString(line + "\n")
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		b.WriteString(wrapped(line, indent, indent+"  ", columns))
	}
	return b.String()
}

// mostNamed is how many tasks are named that are not shown.
const mostNamed = 5

func namesOf(list []runFailure) string {
	var names []string
	for _, f := range list[:min(mostNamed, len(list))] {
		names = append(names, f.task)
	}
	if len(list) > mostNamed {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// againCommand says what goes on with the session: the command line of this run, but for what would begin
// anew. One with values that may be secrets is not repeated, since what is printed may be kept for others to
// read.
func againCommand(flags *pflag.FlagSet, args []string, session time.Time) string {
	words, hidden, anew := append([]string{ourName, "run"}, args...), false, ""
	flags.Visit(func(f *pflag.Flag) {
		_, isList := f.Value.(pflag.SliceValue)
		switch {
		case f.Name == "rerun" || f.Name == "all" || f.Name == "start":
			anew = ", but without --" + f.Name
		case f.Name == "session" || f.Name == "session-time":
		case isList:
			hidden = true
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name, f.Value.String())
		}
	})
	if hidden {
		return "the same command as before" + anew
	}
	if flags.Changed("session") || flags.Changed("session-time") {
		words = append(words, "--session", strings.TrimSuffix(session.Format("2006-01-02 15:04:05"), " 00:00:00"))
	}
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return asCalled(strings.Join(words, " "))
}

// shellWord quotes a word where a shell would take it apart.
func shellWord(w string) string {
	harmless := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_./+=:@%^,", c)
	}
	if w != "" && !slices.ContainsFunc([]rune(w), func(c rune) bool { return !harmless(c) }) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
