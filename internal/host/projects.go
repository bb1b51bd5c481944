package host

import "zerodag/operators"

// Workspace is the project's folder as one run has it.
type Workspace struct {
	Files     operators.Files
	RunFolder string // see operators.Task
	Commands  operators.Commands
	Leave     func() // called at the end of the run
	// Wrong, unless nil, explains why the folder that the run requested could not be created: the path of a missing
	// folder alone explains nothing.
	Wrong func() error
}

// Archive is an unpacked project archive.
type Archive interface {
	// Workflows are the names of the workflow files at the top level.
	Workflows() []string
	// Read returns a file by its slash name; dig.ErrNotFound when there is none.
	Read(name string) ([]byte, error)
	Close() error
}
