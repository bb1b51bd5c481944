// Package scratch is the folder in which a command finds its script and leaves its results.
//
// The drivers of operators.Commands that run commands on this machine call it. It must not
// follow a link that a command has made when the command had fewer rights than this
// program: see Strict.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"zerodag/operators"
)

// Folders that commands are through with are kept under names that begin so: to rename
// one is far cheaper than to make a folder and its files, and a short script is over in the
// time that takes.
const spare = ".spare-"

// maxSpare is how many are kept in one place.
const maxSpare = 8

// Folder is the folder of one run of a command.
type Folder struct {
	Root    string // of the project, an absolute path
	Command operators.Command
}

func (s Folder) path(name string) string {
	return filepath.Join(s.Root, filepath.FromSlash(s.Command.Scratch), name)
}

func (s Folder) parent() string {
	return filepath.Join(s.Root, filepath.FromSlash(path.Dir(s.Command.Scratch)))
}

// Fill makes the folder anew: an interrupted run may have left one with its outputs.
func (s Folder) Fill() error {
	if s.Command.Scratch == "" {
		return nil
	}
	if s.reuse() {
		return nil
	}
	err := os.Mkdir(s.path(""), 0o755) // #nosec G301 -- the command may run as another user, and the workspace around it is closed to the rest
	if errors.Is(err, fs.ErrExist) {
		s.Remove()
	}
	if err != nil {
		if err = os.MkdirAll(s.path(""), 0o755); err != nil { // #nosec G301 -- the command may run as another user, and the workspace around it is closed to the rest
			return err
		}
	}
	for name, content := range s.Command.Files {
		if err := os.WriteFile(s.path(name), content, 0o644); err != nil { // #nosec G306 -- the command may run as another user, and the workspace around it is closed to the rest
			return err
		}
	}
	return nil
}

// reuse makes a spare folder the command's; false when there is none that can be.
func (s Folder) reuse() bool {
	list, _ := spares(s.parent())
	for _, name := range list {
		if os.Rename(filepath.Join(s.parent(), name), s.path("")) == nil {
			return s.refill()
		}
	}
	return false
}

// spares lists the spare folders in a place.
func spares(parent string) ([]string, error) {
	entries, err := os.ReadDir(parent)
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), spare) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (s Folder) refill() bool {
	entries, err := os.ReadDir(s.path(""))
	if err != nil {
		return false
	}
	for _, e := range entries {
		if _, again := s.Command.Files[e.Name()]; !again && os.Remove(s.path(e.Name())) != nil {
			return false
		}
	}
	for name, content := range s.Command.Files {
		if overwrite(s.path(name), content) != nil {
			return false
		}
	}
	return true
}

// overwrite keeps the file, as os.WriteFile does, but empties it last: some file systems
// flush a file that was emptied first.
func overwrite(file string, content []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644) // #nosec G302 -- the command may run as another user, and the workspace around it is closed to the rest
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Nlink != 1 {
		return errors.New("the file has other names: it is not ours alone")
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	if info.Size() > int64(len(content)) {
		return f.Truncate(int64(len(content)))
	}
	return nil
}

// maxOutput bounds a file of output, in bytes: it is read into memory.
const maxOutput = 16 << 20

// Outputs reads those of Command.Outputs that exist.
func (s Folder) Outputs() (map[string][]byte, error) {
	outputs := map[string][]byte{}
	for _, name := range s.Command.Outputs {
		info, err := os.Stat(s.path(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular(): // to open a pipe would wait for ever
			return nil, fmt.Errorf("%s is no plain file", name)
		case info.Size() > maxOutput:
			return nil, fmt.Errorf("%s has %d bytes, more than the %d that it may have", name, info.Size(), maxOutput)
		}
		if outputs[name], err = os.ReadFile(s.path(name)); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// Remove takes the folder away. When it holds what we put there and no more, as nearly
// always, it is kept for the next command.
func (s Folder) Remove() {
	if s.Command.Scratch == "" {
		return
	}
	for _, name := range s.Command.Outputs {
		os.Remove(s.path(name))
	}
	if !s.keep() {
		os.RemoveAll(s.path(""))
	}
}

// maxSpareFile bounds a file that is kept, in bytes: it is written over.
const maxSpareFile = 256 << 10

// blank writes over what a command's file holds, which may be secrets: nobody finds them in a
// spare folder. Its length stays, see overwrite.
func blank(file string, e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && info.Size() <= maxSpareFile && overwrite(file, make([]byte, info.Size())) == nil
}

// keep makes the folder a spare one, if its files are plain ones that we put there. Nothing
// of what was in them is left.
func (s Folder) keep() bool {
	entries, err := os.ReadDir(s.path(""))
	if err != nil {
		return false
	}
	for _, e := range entries {
		if _, known := s.Command.Files[e.Name()]; !known || !e.Type().IsRegular() {
			return false
		}
	}
	if list, err := spares(s.parent()); err != nil || len(list) >= maxSpare {
		return false
	}
	for _, e := range entries {
		if !blank(s.path(e.Name()), e) {
			return false
		}
	}
	return os.Rename(s.path(""), filepath.Join(s.parent(), spare+path.Base(s.Command.Scratch))) == nil
}

// Leave deletes the spare folders in a project's folder: nobody will run commands there.
func Leave(root string) {
	folder := filepath.Join(root, ".digdag", "tmp")
	list, _ := spares(folder) // most projects have none
	for _, name := range list {
		os.RemoveAll(filepath.Join(folder, name))
	}
}
