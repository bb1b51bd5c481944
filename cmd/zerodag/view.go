package main

import (
	"context"
	"os"
	"strconv"

	"golang.org/x/term"

	"zerodag/engine"
	"zerodag/internal/files"
	"zerodag/operators"
)

// view shows a run to the user who watches.
type view interface {
	log(operators.Identity) operators.Log   // the log of one run of a task
	changed(*engine.State, []engine.Change) // called after every step
	close()                                 // the run is over
}

// newView chooses the live tree for a terminal, log lines for scripts (see original), and otherwise lines beside
// their tasks.
func newView(ctx context.Context, r *localRun) view {
	file, live := r.terminal()
	above := &aboveTree{}
	lines := taskLines{out: r.log, whole: true}
	if live {
		lines = taskLines{out: above, ink: newPalette()}
	}
	r.output = newRunOutput(ctx, lines, r.log.level, live)
	var v view
	switch {
	case live:
		v = newTreeView(file, terminalSize(file), above, r.output, shortDuration)
	case r.original():
		v = plainView{r.log}
	default:
		v = linesView{r.output}
	}
	if r.taskLog != "" {
		v = keptView{v, files.NewLogs(files.LogOptions{Folder: r.taskLog, Form: r.log.form}), r.log}
	}
	return v
}

// terminal returns the terminal on which the run is watched, if any.
func (c *runCommand) terminal() (*os.File, bool) {
	file, ok := terminalOf(c.out)
	return file, ok && c.logPath == "-" && watched(file)
}

// watched says whether a person looks at the file, at a terminal that can move its cursor.
func watched(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("CI") == ""
}

// terminalSize returns a function that tells columns and lines.
func terminalSize(f *os.File) func() (int, int) {
	return func() (int, int) {
		w, h, err := term.GetSize(int(f.Fd()))
		if err != nil || w == 0 || h == 0 {
			return environmentNumber("COLUMNS", 80), environmentNumber("LINES", 24)
		}
		return w, h
	}
}

func environmentNumber(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// plainView prints log lines.
type plainView struct{ console *console }

func (v plainView) log(id operators.Identity) operators.Log { return v.console.taskLog(id) }
func (v plainView) changed(*engine.State, []engine.Change)  {}
func (v plainView) close()                                  {}

// linesView prints what tasks print, each line beside its task.
type linesView struct{ *runOutput }

func (linesView) changed(*engine.State, []engine.Change) {}
func (linesView) close()                                 {}

// keptView keeps the logs of tasks as files beside what is shown.
type keptView struct {
	view
	logs    *files.Logs
	console *console
}

func (v keptView) close() {
	if err := v.logs.Close(); err != nil {
		v.console.message(operators.Error, "OperatorManager", err.Error())
	}
	v.view.close()
}

func (v keptView) log(id operators.Identity) operators.Log {
	return newKeptLog(v.logs, id, v.view.log(id))
}
