package localsecret

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"zerodag/internal/configuration"
	oprun "zerodag/operators/run"
)

// Store returns the secrets for the tasks of a run on this machine: `secrets.<key>` in the configuration, then the file
// with that name in the configuration's folder, then the secrets of Treasure Data's and Google's own command-line
// tools.
func Store(s configuration.Settings) oprun.SecretStore {
	return secretFiles{Settings: s, dir: folder(), td: sync.OnceValues(tdSecrets), google: sync.OnceValues(googleSecrets)}
}

type secretFiles struct {
	configuration.Settings
	dir    string
	td     func() (map[string]string, error)
	google func() (map[string]string, error)
}

// Secret reads one secret; a key that contains a path separator never has a value.
func (f secretFiles) Secret(key string) (string, bool, error) {
	if v, ok := f.Settings["secrets."+key]; ok {
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
	return Text(text), true, nil
}

// ofGoogle returns a secret from Google's tools. Their project belongs to their key, and is not combined with one of
// our keys.
func (f secretFiles) ofGoogle(key string) (string, bool, error) {
	if _, own := f.Settings["secrets.gcp.credential"]; own {
		return "", false, nil
	}
	if _, err := os.Stat(filepath.Join(f.dir, "gcp.credential")); err == nil {
		return "", false, nil
	}
	known, err := f.google()
	value, found := known[key]
	return value, found, err
}
