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
// Data's own command line and Google's know.
func localSecrets(s settings) (operators.SecretStore, error) {
	return secretFiles{settings: s, dir: filepath.Join(configFolder(), "secrets"), td: sync.OnceValues(tdSecrets), google: sync.OnceValues(googleSecrets)}, nil
}

type secretFiles struct {
	settings
	dir    string
	td     func() (map[string]string, error)
	google func() (map[string]string, error)
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
	case errors.Is(err, os.ErrNotExist) && (key == "gcp.credential" || key == "gcp.project"):
		return f.ofGoogle(key)
	case errors.Is(err, os.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("read secret: %w", err)
	}
	return string(text), true, nil
}

// ofGoogle is a secret that Google's tools know. Their project is that of their key: it does not go with one of ours.
func (f secretFiles) ofGoogle(key string) (string, bool, error) {
	if _, own := f.settings["secrets.gcp.credential"]; own {
		return "", false, nil
	}
	if _, err := os.Stat(filepath.Join(f.dir, "gcp.credential")); err == nil {
		return "", false, nil
	}
	known, err := f.google()
	value, found := known[key]
	return value, found, err
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
