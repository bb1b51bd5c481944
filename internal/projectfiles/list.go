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

// ignoreFile holds patterns, as in .gitignore, of files that do not belong to the project.
const ignoreFile = ".digdagignore"

// List returns the names of the project's files, sorted: the files that are pushed and that a task sees. It omits names
// that start with ".", and names that `.digdagignore` matches (language.md 1.1). A symbolic link is listed, and never
// followed. The data of a server is never part of a project; a project that is such data is an error.
func (p Project) List() ([]string, error) {
	l, err := p.list()
	return l.names, err
}

// listing is what a project's folder has.
type listing struct {
	names []string // of its files
	data  []string // folders of servers' data, which do not belong to it
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
		case strings.HasPrefix(entry.Name(), ".") || ignored(name, entry.IsDir()):
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

// IgnoredBy returns the line of `.digdagignore` that excludes a file at the top of the project; false if there is no
// such file, or it belongs to the project.
func (p Project) IgnoredBy(name string) (line int, ignored bool) {
	info, err := os.Lstat(filepath.Join(p.root, filepath.FromSlash(name)))
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	text, err := p.read(ignoreFile, dig.MaxFile)
	if err != nil {
		return 0, false
	}
	for _, pattern := range parseIgnore(string(text)) {
		if !pattern.dirsOnly && pattern.match.MatchString(name) {
			line, ignored = pattern.line, !pattern.include
		}
	}
	return line, ignored
}

// ignored makes the function that reports whether a file or folder is ignored.
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

// mostEntries is one more than the number of names in a folder that is listed: folders written by people have fewer.
const mostEntries = 10_000

// Entries lists the names of the files and folders in a folder of the project, by its slash path, "." for the project's
// own. there is false if the project has no such folder; an unreadable folder, or one with too many names, exists
// without names.
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
