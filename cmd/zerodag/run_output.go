package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// runOutput shows what the tasks of a run print, each line beside its task, and keeps the last lines of
// those that have not succeeded.
type runOutput struct {
	ctx   context.Context //nolint:containedctx // it says whether the run was interrupted, after which tasks fail for that
	level int
	tree  bool // a tree shows what was skipped, and names are aligned

	mu    sync.Mutex
	lines taskLines
	last  map[string][]string
}

func newRunOutput(ctx context.Context, lines taskLines, level int, tree bool) *runOutput {
	return &runOutput{ctx: ctx, lines: lines, level: level, tree: tree, last: map[string][]string{}}
}

// log is for one run of a task: of an earlier one nothing is kept.
func (o *runOutput) log(id operators.Identity) operators.Log {
	o.forget(id.TaskName)
	return &lineLog{sink: o, task: id.TaskName}
}

// longestKept is how many characters of a line are shown again at the end.
const longestKept = 300

// printed shows a line that a task printed.
func (o *runOutput) printed(task, line string) {
	line = strings.TrimSuffix(line, "\r")
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := append(o.last[task], shortenEnd(line[strings.LastIndexByte(line, '\r')+1:], longestKept))
	if len(kept) > lastLines {
		kept = slices.Clone(kept[len(kept)-lastLines:])
	}
	o.last[task] = kept
	if o.tree {
		o.lines.fit(task)
	}
	o.lines.write(task, "", line) // whoever is behind it keeps the error
}

// skipped is what the plan of a run says of a task that is not run again.
const skipped = "Skipped"

// expect makes room for the names of tasks that may print something.
func (o *runOutput) expect(rows []treeRow) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range rows {
		if !rows[i].isNotice() && !rows[i].isShell() && o.lines.width < longestName {
			o.lines.fit(rows[i].name)
		}
	}
}

// said shows what the engine says of a task.
func (o *runOutput) said(task string, first bool, level operators.Level, message string) {
	if !levelShows(o.level, level) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch canceled := "Task " + task + " is canceled."; {
	case message == skipped:
		if !o.tree && !strings.HasSuffix(task, engine.FailureAlert) { // nobody wrote a task of that name
			o.write(task, o.lines.ink.dim, "skipped: it has succeeded before")
		}
	case o.ctx.Err() != nil && (message == canceled || level == operators.Error && strings.Contains(message, context.Canceled.Error())):
		o.write(task, o.lines.ink.yellow, "stopped")
	case message == canceled:
		o.write(task, o.lines.ink.yellow, "canceled")
	case level == operators.Error:
		o.write(task, o.lines.ink.red, ofThisMachine(plainly(task, message)))
	case level == operators.Warn:
		o.write(task, o.lines.ink.yellow, strings.Trim(message, "\n"))
	case strings.HasSuffix(task, engine.FailureAlert):
	case first && tasklog.NamesOperator(level, message):
		o.write(task, o.lines.ink.dim, time.Now().Format("15:04:05 ")+message)
	default:
		o.write(task, o.lines.ink.dim, message)
	}
}

// write writes each line of a text. The lock is held.
func (o *runOutput) write(task, ink, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		o.lines.write(task, ink, line) // whoever is behind it keeps the error
	}
}

// plainly says in the words of people what the engine's line of a failure says.
func plainly(task, message string) string {
	for _, x := range []struct{ begin, instead string }{
		{"Task failed with unexpected error: ", "failed: "},
		{"Task failed, retrying: ", "failed, and is tried again: "},
		{"Task " + task + " failed.\n", "failed: "},
		{"Configuration error at task " + task + ": ", "failed: "},
	} {
		if rest, ok := strings.CutPrefix(message, x.begin); ok {
			return x.instead + briefly(rest)
		}
	}
	return briefly(message)
}

// forget forgets the lines of a task: nobody will ask for them.
func (o *runOutput) forget(task string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.last, task)
}

// lastOf is the end of what a task printed.
func (o *runOutput) lastOf(task string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[task]
}
