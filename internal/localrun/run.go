package localrun

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/internal/configuration"
	"zerodag/internal/logstream"
	"zerodag/internal/taskview"
	"zerodag/operators"
)

// run is one run with everything it needs.
type run struct {
	*Options
	Work

	log       *logstream.Stream
	output    *taskview.Output
	status    *statusFolder // nil without saved state
	plan      *plan
	sessionAt time.Time
	began     time.Time
}

// Run runs a workflow and shows it until its end. If the run has not succeeded, the error is program.ErrShown, because
// the reason was already shown. It ends early if ctx ends.
func Run(ctx context.Context, o Options, w Work) error {
	return (&run{Options: &o, Work: w}).do(ctx)
}

func (r *run) do(ctx context.Context) error {
	def, err := engine.Define(r.Workflow)
	if err != nil {
		return err
	}
	if def.Nodes, err = subtree(def.Nodes, r.Task); err != nil {
		return err
	}
	out, closeLog, err := r.LogWriter(r.Out)
	if err != nil {
		return err
	}
	defer closeLog() //nolint:errcheck // the output of the run is flushed earlier, and that error is returned
	reading := r.Settings.Reading()
	form := reading.LogForm()
	if reading.Err != nil {
		return reading.Err
	}
	level, err := configuration.LogLevel(r.LogLevel)
	if err != nil {
		return err
	}
	r.log = logstream.New(out, level, form)
	if path, ok := r.Work.Params.Get(configuration.ProjectPath); ok && r.Original() {
		r.log.Message(operators.Info, "io.digdag.cli.Arguments", fmt.Sprint("Setting project path to ", path))
	}
	if note := r.paramServerNote(); note != "" {
		r.warning(note)
	}
	if _, live := r.terminal(); live {
		r.log.Limit(logstream.Warn) // the tree shows the rest
	}
	if err := r.chooseSession(def.Zone); err != nil {
		return err
	}
	if r.plan, err = r.planOf(def.Nodes); err != nil {
		return err
	}
	if !r.NoSave {
		r.status = newStatusFolder(r.saved(), r.sessionAt)
		r.plan.use(r.status, def.Nodes)
		if r.Original() {
			r.log.Message(operators.Info, "io.digdag.cli.Run", "Using session "+r.status.dir+".")
		}
	}
	state, err := r.attempt(ctx)
	if err != nil {
		return err
	}
	flushed := r.log.Flush()
	return cmp.Or(flushed, r.status.close(), r.report(state))
}

// warning writes a warning that does not concern a task.
func (r *run) warning(text string) {
	if r.Original() {
		r.log.Message(operators.Warn, "io.digdag.cli.Run", text)
		return
	}
	fmt.Fprintln(r.Err, "warning: "+text)
}

// paramServerNote returns a warning about a parameter store that is configured but not used; "" if there is none.
func (r *run) paramServerNote() string {
	keys, err := r.Settings.Below("param_server.")
	if err != nil || keys.Len() == 0 {
		return ""
	}
	return "The configuration keys param_server.* are not used: in a local run, param_set> and param_get> keep their values in " + r.Folder.RunFolder() + "/params of the project"
}
