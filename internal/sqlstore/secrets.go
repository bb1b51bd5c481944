package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"zerodag/internal/aesgcm"
)

// scopeProject is the scope of secrets that users set.
const scopeProject = "project"

var errNoKey = errors.New("secrets cannot be stored: set digdag.secret-encryption-key to 16 random bytes in base64")

// PutSecret stores a secret, encrypted.
func (s *Store) PutSecret(ctx context.Context, site, project int64, key, value string) error {
	if s.key == nil {
		return errNoKey
	}
	text, err := aesgcm.Encrypt(s.key, value)
	if err != nil {
		return fmt.Errorf("store secret %s: %w", key, err)
	}
	return s.acknowledge(ctx, func(t tx) error {
		_, err := t.Exec("INSERT INTO secrets (site_id, project_id, scope, engine, key, value) VALUES (?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (site_id, project_id, scope, key) DO UPDATE SET engine = excluded.engine, value = excluded.value",
			site, project, scopeProject, aesgcm.Engine, key, text)
		return err
	})
}

// DeleteSecret deletes a secret, if there is one.
func (s *Store) DeleteSecret(ctx context.Context, site, project int64, key string) error {
	return s.acknowledge(ctx, func(t tx) error {
		_, err := t.Exec("DELETE FROM secrets WHERE site_id = ? AND project_id = ? AND scope = ? AND key = ?",
			site, project, scopeProject, key)
		return err
	})
}

// SecretKeys lists the keys in their order.
func (s *Store) SecretKeys(ctx context.Context, site, project int64) ([]string, error) {
	return ReadAll(ctx, s, (*Row).Text, Select("SELECT key FROM secrets WHERE site_id = ? AND project_id = ?"+
		" AND scope = ? ORDER BY key", site, project, scopeProject))
}

type secret struct{ engine, key, value string }

// ProjectSecrets returns all secrets of a project by key.
func (s *Store) ProjectSecrets(ctx context.Context, site, project int64) (map[string]string, error) {
	list, err := ReadAll(ctx, s, func(r *Row) secret { return secret{r.Text(), r.Text(), r.Text()} },
		Select("SELECT engine, key, value FROM secrets WHERE site_id = ? AND project_id = ? AND scope = ?",
			site, project, scopeProject))
	if err != nil {
		return nil, err
	}
	if len(list) > 0 && s.key == nil {
		return nil, errNoKey
	}
	values := map[string]string{}
	for _, x := range list {
		if x.engine != aesgcm.Engine {
			return nil, fmt.Errorf("read secret %s: engine %q stored it, but this server uses %q: set the secret again",
				x.key, x.engine, aesgcm.Engine)
		}
		if values[x.key], err = aesgcm.Decrypt(s.key, x.value); err != nil {
			return nil, fmt.Errorf("read secret %s: %w", x.key, err)
		}
	}
	return values, nil
}

// CheckKey returns an error if the secrets of the database were stored with a different key: two servers with different
// keys could each read only the secrets that they stored themselves.
func (s *Store) CheckKey(ctx context.Context) error {
	list, err := ReadAll(ctx, s, (*Row).Text, Select("SELECT value FROM secrets LIMIT 1"))
	if err != nil || len(list) == 0 || s.key == nil {
		return err
	}
	if _, err := aesgcm.Decrypt(s.key, list[0]); err != nil {
		return fmt.Errorf("read a secret of the database: %w; all servers of a database need the key with which its secrets were stored", err)
	}
	return nil
}
