package localsecret

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"zerodag/internal/configuration"
	"zerodag/internal/plainfile"
	"zerodag/internal/program"
)

// CheckKey returns a command-line error if a string is not a valid secret key (wire.md 3.2).
func CheckKey(key string) error {
	const segment = `(?:[a-zA-Z]|[a-zA-Z][a-zA-Z0-9_-]*[a-zA-Z0-9])`
	if len(key) > 255 || !regexp.MustCompile(`^`+segment+`(?:\.`+segment+`)*$`).MatchString(key) {
		return program.UsageError(fmt.Errorf("Invalid secret key: %s", key))
	}
	return nil
}

// folder returns the folder with this machine's secrets.
func folder() string { return filepath.Join(configuration.Folder(), "secrets") }

// Folder keeps each secret in a file of the same name that only its owner can read.
type Folder struct{ dir string }

// Open returns this machine's secrets. The folder does not have to exist.
func Open() Folder { return Folder{folder()} }

// List returns the keys, sorted.
func (s Folder) List(context.Context) ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	keys := []string{}
	for _, e := range entries {
		if CheckKey(e.Name()) == nil {
			keys = append(keys, e.Name())
		}
	}
	return keys, nil
}

// Set writes a secret, replacing an existing one.
func (s Folder) Set(_ context.Context, key, value string) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("set secret: %w", err)
	}
	return plainfile.WriteSecret(filepath.Join(s.dir, key), []byte(value))
}

// Delete removes a secret; a missing secret is not an error.
func (s Folder) Delete(_ context.Context, key string) error {
	if err := os.Remove(filepath.Join(s.dir, key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete secret: %w", err)
	}
	return nil
}
