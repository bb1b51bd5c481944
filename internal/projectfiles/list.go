package projectfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"zerodag/engine/dig"
	"zerodag/internal/datafolder"
)

// Ignore files hold patterns, as in .gitignore, for files that do not belong to the project. They count as one file:
// lines of zerodag's file, which come last, can include files that Digdag's file excludes.
const (
	digdagIgnoreFile = ".digdagignore"
	ownIgnoreFile    = ".zerodagignore"
)

// List returns the names of the project's files, sorted: the files that are pushed and that a task sees. It omits names
// that start with ".", and names that ignore files match (language.md 1.1). A symbolic link is listed but never
// followed. Server data is never part of a project; a project folder that is itself a server's data folder is an error.
func (p Project) List() ([]string, error) {
	l, err := p.list()
	return l.names, err
}

// listing holds the contents of a project's folder.
type listing struct {
	names []string // the names of its files
	data  []string // folders of server data, which do not belong to it
}

func (p Project) list() (found listing, err error) {
	if datafolder.Is(p.root) {
		return found, fmt.Errorf("project folder %s holds the data of a server (its database and the key of its secrets), which must not be copied: name the folder of the .dig files, or move the data elsewhere (zerodag server --database DIR)", p.root)
	}
	ignored, err := p.ignored()
	if err != nil {
		return found, err
	}
	err = filepath.WalkDir(p.root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == p.root {
			return err
		}
		relative, err := filepath.Rel(p.root, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(relative)
		if entry.IsDir() && datafolder.Is(file) {
			found.data = append(found.data, name)
			return fs.SkipDir
		}
		switch {
		case strings.HasPrefix(entry.Name(), ".") || ignored.ignores(name, entry.IsDir()):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir():
			found.names = append(found.names, name)
		}
		return nil
	})
	if err != nil {
		return found, fmt.Errorf("list project files: %w", err)
	}
	slices.Sort(found.names)
	return found, nil
}

// IgnoredBy returns the line of an ignore file that excludes a file at the top level of the project, such as "line 2 of
// .zerodagignore"; "" if the file does not exist or belongs to the project.
func (p Project) IgnoredBy(name string) string {
	info, err := os.Lstat(filepath.Join(p.root, filepath.FromSlash(name)))
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	all, err := p.ignored()
	if err != nil {
		return ""
	}
	if last := all.last(name, false); last != nil && !last.include {
		return fmt.Sprintf("line %d of %s", last.line, last.file)
	}
	return ""
}

// ignored reads the patterns of ignored files.
func (p Project) ignored() (all ignorePatterns, err error) {
	for _, file := range []string{digdagIgnoreFile, ownIgnoreFile} {
		text, err := p.read(file, dig.MaxFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all = append(all, parseIgnore(file, string(text))...)
	}
	return all, nil
}

// WorkflowNames returns the names that are workflow files: only files in the project's folder itself can be.
func WorkflowNames(names []string) []string {
	var workflows []string
	for _, name := range names {
		if path.Ext(name) == ".dig" && !strings.Contains(name, "/") {
			workflows = append(workflows, name)
		}
	}
	return workflows
}

// mostEntries is one more than the number of names in the largest folder that is listed: folders written by people have
// fewer.
const mostEntries = 10_000

// Entries lists the names of the files and folders in a folder of the project, given by its slash-separated path ("."
// for the project's root). there is false if the project has no such folder; an unreadable folder, or one with too many
// names, exists without names.
func (p Project) Entries(folder string) (names []string, there bool) {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return nil, true
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(folder))
	if err != nil || !info.IsDir() {
		return nil, err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	f, err := root.Open(filepath.FromSlash(folder))
	if err != nil {
		return nil, true
	}
	defer f.Close()
	if names, _ = f.Readdirnames(mostEntries); len(names) == mostEntries {
		return nil, true
	}
	slices.Sort(names)
	return names, true
}
