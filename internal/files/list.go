package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"zerodag/engine/dig"
)

// ignoreFile holds patterns, as in .gitignore, of what does not belong to the project.
const ignoreFile = ".digdagignore"

// List returns the names of the project's files, sorted: what is pushed and what a task
// sees. Names that start with "." are left out, and what `.digdagignore` says
// (spec language.md 1.1). A symbolic link is listed, and never followed.
func (p Project) List() ([]string, error) {
	ignored, err := p.ignored()
	if err != nil {
		return nil, err
	}
	var names []string
	err = filepath.WalkDir(p.root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == p.root {
			return err
		}
		relative, err := filepath.Rel(p.root, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(relative)
		switch {
		case strings.HasPrefix(entry.Name(), ".") || ignored(name, entry.IsDir()):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir():
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list project files: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// ignored makes the question whether a file or folder is to be left out.
func (p Project) ignored() (func(name string, isDir bool) bool, error) {
	text, err := p.read(ignoreFile, dig.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return func(string, bool) bool { return false }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ignoreFile, err)
	}
	return parseIgnore(string(text)).ignores, nil
}

// WorkflowNames returns those names of files that are workflow files: the ones in the
// project's folder itself.
func WorkflowNames(names []string) []string {
	var workflows []string
	for _, name := range names {
		if path.Ext(name) == ".dig" && !strings.Contains(name, "/") {
			workflows = append(workflows, name)
		}
	}
	return workflows
}
