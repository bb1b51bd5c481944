package attemptview

import (
	"cmp"
	"fmt"
	"strings"

	"zerodag/engine"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/remedy"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
)

// Outcome describes how an attempt ended. For a failure, it lists the failed tasks, the reasons, the last lines that
// they printed, and the command that resumes the attempt.
func Outcome(a client.Attempt, failed []Failure, ink term.Palette) string {
	var b strings.Builder
	status := OfIgnored(a.Status, a.IgnoredErrors)
	end := status
	if a.FinishedAt != nil {
		end += " after " + term.WholeDuration(max(0, a.FinishedAt.Sub(*a.BeginsAt())))
	}
	fmt.Fprintf(&b, "Attempt %s of %s/%s: %s%s%s\n", a.ID, a.Project.Name, a.Workflow.Name, StatusInk(ink, status), end, ink.Reset)
	b.WriteString(taskview.OutputsText(a.Outputs))
	for i, f := range failed {
		if i == taskview.MostFailures {
			fmt.Fprintf(&b, "  ... and %d more: zerodag tasks %s\n", len(failed)-i, a.ID)
			break
		}
		fmt.Fprintf(&b, "  %s%s%s%s: %s\n", ink.Red, f.task.FullName, ink.Reset, taskview.TriesNote(f.tries), strings.ReplaceAll(engine.Shortened(f.message), "\n", "\n    "))
		for _, line := range f.lines {
			fmt.Fprintf(&b, "    %s| %s%s\n", ink.Dim, line, ink.Reset)
		}
		if f.place != "" {
			fmt.Fprintf(&b, "    at %s\n", f.place)
		}
		for _, line := range remedy.HintLines(remedy.Fault{Message: f.message, Config: f.task.Config, Project: a.Project.Name, Names: f.names, Lost: f.lost, Lines: f.lines}.Remedies()) {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	if a.Done && !a.Success {
		mode := "resume with: zerodag retry %s --latest-revision --resume\n"
		if a.Imported { // there is nothing to resume
			mode = "run it again with: zerodag retry %s --latest-revision --all\n"
		}
		fmt.Fprintf(&b, "Fix it, push it, then "+mode, a.ID)
	}
	return program.AsCalled(b.String())
}

// mostIgnored is the maximum number of ignored errors that are shown.
const mostIgnored = 10

// IgnoredText lists errors that were ignored, one line for each task; "" for none.
func IgnoredText(id client.ID, list []client.Task, ink term.Palette) string {
	var b strings.Builder
	for i, t := range list {
		if i == mostIgnored {
			fmt.Fprintf(&b, "  ... and %d more: zerodag tasks %s\n", len(list)-i, id)
			break
		}
		message := cmp.Or(ErrorOf(t), "the task failed without a message")
		fmt.Fprintf(&b, "  ignored: %s%s%s: %s\n", ink.Yellow, t.FullName, ink.Reset, strings.ReplaceAll(engine.Shortened(message), "\n", "\n    "))
	}
	return program.AsCalled(b.String())
}

// IncompleteLogs returns a warning for each task whose log is not complete.
func IncompleteLogs(tasks []client.Task) (list []string) {
	for _, t := range tasks {
		if t.LogIncomplete {
			list = append(list, "the log of "+t.FullName+" is incomplete: some of it could not be stored")
		}
	}
	return list
}
