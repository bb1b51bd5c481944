package files

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"zerodag/internal/projectfiles"
	"zerodag/operators"
)

// clone is a copy of a project's folder with a record of its state when it was created. Renaming an unchanged copy is
// far cheaper than creating another.
type clone struct {
	projectfiles.Project
	size   int64            // the size of its files when it was created
	stamps map[string]stamp // by slash-separated name; nil: too many to check
}

// stamp identifies a file's state. No program can set the change time that it records.
type stamp struct {
	id, size, changed int64
	mode              fs.FileMode
}

// Limits for checking a copy, and for the number of copies of one archive that are kept.
const (
	maxStamps = 500
	maxClean  = 8
)

// cleanNames returns the prefix of unused copies' names. Names of workspaces begin with a digit. Other users of the
// machine, who may traverse the folder, can guess neither kind of name.
func cleanNames() string { return "clean-" + rand.Text() + "-" }

// copied creates a copy of a project in a new folder, and transfers it to the user that runs the commands.
func copied(p projectfiles.Project, folder string, transfer func(root string) error) (*clone, error) {
	own, err := p.CopyAll(folder)
	if err != nil {
		return nil, err
	}
	if err := transfer(own.Root()); err != nil {
		return nil, err
	}
	c := &clone{Project: own}
	c.stamps, err = c.look()
	return c, err
}

// look reads the stamps of everything in the folder except files that commands leave behind in their script folder.
func (c *clone) look() (map[string]stamp, error) {
	stamps := map[string]stamp{}
	var read func(folder string) error
	read = func(folder string) error {
		entries, err := os.ReadDir(filepath.Join(c.Root(), filepath.FromSlash(folder)))
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			if name == operators.DigdagRunFolder || strings.HasPrefix(name, tempFolder) {
				if !isOurs(name) {
					return fmt.Errorf("%s was left behind", name)
				}
				if name != operators.DigdagRunFolder && name != tempFolder {
					continue
				}
			} else if len(stamps) == maxStamps {
				return nil
			} else if stamps[name], err = stampOf(filepath.Join(c.Root(), filepath.FromSlash(name))); err != nil {
				return err
			}
			if e.IsDir() {
				if err := read(name); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := read("")
	if len(stamps) >= maxStamps {
		return nil, nil
	}
	return stamps, err
}

// tempFolder is the folder for command scripts in workspaces.
const tempFolder = operators.DigdagRunFolder + "/tmp"

// isOurs reports whether a name belongs to the folder for command scripts, or to a spare one.
func isOurs(name string) bool {
	return name == operators.DigdagRunFolder || name == tempFolder || strings.HasPrefix(name, tempFolder+"/.spare-")
}

// unchanged reports whether nothing has changed since the copy was created.
func (c *clone) unchanged() bool {
	if c.stamps == nil {
		return false
	}
	now, err := c.look()
	if err != nil || len(now) != len(c.stamps) {
		return false
	}
	for name, s := range c.stamps {
		if now[name] != s {
			return false
		}
	}
	return true
}

// moveTo renames the copy.
func (c *clone) moveTo(folder string) (err error) {
	c.Project, err = c.Rename(folder)
	return err
}

func (w *Workspaces) takeClean(u *unpacked) *clone {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(u.clean)
	if n == 0 {
		return nil
	}
	c := u.clean[n-1]
	u.clean = u.clean[:n-1]
	return c
}

// keepClean keeps an unchanged copy under a name that no run uses.
func (w *Workspaces) keepClean(u *unpacked, c *clone) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(u.clean) >= maxClean {
		return false
	}
	w.kept++
	if c.moveTo(filepath.Join(w.folder, "workspace", w.clean+strconv.Itoa(w.kept))) != nil {
		return false
	}
	u.clean = append(u.clean, c)
	return true
}
