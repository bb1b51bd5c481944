package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"zerodag/internal/aesgcm"
	"zerodag/internal/host"
)

// scopeProject is the scope of the secrets that users set.
const scopeProject = "project"

var errNoKey = errors.New("secrets cannot be stored: set digdag.secret-encryption-key to 16 random bytes in base64")

// PutSecret stores a secret, encrypted.
func (s *Store) PutSecret(ctx context.Context, site, project int64, key, value string) error {
	if len(s.keys) == 0 {
		return errNoKey
	}
	text, err := s.keys.Encrypt(value)
	if err != nil {
		return fmt.Errorf("store secret %s: %w", key, err)
	}
	return s.acknowledge(ctx, func(t tx) error {
		_, err := t.Exec("INSERT INTO @secrets (site_id, project_id, scope, engine, key, value) VALUES (?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (site_id, project_id, scope, key) DO UPDATE SET engine = excluded.engine, value = excluded.value",
			site, project, scopeProject, aesgcm.Engine, key, text)
		return err
	})
}

// DeleteSecret deletes a secret, if there is one.
func (s *Store) DeleteSecret(ctx context.Context, site, project int64, key string) error {
	return s.acknowledge(ctx, func(t tx) error {
		_, err := t.Exec("DELETE FROM @secrets WHERE site_id = ? AND project_id = ? AND scope = ? AND key = ?",
			site, project, scopeProject, key)
		return err
	})
}

// SecretKeys lists the keys in order.
func (s *Store) SecretKeys(ctx context.Context, site, project int64) ([]string, error) {
	return ReadAll(ctx, s, (*Row).Text, Select("SELECT key FROM @secrets WHERE site_id = ? AND project_id = ?"+
		" AND scope = ? ORDER BY key", site, project, scopeProject))
}

type secret struct{ engine, key, value string }

// ProjectSecrets returns all secrets of a project by key.
func (s *Store) ProjectSecrets(ctx context.Context, site, project int64) (map[string]string, error) {
	list, err := ReadAll(ctx, s, func(r *Row) secret { return secret{r.Text(), r.Text(), r.Text()} },
		Select("SELECT engine, key, value FROM @secrets WHERE site_id = ? AND project_id = ? AND scope = ?",
			site, project, scopeProject))
	if err != nil {
		return nil, err
	}
	if len(list) > 0 && len(s.keys) == 0 {
		return nil, errNoKey
	}
	values := map[string]string{}
	for _, x := range list {
		if x.engine != aesgcm.Engine {
			return nil, fmt.Errorf("read secret %s: engine %q stored it, but this server uses %q: set the secret again",
				x.key, x.engine, aesgcm.Engine)
		}
		if values[x.key], _, err = s.keys.Decrypt(x.value); err != nil {
			return nil, fmt.Errorf("read secret %s: %w", x.key, err)
		}
	}
	return values, nil
}

// The row by which CheckKey recognizes the key of a database, even if the database has no secrets yet. No project has
// the id 0.
const (
	scopeCheck = "key"
	checkKey   = "check"
)

// CheckKey returns an error if this database belongs to another key: servers with different keys could each read only
// the secrets that they stored themselves. The first server marks the database with its key.
func (s *Store) CheckKey(ctx context.Context) error {
	if len(s.keys) == 0 {
		return nil
	}
	for range tries {
		// A database whose first server had no key may already hold secrets, but no mark.
		list, err := ReadAll(ctx, s, (*Row).Text, Select("SELECT value FROM @secrets WHERE scope IN (?, ?) ORDER BY site_id, project_id LIMIT 1",
			scopeCheck, scopeProject))
		if err != nil {
			return err
		}
		if len(list) > 0 {
			if _, _, err := s.keys.Decrypt(list[0]); err != nil {
				return fmt.Errorf("check the key of the secrets: %w; set the key with which the secrets of this database were stored, or add it to digdag.secret-decryption-keys", err)
			}
			return nil
		}
		text, err := s.keys.Encrypt("")
		if err != nil {
			return err
		}
		if err := s.acknowledge(ctx, func(t tx) error {
			_, err := t.Exec("INSERT INTO @secrets (site_id, project_id, scope, engine, key, value) VALUES (0, 0, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
				scopeCheck, aesgcm.Engine, checkKey, text)
			return err
		}); err != nil {
			return fmt.Errorf("mark the database with the key of its secrets: %w", err)
		}
	}
	return errors.New("check the key of the secrets: the mark of the database cannot be read")
}

// rekeyBatch limits how many secrets one transaction re-encrypts, so that other writers wait only briefly.
const rekeyBatch = 200

// keyed is a stored secret; fresh is its value, encrypted with the first key.
type keyed struct {
	site, project            int64
	scope, key, value, fresh string
}

// RekeySecrets re-encrypts each secret that was encrypted with another key, using the first key. A secret that changes
// in the meantime keeps its new value. It can be repeated at any time.
func (s *Store) RekeySecrets(ctx context.Context) (out host.Rekeyed, err error) {
	if len(s.keys) == 0 {
		return out, host.Invalidf("This server has no key for secrets: set digdag.secret-encryption-key")
	}
	last := keyed{site: -1}
	for {
		list, err := ReadAll(ctx, s, func(r *Row) keyed { return keyed{r.ID(), r.ID(), r.Text(), r.Text(), r.Text(), ""} },
			Select("SELECT site_id, project_id, scope, key, value FROM @secrets WHERE (site_id, project_id, scope, key) > (?, ?, ?, ?)"+
				" ORDER BY site_id, project_id, scope, key LIMIT ?", last.site, last.project, last.scope, last.key, rekeyBatch))
		if err != nil || len(list) == 0 {
			return out, err
		}
		last = list[len(list)-1]
		if err := s.rekey(ctx, list, &out); err != nil {
			return out, err
		}
	}
}

// rekey re-encrypts some secrets.
func (s *Store) rekey(ctx context.Context, list []keyed, out *host.Rekeyed) error {
	var change []keyed
	for _, x := range list {
		value, current, err := s.keys.Decrypt(x.value)
		if x.scope != scopeCheck {
			out.Secrets++
		}
		switch {
		case err != nil && x.scope == scopeCheck: // the server was started although the key is lost
			if x.fresh, err = s.keys.Encrypt(""); err != nil {
				return fmt.Errorf("encrypt the mark of the database: %w", err)
			}
			change = append(change, x)
		case err != nil:
			out.Unreadable = append(out.Unreadable, host.SecretName{Site: x.site, Project: x.project, Key: x.key})
		case !current:
			if x.fresh, err = s.keys.Encrypt(value); err != nil {
				return fmt.Errorf("encrypt secret %s: %w", x.key, err)
			}
			change = append(change, x)
		}
	}
	if len(change) == 0 {
		return nil
	}
	changed := 0
	if err := s.acknowledge(ctx, func(t tx) error {
		changed = 0 // a transaction may be repeated
		for _, x := range change {
			n, err := t.Exec("UPDATE @secrets SET value = ?, engine = ? WHERE site_id = ? AND project_id = ? AND scope = ? AND key = ? AND value = ?",
				x.fresh, aesgcm.Engine, x.site, x.project, x.scope, x.key, x.value)
			if err != nil {
				return err
			}
			if x.scope != scopeCheck {
				changed += int(n)
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("store secrets with the current key: %w", err)
	}
	out.Changed += changed
	return nil
}
