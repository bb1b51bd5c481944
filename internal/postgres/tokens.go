package postgres

import (
	"context"
	"time"

	"zerodag/internal/host"
)

// useEvery bounds how exactly it is known when a token was used last, and how often that
// is written.
const useEvery = time.Minute

const selectToken = "SELECT id, site_id, name, role, token_hash, created_at, last_used_at FROM tokens " // #nosec G101 -- it is a query, and only hashes are stored

func scanToken(r *row) host.Token {
	return host.Token{ID: r.id(), Site: r.id(), Name: r.text(), Role: r.text(), Hash: r.blob(), CreatedAt: r.time(), LastUsed: r.time()}
}

// Create stores a token: see host.Users.
func (db *DB) Create(ctx context.Context, t host.Token) (host.Token, error) {
	err := db.write(ctx, func(c *conn) (err error) {
		t.ID, err = c.insert("INSERT INTO tokens (site_id, name, role, token_hash, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (token_hash) DO NOTHING RETURNING id",
			t.Site, t.Name, t.Role, t.Hash, t.CreatedAt)
		if err == nil && t.ID == 0 {
			err = host.ErrConflict
		}
		return err
	})
	return t, err
}

// List lists the tokens of a site.
func (db *DB) List(ctx context.Context, site int64) ([]host.Token, error) {
	return readAll(ctx, db, scanToken, selection(selectToken+"WHERE site_id = ? ORDER BY id", site))
}

// Revoke deletes a token.
func (db *DB) Revoke(ctx context.Context, site, id int64) error {
	return db.write(ctx, func(c *conn) error {
		n, err := c.exec("DELETE FROM tokens WHERE site_id = $1 AND id = $2", site, id)
		if err != nil || n == 0 {
			return orNotFound(err, "revoke token %d", id)
		}
		return nil
	})
}

// ByHash finds a token. That it was used is written once in a while, and no reason to fail.
func (db *DB) ByHash(ctx context.Context, hash []byte) (host.Token, error) {
	t, err := readOne(ctx, db, scanToken, selection(selectToken+"WHERE token_hash = ?", hash))
	if now := db.stamp(); err == nil && now.Sub(t.LastUsed) > useEvery {
		t.LastUsed = now
		db.alone(ctx, func(c *conn) error { //nolint:errcheck // when a token was last used is no reason to fail
			_, err := c.exec("UPDATE tokens SET last_used_at = $1 WHERE id = $2", now, t.ID)
			return err
		})
	}
	return t, err
}
