package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ownFiles creates the folder and a database's files before SQLite does, which would make them readable by everyone.
// The log and index files get the permissions of the database.
func ownFiles(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	for _, name := range []string{path, path + ".lock"} {
		if err := ownFile(name); err != nil {
			return err
		}
	}
	return nil
}

// ownFile creates an empty file that only its owner may read, unless the file exists.
func ownFile(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}
