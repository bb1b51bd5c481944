// Package landlock hides files of this program from the processes that it starts, with Landlock, Linux's access control
// for unprivileged programs.
//
// The command driver uses it. It must restrict only what it starts, never this program itself.
//
// A process gets rights for everything except the hidden paths. Landlock can only grant rights for whole trees, so the
// entries next to the hidden paths are granted one by one, and a file that is created later directly next to them
// cannot be used. Names of hidden files remain visible.
package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrUnsupported means that the system has no Landlock, or an early form of it.
var ErrUnsupported = errors.New("the system does not support Landlock (Linux 5.19 or later)")

// Rules hides paths. The zero value hides nothing.
type Rules struct {
	hidden  map[string]bool
	between map[string]bool // folders above hidden paths
}

// New returns rules that hide the files and folders at these absolute paths. Paths that do not exist are omitted.
func New(paths ...string) (Rules, error) {
	r := Rules{hidden: map[string]bool{}, between: map[string]bool{}}
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Rules{}, fmt.Errorf("hide %s: %w", path, err)
		}
		if real == string(filepath.Separator) {
			return Rules{}, errors.New("hide the whole file system: not possible")
		}
		r.hidden[real] = true
		for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
			r.between[dir] = true
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return r, nil
}

// Beside returns a folder in which this program may create files that restricted processes then cannot use; "" if there
// is none.
func (r Rules) Beside() string {
	for dir := range r.between {
		if !r.isHidden(dir) && writable(dir) {
			return dir
		}
	}
	return ""
}

// Hides reports whether a path is hidden, or below a hidden one.
func (r Rules) Hides(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && r.isHidden(real)
}

// isHidden reports whether a path is hidden or below a hidden one.
func (r Rules) isHidden(path string) bool {
	for ; ; path = filepath.Dir(path) {
		if r.hidden[path] {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}

// visible calls grant for each entry in a folder tree that is neither hidden nor above something hidden. A folder that
// cannot be read has no visible entries.
func (r Rules) visible(dir string, grant func(path string, isDir bool) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case r.hidden[path] || e.Type()&fs.ModeSymlink != 0: // the target of a link counts
		case r.between[path]:
			err = r.visible(path, grant)
		default:
			err = grant(path, e.IsDir())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
