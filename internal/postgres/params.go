package postgres

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"zerodag/operators"
)

// paramLifetime is how long a value is kept after it was set (wire.md 3.7).
const paramLifetime = 90 * 24 * time.Hour

// params are those of one site.
type params struct {
	db   *DB
	site int64
}

// ParamStore returns what `param_set>` and `param_get>` of a site use.
func (db *DB) ParamStore(site int64) operators.ParamStore { return params{db, site} }

// digest is what a key is found by.
func digest(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// Set stores all values or none, and drops those that are too old.
func (p params) Set(ctx context.Context, values map[string]string) error {
	now := p.db.stamp()
	return p.db.write(ctx, func(c *conn) error {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if _, err := c.exec("INSERT INTO params (site_id, key_digest, key, value, updated_at) VALUES ($1, $2, $3, $4, $5)"+
				" ON CONFLICT (site_id, key_digest) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at", p.site, digest(key), key, values[key], now); err != nil {
				return err
			}
		}
		_, err := c.exec("DELETE FROM params WHERE site_id = $1 AND updated_at < $2", p.site, now.Add(-paramLifetime))
		return err
	})
}

// Get returns a value, and whether there is one that is not too old.
func (p params) Get(ctx context.Context, key string) (string, bool, error) {
	list, err := readAll(ctx, p.db, (*row).text, selection("SELECT value FROM params WHERE site_id = ? AND key_digest = ? AND updated_at >= ?",
		p.site, digest(key), p.db.stamp().Add(-paramLifetime)))
	if err != nil || len(list) == 0 {
		return "", false, err
	}
	return list[0], true, nil
}
