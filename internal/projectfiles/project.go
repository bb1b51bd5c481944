// Package projectfiles handles the folder of a project: which of its files belong to the project, how they are read and
// written, and how they are packed into an archive and unpacked from one.
//
// The local server, the command line and the tests call it. It must never read or write outside the folder that it was
// given, no matter what links a project or an archive contains.
package projectfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/limits"
	"zerodag/internal/plainfile"
)

// Project is one project's folder: an operators.Files.
type Project struct{ root string }

// Open returns the project in a folder, which must exist.
func Open(folder string) (Project, error) {
	root, err := filepath.Abs(folder)
	if err != nil {
		return Project{}, fmt.Errorf("open project: %w", err)
	}
	info, err := os.Stat(root)
	if err != nil {
		return Project{}, fmt.Errorf("open project: %w", err)
	}
	if !info.IsDir() {
		return Project{}, fmt.Errorf("open project: %s is not a directory", root)
	}
	return Project{root}, nil
}

// Root returns the absolute path of the folder.
func (p Project) Root() string { return p.root }

// Rename gives the project's folder another absolute path, within the same parent folder: to move it to another parent,
// the file system would also have to change the project's folder itself. Nothing exists under the new name. The
// returned project is the one that exists, even after an error.
func (p Project) Rename(to string) (Project, error) {
	if err := syscall.Rename(p.root, to); err != nil {
		return p, err
	}
	return Project{to}, nil
}

// path converts a slash-separated name to a system path, or returns a ConfigError if it leads out of the project.
func (p Project) path(name string) (string, error) {
	local := filepath.FromSlash(name)
	if name == "" || !filepath.IsLocal(local) {
		return "", param.Errorf("File name must not be outside of project path (%s): %s", p.root, name)
	}
	return filepath.Join(p.root, local), nil
}

// maxRead limits a file that a task reads into memory, in bytes.
const maxRead = 256 << 20

// Read returns a file's content, or fs.ErrNotExist if it is missing. It must be a regular file of the project, not a
// pipe, a device or the target of a link out of the project.
func (p Project) Read(name string) ([]byte, error) { return p.read(name, maxRead) }

func (p Project) read(name string, most int64) ([]byte, error) {
	if _, err := p.path(name); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := plainfile.Open(root.OpenFile, filepath.FromSlash(name), most)
	if err != nil {
		return nil, p.inside(err)
	}
	defer f.Close()
	return plainfile.Read(f, most)
}

// inside replaces the error about a link that leads out with one for users; package os exports no value for that error.
func (p Project) inside(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) && of.Err.Error() == "path escapes from parent" {
		of.Err = errors.New("it links out of the project: only files of the project are read")
	}
	return err
}

// Write replaces a file, creating folders as needed.
func (p Project) Write(name string, content []byte) error {
	path, err := p.path(name)
	if err != nil {
		return err
	}
	return plainfile.Write(path, content)
}

// Load reads a workflow file as the config of a group. It returns fs.ErrNotExist if the file is missing, or a
// ConfigError if the file or a file that it includes is invalid.
func (p Project) Load(name string) (*param.Map, error) {
	path, err := p.path(name)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	var scarce error
	config, err := dig.Callee(func(name string) ([]byte, error) {
		content, err := p.Source(name)
		if limits.Scarce(err) {
			scarce = err
		}
		return content, err
	}, name)
	if scarce != nil {
		return nil, scarce
	}
	if err != nil {
		return nil, param.Errorf("%v", err)
	}
	return config, nil
}

// Source is Read in the form that package dig needs.
func (p Project) Source(name string) ([]byte, error) {
	content, err := p.read(name, dig.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", dig.ErrNotFound, name)
	}
	var of *fs.PathError
	if errors.As(err, &of) {
		return nil, of.Err // the reader names the file by its name in the project
	}
	return content, err
}
