// Package files keeps a project's folder, and what an embedded server stores as files.
//
// The local server, the command line and the tests call it. It must never read or write
// outside of the folder that it was given.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// Project is the folder of one project: an operators.Files.
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

// Root is the absolute path of the folder.
func (p Project) Root() string { return p.root }

// path turns a slash name into a path of the system; a ConfigError when it leads out.
func (p Project) path(name string) (string, error) {
	local := filepath.FromSlash(name)
	if name == "" || !filepath.IsLocal(local) {
		return "", param.Errorf("File name must not be outside of project path (%s): %s", p.root, name)
	}
	return filepath.Join(p.root, local), nil
}

// Read returns the content of a file; fs.ErrNotExist when it is missing.
func (p Project) Read(name string) ([]byte, error) {
	path, err := p.path(name)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Write replaces a file, making folders as needed.
func (p Project) Write(name string, content []byte) error {
	path, err := p.path(name)
	if err != nil {
		return err
	}
	return WriteAtomic(path, content)
}

// Load reads a workflow file as the config of a group; fs.ErrNotExist when it is missing,
// a ConfigError when it, or what it includes, is wrong.
func (p Project) Load(name string) (*param.Map, error) {
	path, err := p.path(name)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	config, err := dig.Callee(p.Source, name)
	if err != nil {
		return nil, param.Errorf("%v", err)
	}
	return config, nil
}

// Source is Read as package dig wants it.
func (p Project) Source(name string) ([]byte, error) {
	content, err := p.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", dig.ErrNotFound, name)
	}
	var of *fs.PathError
	if errors.As(err, &of) {
		return nil, of.Err // the reader names the file as the project knows it
	}
	return content, err
}
