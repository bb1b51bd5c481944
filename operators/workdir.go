package operators

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"zerodag/engine/param"
)

// Workdir returns the task's working folder, from `_workdir`: relative to the project, with "/", "" for the project's
// folder itself.
func (t *Task) Workdir() (string, error) {
	dir, err := t.Params.StringOr("_workdir", "")
	if err != nil {
		return "", err
	}
	name, inside := t.within("", dir)
	if !inside {
		return "", Faultf("illegal argument",
			"Working directory must not be outside of project path (%s): %s", t.Files.Root(), dir)
	}
	return name, nil
}

// FileName resolves a file name of the task from its working folder to a name for Files. A name that leads out of the
// project fails the task.
func (t *Task) FileName(name string) (string, error) {
	dir, err := t.Workdir()
	if err != nil {
		return "", err
	}
	file, inside := t.within(dir, name)
	if !inside {
		return "", Faultf("illegal argument",
			"File name must not be outside of project path (%s): %s", t.Files.Root(), name)
	}
	return file, nil
}

// within resolves name from dir; false if it is not below the project's folder.
func (t *Task) within(dir, name string) (string, bool) {
	name = filepath.ToSlash(name)
	if path.IsAbs(name) {
		root := filepath.ToSlash(t.Files.Root()) // only in this case: elsewhere the folder may have to be created first
		rest, inside := strings.CutPrefix(path.Clean(name)+"/", path.Clean(root)+"/")
		return strings.TrimSuffix(rest, "/"), inside
	}
	joined := path.Join(dir, name)
	if joined == "." {
		joined = ""
	}
	return joined, joined != ".." && !strings.HasPrefix(joined, "../")
}

// FileError gives a failure to read a project file its user-visible text.
func (t *Task) FileError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return param.Errorf("File not found: %s", filepath.Join(t.Files.Root(), filepath.FromSlash(name)))
	}
	var config *param.ConfigError
	if errors.As(err, &config) || IsAway(err) {
		return err
	}
	return param.Errorf("Failed to read file: %s: %v", name, err)
}
