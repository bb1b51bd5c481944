package postgres

import (
	"context"
	"errors"
	"fmt"

	"zerodag/internal/aesgcm"
)

// scopeProject is the scope of secrets that users set.
const scopeProject = "project"

var errNoKey = errors.New("secrets cannot be kept: set digdag.secret-encryption-key to 16 random bytes in base64")

// PutSecret stores a secret, encrypted.
func (db *DB) PutSecret(ctx context.Context, site, project int64, key, value string) error {
	if db.key == nil {
		return errNoKey
	}
	text, err := aesgcm.Encrypt(db.key, value)
	if err != nil {
		return fmt.Errorf("store secret %s: %w", key, err)
	}
	return db.write(ctx, func(c *conn) error {
		_, err := c.exec("INSERT INTO secrets (site_id, project_id, scope, engine, key, value) VALUES ($1, $2, $3, $4, $5, $6)"+
			" ON CONFLICT (site_id, project_id, scope, key) DO UPDATE SET engine = excluded.engine, value = excluded.value",
			site, project, scopeProject, aesgcm.Engine, key, text)
		return err
	})
}

// DeleteSecret deletes a secret, if there is one.
func (db *DB) DeleteSecret(ctx context.Context, site, project int64, key string) error {
	return db.write(ctx, func(c *conn) error {
		_, err := c.exec("DELETE FROM secrets WHERE site_id = $1 AND project_id = $2 AND scope = $3 AND key = $4", site, project, scopeProject, key)
		return err
	})
}

// SecretKeys lists the keys in their order.
func (db *DB) SecretKeys(ctx context.Context, site, project int64) ([]string, error) {
	return readAll(ctx, db, (*row).text, selection("SELECT key FROM secrets WHERE site_id = ? AND project_id = ? AND scope = ? ORDER BY key", site, project, scopeProject))
}

type secret struct{ engine, key, value string }

// ProjectSecrets returns all secrets of a project by key.
func (db *DB) ProjectSecrets(ctx context.Context, site, project int64) (map[string]string, error) {
	list, err := readAll(ctx, db, func(r *row) secret { return secret{r.text(), r.text(), r.text()} },
		selection("SELECT engine, key, value FROM secrets WHERE site_id = ? AND project_id = ? AND scope = ?", site, project, scopeProject))
	if err != nil {
		return nil, err
	}
	if len(list) > 0 && db.key == nil {
		return nil, errNoKey
	}
	values := map[string]string{}
	for _, s := range list {
		if s.engine != aesgcm.Engine {
			return nil, fmt.Errorf("read secret %s: it is kept by engine %q, and this server's is %q: set the secret again", s.key, s.engine, aesgcm.Engine)
		}
		if values[s.key], err = aesgcm.Decrypt(db.key, s.value); err != nil {
			return nil, fmt.Errorf("read secret %s: %w", s.key, err)
		}
	}
	return values, nil
}

// CheckKey is an error where the key is not the one that a secret of the database was stored with: another server may
// have another key, and each could read only what it has stored itself.
func (db *DB) CheckKey(ctx context.Context) error {
	list, err := readAll(ctx, db, (*row).text, selection("SELECT value FROM secrets LIMIT 1"))
	if err != nil || len(list) == 0 || db.key == nil {
		return err
	}
	if _, err := aesgcm.Decrypt(db.key, list[0]); err != nil {
		return fmt.Errorf("read a secret of the database: %w; all its servers must have the same", err)
	}
	return nil
}
