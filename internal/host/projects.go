package host

import "zerodag/operators"

// Workspace is the project's folder for one run.
type Workspace struct {
	Files     operators.Files
	RunFolder string // see operators.Task
	Commands  operators.Commands
	Leave     func() // called when the run ends
	// Wrong, unless nil, explains why the folder that the run requested could not be created: the path of a missing folder
	// alone would explain nothing.
	Wrong func() error
}

// Archive is an unpacked project archive.
type Archive interface {
	// Workflows returns the names of the workflow files at the top level.
	Workflows() []string
	// Read returns a file by its slash-separated name; dig.ErrNotFound if there is none.
	Read(name string) ([]byte, error)
	Close() error
}
