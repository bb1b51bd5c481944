package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"zerodag/operators"
)

// scratch is the folder of one run of a command.
type scratch struct {
	root    string
	command operators.Command
}

func (s scratch) path(name string) string {
	return filepath.Join(s.root, filepath.FromSlash(s.command.Scratch), name)
}

// fill makes the folder anew: an interrupted run may have left one with its outputs.
func (s scratch) fill() error {
	if s.command.Scratch == "" {
		return nil
	}
	err := os.Mkdir(s.path(""), 0o755)
	if errors.Is(err, fs.ErrExist) {
		s.remove()
	}
	if err != nil {
		if err = os.MkdirAll(s.path(""), 0o755); err != nil {
			return err
		}
	}
	for name, content := range s.command.Files {
		if err := os.WriteFile(s.path(name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (s scratch) outputs() (map[string][]byte, error) {
	outputs := map[string][]byte{}
	for _, name := range s.command.Outputs {
		content, err := os.ReadFile(s.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		outputs[name] = content
	}
	return outputs, nil
}

// remove takes the folder away: nearly always it holds what we put there and no more.
func (s scratch) remove() {
	if s.command.Scratch == "" {
		return
	}
	for name := range s.command.Files {
		os.Remove(s.path(name))
	}
	if os.Remove(s.path("")) != nil {
		os.RemoveAll(s.path(""))
	}
}
