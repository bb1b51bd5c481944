package sqlstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"zerodag/operators"
)

// paramLifetime is how long a value is kept after it was set (wire.md 3.7).
const paramLifetime = 90 * 24 * time.Hour

// params holds the values of one site.
type params struct {
	store *Store
	site  int64
}

// ParamStore returns the store that `param_set>` and `param_get>` of a site use.
func (s *Store) ParamStore(site int64) operators.ParamStore { return params{s, site} }

// Set stores all values or none, and deletes expired ones.
func (p params) Set(ctx context.Context, values map[string]string) error {
	now := Stamp(p.store.now())
	return p.store.write(ctx, func(t tx) error {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if _, err := t.Exec(t.dialect.SetParam, p.site, key, values[key], now); err != nil {
				return err
			}
		}
		_, err := t.Exec("DELETE FROM @params WHERE site_id = ? AND updated_at < ?", p.site, now.Add(-paramLifetime))
		return err
	})
}

// Get returns an unexpired value, and whether there is one.
func (p params) Get(ctx context.Context, key string) (string, bool, error) {
	list, err := ReadAll(ctx, p.store, (*Row).Text, Select("SELECT value FROM @params WHERE site_id = ?"+
		" AND "+p.store.dialect.ParamKey+" AND updated_at >= ?", p.site, key, Stamp(p.store.now()).Add(-paramLifetime)))
	if err != nil || len(list) == 0 {
		return "", false, err
	}
	return list[0], true, nil
}
