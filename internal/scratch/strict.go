package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"zerodag/operators"
)

// Strict is the folder of a command that has fewer rights than this program: nothing that it leaves there can make this
// program read or write elsewhere.
type Strict struct {
	Root    string // the project's folder, an absolute path
	Command operators.Command
	Open    bool // the command may run as any user, so all users may write to the folder
}

func (s Strict) path(name string) string {
	return filepath.Join(filepath.FromSlash(s.Command.Scratch), name)
}

// Fill creates a fresh folder.
func (s Strict) Fill() error {
	if s.Command.Scratch == "" {
		return nil
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := errors.Join(root.RemoveAll(s.path("")), root.MkdirAll(s.path(""), 0o755)); err != nil {
		return err
	}
	for name, content := range s.Command.Files {
		if err := root.WriteFile(s.path(name), content, 0o644); err != nil {
			return err
		}
	}
	if s.Open {
		return root.Chmod(s.path(""), 0o777)
	}
	return nil
}

// Outputs reads the existing files of Command.Outputs.
func (s Strict) Outputs() (map[string][]byte, error) {
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	outputs := map[string][]byte{}
	for _, name := range s.Command.Outputs {
		content, err := read(root, s.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		outputs[name] = content
	}
	return outputs, nil
}

// read reads a regular file. It opens the file without waiting, because it may be a pipe.
func read(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxOutput:
		return nil, fmt.Errorf("it is %d bytes, but at most %d are allowed", info.Size(), maxOutput)
	}
	return io.ReadAll(io.LimitReader(f, maxOutput))
}

// Remove removes the folder.
func (s Strict) Remove() {
	if s.Command.Scratch == "" {
		return
	}
	if root, err := os.OpenRoot(s.Root); err == nil {
		root.RemoveAll(s.path(""))
		root.Close()
	}
}

// Give transfers everything in a project's folder to the user who will run a command there, and to no other user. No
// link is followed.
func Give(root string, user, group int) error {
	folder, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Chmod(".", 0o700); err != nil {
		return err
	}
	return fs.WalkDir(folder.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// A change of the owner also sets the change time, by which unchanged copies of a project are found.
		if info, err := d.Info(); err == nil && belongs(info, user, group) {
			return nil
		}
		return folder.Lchown(name, user, group)
	})
}
