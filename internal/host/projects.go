package host

import "zerodag/operators"

// Workspace is the project's folder as one run has it.
type Workspace struct {
	Files    operators.Files
	Commands operators.Commands
	Leave    func() // called at the end of the run
	// Wrong, unless nil, is why the folder could not be made that the run asked for: the path of one
	// that is not there tells nothing.
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
