package projectfolder

import (
	"fmt"
	"io"

	"zerodag/engine/dig"
	"zerodag/internal/projectfiles"
)

// Admission holds the options of a push that decide which folders it accepts.
type Admission struct {
	CopyLinks  bool // store the targets of links that lead out of the folder
	AllowEmpty bool // accept a folder without workflows
}

// Check reads the workflows and returns the error with which every server would refuse a push of the folder, whatever
// its settings. If the user names a workflow ("" for none), only mistakes that concern it are errors, and all others
// are warnings. notes is as for ReadHere.
func (f Folder) Check(named string, o Admission, notes io.Writer) (Contents, dig.Errors, error) {
	contents, own, err := f.names(named, notes)
	if err != nil {
		return contents, nil, err
	}
	read, err := f.PackedSource(own...)
	if err != nil {
		return contents, nil, err
	}
	if contents.Workflows, contents.Faults, err = dig.LoadHere(read, contents.Names); err != nil {
		return contents, nil, err
	}
	of := ""
	if named != "" {
		of = named + dig.Suffix
	}
	warnings, err := SortFaults(contents.Faults.AsPushed(), of)
	if err != nil {
		return contents, nil, err
	}
	limits, err := f.Admit(contents, o)
	if err != nil && of != "" {
		limits, err = dig.Errors{{Message: "a push of this folder is refused: " + err.Error()}}, nil
	}
	return contents, append(warnings, limits...), err
}

// Admit returns the error with which a push of the folder fails although its workflows are valid: because of its files,
// or because it has no workflows. Warnings concern limits that a server may have raised, so only some servers refuse
// the folder.
func (f Folder) Admit(contents Contents, o Admission) (warnings dig.Errors, err error) {
	if len(contents.Names) == 0 && !o.AllowEmpty {
		return nil, fmt.Errorf("%s\nhint: --allow-empty accepts the folder as it is", f.NoWorkflow().Message)
	}
	anywhere := Generous()
	anywhere.Entries = 0 // no setting raises this limit
	if err := f.Project.Admit(o.CopyLinks, anywhere); err != nil {
		return nil, err
	}
	err = f.Project.Admit(o.CopyLinks, projectfiles.Limits{})
	if projectfiles.IsRefusal(err) {
		return dig.Errors{{Message: err.Error() + ", so a push to a server with default settings is refused",
			Hint: "remove files that no task needs or list them in .zerodagignore, or raise api.max_archive_total_size_limit on the server"}}, nil
	}
	return nil, err
}
