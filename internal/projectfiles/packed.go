package projectfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"zerodag/engine/dig"
)

// PackedSource returns a Source in which, as in the project's archive, the files that Pack omits do not exist. also
// lists names that exist nevertheless.
func (p Project) PackedSource(also ...string) (dig.Source, error) {
	found, err := p.list()
	if err != nil {
		return nil, err
	}
	packed := map[string]bool{}
	for _, name := range append(found.names, also...) {
		packed[name] = true
	}
	root, err := filepath.EvalSymlinks(p.root)
	if err != nil {
		return nil, fmt.Errorf("open project: %w", err)
	}
	return func(name string) ([]byte, error) {
		if name != "" && filepath.IsLocal(filepath.FromSlash(name)) && !isPacked(packed, root, name) {
			if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
				return nil, omittedError{name}
			}
		}
		return p.Source(name)
	}, nil
}

// isPacked reports whether an archive has a file, which may be behind links in the archive. A file that does not exist
// and one outside the project both count as packed: reading it reports what is wrong.
func isPacked(packed map[string]bool, root, name string) bool {
	file := filepath.Join(root, filepath.FromSlash(name))
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return true
	}
	inside, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(inside) {
		return true
	}
	if real == file {
		return packed[name]
	}
	return packed[filepath.ToSlash(inside)] && linkIsPacked(packed, name)
}

// linkIsPacked reports whether a name, or a folder above it, is in the archive: one of them is a link.
func linkIsPacked(packed map[string]bool, name string) bool {
	for i, c := range name {
		if c == '/' && packed[name[:i]] {
			return true
		}
	}
	return packed[name]
}

// omittedError is a dig.ErrNotFound for a file that exists only outside archives.
type omittedError struct{ name string }

func (e omittedError) Error() string {
	return fmt.Sprintf("%v: %s, because it does not belong to the project", dig.ErrNotFound, e.name)
}

func (e omittedError) Is(target error) bool {
	return errors.Is(target, dig.ErrNotFound) || errors.Is(target, fs.ErrNotExist)
}

// Hint implements the interface that package dig looks for.
func (e omittedError) Hint() string {
	return "the file exists, but it is never pushed because a part of its path begins with a dot, or because " + digdagIgnoreFile + " or " + ownIgnoreFile + " lists it"
}
