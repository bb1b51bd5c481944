package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/operators"
)

// A value of `param_set>`.
//
//	Y#<site>#<hash of the key>   R   value; expires
const (
	aKey   = "ky"
	aValue = "v"
)

// paramLifetime is how long a value is kept after it was set (wire.md 3.7).
const paramLifetime = 90 * 24 * time.Hour

// paramKey returns a key with a hash, because names may be longer than DynamoDB's keys.
func paramKey(site int64, name string) table.Key {
	sum := sha256.Sum256([]byte(name))
	return table.At("Y#"+table.Decimal(site)+"#"+hex.EncodeToString(sum[:]), table.Row)
}

// params holds one site's values.
type params struct {
	t    *table.Table
	site int64
}

// ParamStore returns the store for `param_set>` and `param_get>` of a site.
func (db *DB) ParamStore(site int64) operators.ParamStore { return params{db.t, site} }

// Set stores all values or none: a single value with a put, up to a hundred with a transaction.
func (p params) Set(ctx context.Context, values map[string]string) error {
	if len(values) > table.MaxActions {
		return fmt.Errorf("set %d params: at most %d can be set together", len(values), table.MaxActions)
	}
	var actions []table.Action
	for _, name := range slices.Sorted(maps.Keys(values)) {
		it := paramKey(p.site, name).Item()
		it.SetStr(aKey, name)
		it.SetStr(aValue, values[name])
		it[table.Expiry] = table.Number(p.t.Now().Add(paramLifetime).Unix())
		actions = append(actions, table.Action{Put: it})
	}
	switch len(actions) {
	case 0:
		return nil
	case 1:
		_, err := p.t.Put(ctx, actions[0].Put, table.Where{})
		return err
	}
	_, err := p.t.Transact(ctx, actions)
	return err
}

// Get returns a value, and reports whether an unexpired one exists.
func (p params) Get(ctx context.Context, name string) (string, bool, error) {
	it, err := p.t.Get(ctx, paramKey(p.site, name))
	if err != nil || it == nil || p.t.Expired(it) {
		return "", false, err
	}
	return it.Str(aValue), true, nil
}
