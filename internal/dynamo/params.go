package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

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

// paramKey has a hash, since keys may be longer than DynamoDB's.
func paramKey(site int64, name string) key {
	sum := sha256.Sum256([]byte(name))
	return key{"Y#" + decimal(site) + "#" + hex.EncodeToString(sum[:]), row}
}

// params are those of one site.
type params struct {
	db   *DB
	site int64
}

// ParamStore returns what `param_set>` and `param_get>` of a site use.
func (db *DB) ParamStore(site int64) operators.ParamStore { return params{db, site} }

// Set stores all values or none: one is a put, up to a hundred are a transaction.
func (p params) Set(ctx context.Context, values map[string]string) error {
	if len(values) > maxActions {
		return fmt.Errorf("set %d params: at most %d can be set together", len(values), maxActions)
	}
	var actions []action
	for _, name := range slices.Sorted(maps.Keys(values)) {
		it := paramKey(p.site, name).item()
		it.setStr(aKey, name)
		it.setStr(aValue, values[name])
		it[aExpiry] = number(p.db.now().Add(paramLifetime).Unix())
		actions = append(actions, action{put: it})
	}
	switch len(actions) {
	case 0:
		return nil
	case 1:
		_, err := p.db.put(ctx, actions[0].put, where{})
		return err
	}
	_, err := p.db.transact(ctx, actions)
	return err
}

// Get returns a value, and whether there is one that is not too old.
func (p params) Get(ctx context.Context, name string) (string, bool, error) {
	it, err := p.db.get(ctx, paramKey(p.site, name))
	if err != nil || it == nil || p.db.expired(it) {
		return "", false, err
	}
	return it.str(aValue), true, nil
}
