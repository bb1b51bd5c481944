package localrun

import (
	"context"
	"os"

	"zerodag/engine"
	"zerodag/internal/files"
	"zerodag/internal/logstream"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
	"zerodag/operators"
)

// view shows a run to the user who watches it.
type view interface {
	Log(operators.Identity) operators.Log   // the log of one run of a task
	Changed(*engine.State, []engine.Change) // called after every step
	Close()                                 // the run has ended
}

// newView chooses the live tree for a terminal, log lines for scripts (see original), and otherwise lines with the
// names of their tasks.
func newView(ctx context.Context, r *run) view {
	file, live := r.terminal()
	lines := taskview.Lines{Out: r.log, Whole: true}
	var screen *term.Picture
	if live {
		screen = term.NewPicture(file, term.Size(file))
		lines = taskview.Lines{Out: screen, Ink: term.NewPalette()}
	}
	r.output = taskview.NewOutput(ctx, taskview.OutputOptions{Lines: lines, Level: r.log.Level(), Tree: live, Reword: ofThisMachine})
	var v view
	switch {
	case live:
		v = taskview.NewTree(screen, r.output, term.ShortDuration)
	case r.Original():
		v = plainView{r.log}
	default:
		v = linesView{r.output}
	}
	if r.TaskLog != "" {
		v = keptView{v, files.NewLogs(files.LogOptions{Folder: r.TaskLog, Form: r.log.Form()}), r.log}
	}
	return v
}

// terminal returns the terminal on which the run is watched, if any.
func (o *Options) terminal() (*os.File, bool) {
	file, ok := term.Watched(o.Out)
	return file, ok && o.LogPath == "-"
}

// plainView prints log lines.
type plainView struct{ console *logstream.Stream }

func (v plainView) Log(id operators.Identity) operators.Log { return v.console.Task(id) }
func (v plainView) Changed(*engine.State, []engine.Change)  {}
func (v plainView) Close()                                  {}

// linesView prints task output, each line after its task's name.
type linesView struct{ *taskview.Output }

func (linesView) Changed(*engine.State, []engine.Change) {}
func (linesView) Close()                                 {}

// keptView also stores task logs as files.
type keptView struct {
	view
	logs    *files.Logs
	console *logstream.Stream
}

func (v keptView) Close() {
	if err := v.logs.Close(); err != nil {
		v.console.Message(operators.Error, "OperatorManager", err.Error())
	}
	v.view.Close()
}

func (v keptView) Log(id operators.Identity) operators.Log {
	return newKeptLog(v.logs, id, v.view.Log(id))
}
