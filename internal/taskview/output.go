package taskview

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/internal/logstream"
	"zerodag/internal/tasklog"
	"zerodag/internal/term"
	"zerodag/operators"
)

// Output shows the output of a run's tasks, each line after its task's name, and keeps the last lines of unsuccessful
// tasks. Tasks may print concurrently.
type Output struct {
	ctx context.Context //nolint:containedctx // it shows whether the run was interrupted, after which tasks fail for that reason
	OutputOptions

	mu   sync.Mutex
	last map[string][]string
}

// OutputOptions holds the settings for showing task output.
type OutputOptions struct {
	Lines  Lines
	Level  logstream.Level             // the level of the engine's own lines
	Tree   bool                        // a tree shows skipped tasks, and names are aligned
	Reword func(message string) string // returns the text shown in place of a failure's message
}

// NewOutput shows output until ctx ends: later failures belong to an interrupted run.
func NewOutput(ctx context.Context, o OutputOptions) *Output {
	return &Output{ctx: ctx, OutputOptions: o, last: map[string][]string{}}
}

// Log returns the log of one run of a task. The lines of an earlier run are no longer kept.
func (o *Output) Log(id operators.Identity) operators.Log {
	o.Forget(id.TaskName)
	return &lineLog{sink: o, task: id.TaskName}
}

// printed shows a line that a task printed.
func (o *Output) printed(task, line string) {
	line = strings.TrimSuffix(line, "\r")
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := append(o.last[task], term.ShortenEnd(line[strings.LastIndexByte(line, '\r')+1:], LongestKept))
	if len(kept) > LastLines {
		kept = slices.Clone(kept[len(kept)-LastLines:])
	}
	o.last[task] = kept
	if o.Tree {
		o.Lines.Fit(task)
	}
	o.Lines.Show(task, "", line) // the underlying writer keeps the error
}

// Skipped is the message about a task that is not run again.
const Skipped = "Skipped"

// expect widens the name column for the tasks that may print something.
func (o *Output) expect(rows []Row) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range rows {
		if !rows[i].isNotice() && !rows[i].isShell() && o.Lines.width < longestName {
			o.Lines.Fit(rows[i].Name)
		}
	}
}

// said shows a message from the engine about a task.
func (o *Output) said(task string, first bool, level operators.Level, message string) {
	if !o.Level.Shows(level) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch canceled := "Task " + task + " is canceled."; {
	case message == Skipped:
		if !o.Tree && !strings.HasSuffix(task, engine.FailureAlert) { // the user wrote no task with that name
			o.write(task, o.Lines.Ink.Dim, "skipped: it succeeded before")
		}
	case o.ctx.Err() != nil && (message == canceled || level == operators.Error && strings.Contains(message, context.Canceled.Error())):
		o.write(task, o.Lines.Ink.Yellow, "stopped")
	case message == canceled:
		o.write(task, o.Lines.Ink.Yellow, "canceled")
	case level == operators.Error:
		o.write(task, o.Lines.Ink.Red, o.Reword(Plainly(task, message)))
	case level == operators.Warn:
		o.write(task, o.Lines.Ink.Yellow, strings.Trim(message, "\n"))
	case strings.HasSuffix(task, engine.FailureAlert):
	case first && tasklog.NamesOperator(level, message):
		o.write(task, o.Lines.Ink.Dim, time.Now().Format("15:04:05 ")+message)
	default:
		o.write(task, o.Lines.Ink.Dim, message)
	}
}

// write writes each line of the text. The lock must be held.
func (o *Output) write(task, ink, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		o.Lines.Show(task, ink, line) // the underlying writer keeps the error
	}
}

// Forget drops the kept lines of a task.
func (o *Output) Forget(task string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.last, task)
}

// LastOf returns the last lines that a task printed, or none if it has succeeded or printed nothing.
func (o *Output) LastOf(task string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[task]
}
