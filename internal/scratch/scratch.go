// Package scratch manages the folder in which a command finds its script and leaves its results.
//
// The drivers of operators.Commands that run commands on this machine call it. It must not follow a link created by a
// command that had fewer rights than this program: see Strict.
package scratch

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"zerodag/operators"
)

// Folders that commands no longer need are kept under names with this prefix: renaming one is far cheaper than creating
// a folder and its files, which takes at least as long as a short script. The rest of the name lists the files in it,
// so that the folder does not have to be read, and a number.
const spare = ".spare-"

// maxSpare is how many spare folders are kept in one place for commands with the same files.
const maxSpare = 8

// Folder is the folder of one run of a command.
type Folder struct {
	Root    string // the project's folder, an absolute path
	Command operators.Command
}

func (s Folder) path(name string) string {
	return filepath.Join(s.Root, filepath.FromSlash(s.Command.Scratch), name)
}

func (s Folder) parent() string {
	return filepath.Join(s.Root, filepath.FromSlash(path.Dir(s.Command.Scratch)))
}

// Fill creates a fresh folder: an interrupted run may have left one with its outputs.
func (s Folder) Fill() error {
	if s.Command.Scratch == "" {
		return nil
	}
	if s.reuse() {
		return nil
	}
	err := os.Mkdir(s.path(""), 0o755) // #nosec G301 -- the command may run as another user, and the workspace around it is closed to everyone else
	if errors.Is(err, fs.ErrExist) {
		s.Remove()
	}
	if err != nil {
		if err = os.MkdirAll(s.path(""), 0o755); err != nil { // #nosec G301 -- the command may run as another user, and the workspace around it is closed to everyone else
			return err
		}
	}
	for name, content := range s.Command.Files {
		if err := os.WriteFile(s.path(name), content, 0o644); err != nil { // #nosec G306 -- the command may run as another user, and the workspace around it is closed to everyone else
			return err
		}
	}
	return nil
}

// reuse turns a spare folder into the command's folder, or returns false if there is none.
func (s Folder) reuse() bool {
	for i := range maxSpare {
		switch err := syscall.Rename(s.spare(i), s.path("")); {
		case err == nil:
			return s.refill()
		case !errors.Is(err, fs.ErrNotExist):
			return false // an interrupted run left its folder
		}
	}
	return false
}

// spare returns the path of a spare folder for commands with files of these names. Their numbers are used from the
// first one upwards.
func (s Folder) spare(number int) string {
	h := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(s.Command.Files)) {
		h.Write([]byte(name + "\x00"))
	}
	return filepath.Join(s.parent(), spare+strconv.FormatUint(h.Sum64(), 36)+"-"+strconv.Itoa(number))
}

func (s Folder) refill() bool {
	for name, content := range s.Command.Files {
		if overwrite(s.path(name), content) != nil {
			return false
		}
	}
	return true
}

// overwrite writes to the existing file like os.WriteFile, but truncates it last: some file systems flush a file that
// is truncated first.
func overwrite(file string, content []byte) error {
	return rewrite(file, func(int64) ([]byte, error) { return content, nil })
}

// blank overwrites a file's contents. Its length does not change: see overwrite.
func blank(file string) error {
	return rewrite(file, func(size int64) ([]byte, error) {
		if size > maxSpareFile {
			return nil, errors.New("the file is too large to store")
		}
		return make([]byte, size), nil
	})
}

// rewrite overwrites the content of a file with new content, which may depend on the file's size.
func rewrite(file string, content func(size int64) ([]byte, error)) error {
	f, err := openToWrite(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !hasOneName(info) {
		return errors.New("the file has other hard links")
	}
	text, err := content(info.Size())
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	if info.Size() > int64(len(text)) {
		return f.Truncate(int64(len(text)))
	}
	return nil
}

// maxOutput limits the size of an output file in bytes, because it is read into memory.
const maxOutput = 16 << 20

// Outputs reads the existing files of Command.Outputs.
func (s Folder) Outputs() (map[string][]byte, error) {
	outputs := map[string][]byte{}
	for _, name := range s.Command.Outputs {
		info, err := os.Stat(s.path(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular(): // opening a pipe would wait forever
			return nil, fmt.Errorf("%s is not a regular file", name)
		case info.Size() > maxOutput:
			return nil, fmt.Errorf("%s is %d bytes, but at most %d are allowed", name, info.Size(), maxOutput)
		}
		if outputs[name], err = os.ReadFile(s.path(name)); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// Remove removes the folder. If it holds only the files that we put there, as it nearly always does, it is kept for the
// next command.
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

// maxSpareFile limits the size of a kept file in bytes, because it is overwritten.
const maxSpareFile = 256 << 10

// keep makes the folder a spare one if it contains exactly our own regular files. Their contents may be secrets: a spare
// folder does not keep them.
func (s Folder) keep() bool {
	entries, err := os.ReadDir(s.path(""))
	if err != nil || len(entries) != len(s.Command.Files) {
		return false
	}
	for _, e := range entries {
		if _, known := s.Command.Files[e.Name()]; !known || !e.Type().IsRegular() {
			return false
		}
	}
	for _, e := range entries {
		if blank(s.path(e.Name())) != nil {
			return false
		}
	}
	for i := range maxSpare {
		if syscall.Rename(s.path(""), s.spare(i)) == nil { // this fails if that folder exists, because it contains files
			return true
		}
	}
	return false
}

// Leave deletes the spare folders in a project's folder for temporary files: no more commands will run there.
func Leave(folder string) {
	entries, _ := os.ReadDir(folder) // most projects have no such folder
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), spare) {
			os.RemoveAll(filepath.Join(folder, e.Name()))
		}
	}
}
