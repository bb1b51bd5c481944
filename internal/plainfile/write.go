package plainfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces a file, creating folders as needed. A reader sees either the old content or the new content, never
// part of it; after the machine has crashed, it may see the old content.
func Write(name string, content []byte) error {
	return replace(name, content, 0o644)
}

// WriteSecret is like Write, for a file that only its owner may read.
func WriteSecret(name string, content []byte) error {
	return replace(name, content, 0o600)
}

func replace(name string, content []byte, mode fs.FileMode) error {
	temporary, err := WriteBeside(name, content, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(temporary, name); err != nil {
		os.Remove(temporary)
		return fmt.Errorf("replace file: %w", err)
	}
	return nil
}

// WriteBeside writes content into a new file in the folder of name.
func WriteBeside(name string, content []byte, mode fs.FileMode) (string, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { // #nosec G301 -- users who must be kept out are kept out of the data folder above
		return "", fmt.Errorf("write file: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return "", fmt.Errorf("write file: %w", err)
	}
	if err := fillFile(f, content, mode); err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("write file: %w", err)
	}
	return f.Name(), nil
}

func fillFile(f *os.File, content []byte, mode fs.FileMode) error {
	if _, err := f.Write(content); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(mode); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
