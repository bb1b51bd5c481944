package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"zerodag/operators"
)

// localSecrets are those of this machine: `secrets.<key>` of the configuration, then the
// file of that name in the configuration's folder, its content as it is, then what Treasure
// Data's own command line knows.
func localSecrets(s settings) (operators.SecretStore, error) {
	return secretFiles{settings: s, dir: filepath.Join(configFolder(), "secrets"), td: sync.OnceValues(tdSecrets)}, nil
}

type secretFiles struct {
	settings
	dir string
	td  func() (map[string]string, error)
}

// Secret reads one secret; keys with a path separator name none.
func (f secretFiles) Secret(key string) (string, bool, error) {
	if v, ok := f.settings["secrets."+key]; ok {
		return v, true, nil
	}
	if strings.ContainsRune(key, filepath.Separator) {
		return "", false, nil
	}
	text, err := os.ReadFile(filepath.Join(f.dir, key))
	switch {
	case errors.Is(err, os.ErrNotExist) && strings.HasPrefix(key, "td."):
		known, err := f.td()
		value, found := known[key]
		return value, found, err
	case errors.Is(err, os.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("read secret: %w", err)
	}
	return string(text), true, nil
}

// silent notifies no one, which is what the original does unless it is told otherwise.
type silent struct{}

func (silent) Notify(context.Context, string, *operators.Task) error { return nil }

// newNotifier chooses how people are told of failures. `run` is watched by the user who
// started it: notifications are a server's business, and asking for them is an error.
func newNotifier(s settings) (operators.Notifier, error) {
	if kind := s["notification.type"]; kind != "" {
		return nil, fmt.Errorf("configuration key notification.type is %q, but `run` sends no notifications: remove it, or use `_error` with mail> or http>", kind)
	}
	return silent{}, nil
}
