package localrun

import (
	"io"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/configuration"
	"zerodag/internal/program"
	"zerodag/internal/projectfolder"
)

// Options are the settings for running a workflow.
type Options struct {
	configuration.Flags
	Rerun            bool                           // saved state is ignored
	Start, Goal, End string                         // task patterns; "" for none
	Save             string                         // the folder of saved state, relative to the project unless it is absolute; "" means in the run folder
	NoSave           bool                           // state is neither read nor saved
	Session          string                         // in the format of --session
	DryRun           bool                           // no operators are run
	ShowParams       bool                           // parameters are shown before each operator
	Threads          int                            // how many tasks may run at once; 0 for no limit
	TaskLog          string                         // the folder for task logs; "" keeps none
	Again            func(session time.Time) string // returns the command line that resumes the run
	Out, Err         io.Writer                      // what tasks print, and the program's messages about the run
}

// Work is the workflow to run.
type Work struct {
	Settings  configuration.Settings
	Params    *param.Map
	Variables []string // for all commands, "NAME=value"
	Folder    projectfolder.Folder
	Workflows []dig.Workflow
	Workflow  dig.Workflow
	Task      string // a pattern that selects this task and those below it; "" for the whole workflow
}

// Original reports whether the run writes log lines as Digdag does, for scripts to read.
func (o *Options) Original() bool { return program.AsDigdag() || o.LogPath != "-" }
