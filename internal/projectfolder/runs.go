package projectfolder

import (
	"errors"
	"os"
	"path/filepath"

	"zerodag/internal/program"
	"zerodag/operators"
)

// NewRunFolder returns the name of the run folder in a project that has none: Digdag's name if this program runs in its
// place.
func NewRunFolder() string {
	if program.AsDigdag() {
		return operators.DigdagRunFolder
	}
	return operators.RunFolder
}

// runFolder returns the name of the run folder of a project. A project that was run by Digdag, or by a version that had
// only Digdag's name for the folder, keeps that name so that its runs can be resumed.
func runFolder(root string) string {
	if !exists(filepath.Join(root, operators.RunFolder)) && exists(filepath.Join(root, operators.DigdagRunFolder)) {
		return operators.DigdagRunFolder
	}
	return NewRunFolder()
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// RunFolder returns the name of the project's folder that holds the files of its runs. It does not change while the
// folder is open.
func (f Folder) RunFolder() string { return f.runFolder }

// StatusFolder returns the path of the folder with the saved state of runs.
func (f Folder) StatusFolder() string { return f.runPath("status") }

// ParamFolder returns the path to the values that `param_set>` stores.
func (f Folder) ParamFolder() string { return f.runPath("params") }

// TempFolder returns the path of the folder for temporary files.
func (f Folder) TempFolder() string {
	return filepath.Join(f.Root(), operators.TempFolder(f.runFolder))
}

func (f Folder) runPath(name string) string { return filepath.Join(f.Root(), f.runFolder, name) }

// hideFromGit keeps the run folder out of repositories whose .gitignore has only Digdag's name for it.
func (f Folder) hideFromGit() error {
	if f.runFolder != operators.RunFolder {
		return nil
	}
	file, err := os.OpenFile(f.runPath(".gitignore"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) // #nosec G302 -- it is a file of the user's project, closed by their umask if they so choose
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString("*\n")
	return errors.Join(err, file.Close())
}
