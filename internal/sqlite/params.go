package sqlite

import (
	"context"
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

// Set stores all values or none, and drops those that are too old.
func (p params) Set(ctx context.Context, values map[string]string) error {
	now := p.db.stamp()
	return p.db.write(ctx, func(c *conn) error {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if _, err := c.exec("INSERT INTO params (site_id, key, value, updated_at) VALUES (?, ?, ?, ?)"+
				" ON CONFLICT (site_id, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at", p.site, key, values[key], now); err != nil {
				return err
			}
		}
		_, err := c.exec("DELETE FROM params WHERE site_id = ? AND updated_at < ?", p.site, now.Add(-paramLifetime))
		return err
	})
}

// Get returns a value, and whether there is one that is not too old.
func (p params) Get(ctx context.Context, key string) (string, bool, error) {
	list, err := readAll(ctx, p.db, (*row).text, selection("SELECT value FROM params WHERE site_id = ? AND key = ? AND updated_at >= ?",
		p.site, key, p.db.stamp().Add(-paramLifetime)))
	if err != nil || len(list) == 0 {
		return "", false, err
	}
	return list[0], true, nil
}
