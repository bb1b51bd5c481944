package localrun

import (
	"fmt"
	"strings"

	"zerodag/engine"
	"zerodag/internal/remedy"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
)

const hints = `  * Use --session <daily | hourly | "yyyy-MM-dd[ HH:mm:ss]"> to not reuse the last session time.
  * Use --rerun, --start +NAME, or --goal +NAME argument to rerun skipped tasks.
`

// failures lists the failed tasks in Digdag's format.
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

// text describes what failed, why, the last output, and what to do, for a terminal with a number of columns; 0 means
// unlimited width.
func (o runOutcome) text(columns int, ink term.Palette) string {
	if o.succeeded {
		return o.success(ink)
	}
	var b strings.Builder
	for i, f := range o.failed {
		if i == taskview.MostFailures {
			b.WriteString(term.Fitting(fmt.Sprintf("... and %d more: %s", len(o.failed)-i, namesOf(o.failed[i:])), columns))
			break
		}
		const mark = "error:"
		about := term.Fitting(fmt.Sprintf("%s %s%s: %s", mark, f.task, taskview.TriesNote(f.tries), strings.ReplaceAll(f.reason, "\n", "\n  ")), columns)
		b.WriteString(ink.Red + mark + ink.Reset + strings.TrimPrefix(about, mark))
		for _, line := range f.lines {
			fmt.Fprintf(&b, "  %s| %s%s\n", ink.Dim, line, ink.Reset)
		}
		if f.place != "" {
			b.WriteString(term.Fitting("  at "+f.place, columns))
		}
		for _, line := range remedy.HintLines(f.remedies) {
			b.WriteString(term.Fitting("  "+line, columns))
		}
	}
	word, color := "Failed", ink.Red
	if o.interrupted {
		word, color = "Interrupted", ink.Yellow
	}
	fmt.Fprintf(&b, "%s%s%s after %s: %s.\n", color, word, ink.Reset, term.ShortDuration(o.took), o.count.AtEnd())
	switch {
	case o.dry:
		b.WriteString("Nothing was run or saved (--dry-run).\n")
	case !o.saved:
		b.WriteString("Nothing was saved (--no-save): the next run starts over.\n")
	case o.interrupted:
		fmt.Fprintf(&b, "Interrupted tasks will run again.\nResume with: %s\n", o.again)
	default:
		fmt.Fprintf(&b, "Fix it, then resume with: %s\n", o.again)
	}
	return b.String()
}

// success returns the text for a run in which nothing failed.
func (o runOutcome) success(ink term.Palette) string {
	if o.dry {
		text := fmt.Sprintf("%sNothing was run%s (--dry-run): all parameters of %s could be evaluated.\n", ink.Yellow, ink.Reset, term.Counted(o.count.Total, "task"))
		if o.skipped > 0 {
			text += fmt.Sprintf("%d have already succeeded: a run would skip them, --rerun runs all.\n", o.skipped)
		}
		return text
	}
	notes, color := "", ink.Green
	if o.leftOut > 0 {
		notes = fmt.Sprintf(", %d of them skipped by _if", o.leftOut)
	}
	if o.ignored > 0 {
		notes, color = notes+", with "+term.Counted(o.ignored, "ignored error"), ink.Yellow
	}
	text := fmt.Sprintf("%sSuccess%s: %s in %s%s.\n", color, ink.Reset, term.Counted(o.count.Total, "task"), term.ShortDuration(o.took), notes)
	if o.skipped > 0 {
		text += fmt.Sprintf("%d had already succeeded and did not run again: --rerun runs all.\n", o.skipped)
	}
	return text + taskview.OutputsText(o.outputs)
}

// mostNamed is the maximum number of names in a list of tasks that are not shown in detail.
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
