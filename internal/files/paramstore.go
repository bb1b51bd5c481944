package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"zerodag/internal/plainfile"
)

// paramLifetime is how long a value is kept after it was set (wire.md 3.7).
const paramLifetime = 90 * 24 * time.Hour

// ParamStore keeps the values of `param_set>` on one machine: it is an operators.ParamStore with one JSON file for each
// key.
type ParamStore struct {
	folder string
	now    func() time.Time
	mu     sync.Mutex
}

// NewParamStore returns a store in a folder, which is created when the first value is set.
func NewParamStore(folder string, now func() time.Time) *ParamStore {
	return &ParamStore{folder: folder, now: now}
}

type storedParam struct {
	Key       string    `json:"key"`
	Value     string    `json:"value"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Set stores all values or none, as well as a file system can: everything is written before the first old value is
// replaced.
func (s *ParamStore) Set(ctx context.Context, values map[string]string) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := map[string]string{} // temporary files, by the files that they replace
	defer func() {
		for _, temporary := range written {
			os.Remove(temporary) // files that have not been renamed
		}
	}()
	names := slices.Sorted(maps.Keys(values))
	for _, key := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		content, err := json.Marshal(storedParam{key, values[key], s.now().UTC()})
		if err != nil {
			return fmt.Errorf("encode param %s: %w", key, err)
		}
		if written[s.file(key)], err = plainfile.WriteBeside(s.file(key), content, privateFile); err != nil {
			return fmt.Errorf("store param %s: %w", key, err)
		}
	}
	for _, key := range names {
		if err := os.Rename(written[s.file(key)], s.file(key)); err != nil {
			return fmt.Errorf("store param %s: %w", key, err)
		}
	}
	return nil
}

// Get returns the value of a key, and reports whether an unexpired one exists.
func (s *ParamStore) Get(_ context.Context, key string) (string, bool, error) {
	content, err := os.ReadFile(s.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read param %s: %w", key, err)
	}
	var p storedParam
	if err := json.Unmarshal(content, &p); err != nil {
		return "", false, fmt.Errorf("decode param %s: %w", key, err)
	}
	if s.now().Sub(p.UpdatedAt) > paramLifetime {
		return "", false, nil
	}
	return p.Value, true, nil
}

// file returns the file name of a key. The name is a hash, because file systems differ in the names that they allow and
// distinguish; the file contains the key.
func (s *ParamStore) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(s.folder, hex.EncodeToString(sum[:])+".json")
}
