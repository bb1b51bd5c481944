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
		_, ink := look(r.err)
		io.WriteString(r.err, r.outcome(s).text(ink))
	case s.Succeeded():
		saved := ""
		if r.status != nil {
			saved = " Task state is saved at " + r.status.dir + " directory."
		}
		fmt.Fprintf(r.err, "Success.%s\n%s", saved, hints)
	default:
		var b strings.Builder
		b.WriteString("error: \n")
		failures(&b, s)
		if r.status != nil {
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
	skipped     int // of the tasks that succeeded
	saved       bool
	again       string // the command that goes on where it stopped
}

// runFailure is a task that failed, why, where it is written, what may mend it, and the end of what it printed.
type runFailure struct {
	task, reason, place string
	remedies, lines     []string
}

func (r *localRun) outcome(s *engine.State) runOutcome {
	o := runOutcome{took: time.Since(r.began), succeeded: s.Succeeded(), interrupted: s.Canceled(), skipped: int(r.plan.skipped.Load()), saved: r.status != nil, again: r.again(r.sessionAt)}
	var rows []treeRow
	for _, t := range s.Tasks() {
		rows = append(rows, newTreeRow(t))
		if t.State != engine.Failed {
			continue
		}
		if reason := reasonOf(t); !o.interrupted || !strings.Contains(reason, context.Canceled.Error()) {
			o.failed = append(o.failed, r.failure(t))
		}
	}
	o.count = newGrove(rows, true).tally()
	return o
}

// failure says of a task all that helps to mend it.
func (r *localRun) failure(t *engine.Task) runFailure {
	reason := strings.TrimSuffix(briefly(reasonOf(t)), " (runtime)")
	f := runFailure{task: t.Name, reason: reason, lines: r.output.lastOf(t.Name)}
	if message, _ := t.Error.Get("message"); message == "" {
		reason, f.reason = "", "the task failed without a message"
	}
	f.remedies = fault{message: reason, config: t.Config}.remedies()
	if place, found := dig.Find(r.files.Source, r.workflow.Name+".dig", t.Name, reason); found {
		f.place = place.String()
	}
	return f
}

// text says what failed, why, what it printed last, and what to do.
func (o runOutcome) text(ink palette) string {
	var b strings.Builder
	if o.succeeded {
		fmt.Fprintf(&b, "%sSuccess%s: %s in %s.", ink.green, ink.reset, counted(o.count.total, "task"), shortDuration(o.took))
		if o.skipped > 0 {
			fmt.Fprintf(&b, " %d had succeeded before and did not run again: --rerun runs all.", o.skipped)
		}
		return b.String() + "\n"
	}
	for i, f := range o.failed {
		if i == mostFailures {
			fmt.Fprintf(&b, "... and %d more: %s\n", len(o.failed)-i, namesOf(o.failed[i:]))
			break
		}
		fmt.Fprintf(&b, "%serror: %s%s: %s\n", ink.red, f.task, ink.reset, strings.ReplaceAll(f.reason, "\n", "\n  "))
		for _, line := range f.lines {
			fmt.Fprintf(&b, "  %s| %s%s\n", ink.dim, line, ink.reset)
		}
		if f.place != "" {
			fmt.Fprintf(&b, "  at %s\n", f.place)
		}
		for _, line := range hintLines(f.remedies) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	word, colour := "Failed", ink.red
	if o.interrupted {
		word, colour = "Interrupted", ink.yellow
	}
	fmt.Fprintf(&b, "%s%s%s after %s: %s.\n", colour, word, ink.reset, shortDuration(o.took), o.count.atEnd())
	next := "Mend it, and go on"
	switch {
	case !o.saved:
		fmt.Fprintf(&b, "Nothing was saved (--no-save): the next run begins anew.\n")
		return b.String()
	case o.interrupted:
		next = "What was running will run again. Go on"
	}
	fmt.Fprintf(&b, "%s with: %s\n", next, o.again)
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
		words = append(words, "--session", session.Format("2006-01-02 15:04:05"))
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
