package dynamo

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"zerodag/internal/env"
	"zerodag/internal/host"
)

// A token.
//
//	K#<hash>   R   row; index site (K#<site>, id)
const (
	aTokenName = "nm"
	aRole      = "ro"
	aUsed      = "us"
)

func tokenKey(hash []byte) key   { return key{"K#" + hex.EncodeToString(hash), row} }
func tokensOf(site int64) string { return "K#" + decimal(site) }

func tokenItem(t host.Token) item {
	it := tokenKey(t.Hash).item()
	it[aID], it[aListSite] = number(t.ID), text(tokensOf(t.Site))
	it.setNum(aSite, t.Site)
	it.setStr(aTokenName, t.Name)
	it.setStr(aRole, t.Role)
	it.setTime(aCreated, t.CreatedAt)
	return it
}

func tokenOf(it item) (host.Token, error) {
	hash, err := hex.DecodeString(it.str(aPartition)[len("K#"):])
	return host.Token{ID: it.num(aID), Site: it.num(aSite), Name: it.str(aTokenName), Role: it.str(aRole), Hash: hash, CreatedAt: it.time(aCreated), LastUsed: it.time(aUsed)}, err
}

// Create stores a token: see host.Users.
func (db *DB) Create(ctx context.Context, t host.Token) (host.Token, error) {
	t.ID = db.ids.next(1)
	there, err := db.put(ctx, tokenItem(t), absent())
	switch {
	case errors.Is(err, errCondition) && there.num(aID) == t.ID:
		return t, nil // an answer was lost: it is our own
	case errors.Is(err, errCondition):
		return t, host.ErrConflict
	}
	return t, err
}

// List lists the tokens of a site.
func (db *DB) List(ctx context.Context, site int64) ([]host.Token, error) {
	var out []host.Token
	err := db.listOf(env.BySite(), above(0), false, 0, []string{tokensOf(site)}).rows(ctx, func(rows []item) (bool, error) {
		for _, it := range rows {
			t, err := tokenOf(it)
			if err != nil {
				return false, err
			}
			out = append(out, t)
		}
		return false, nil
	})
	return out, err
}

// Revoke deletes a token.
func (db *DB) Revoke(ctx context.Context, site, id int64) error {
	keys, err := db.listOf(env.BySite(), span{id, id}, false, 1, []string{tokensOf(site)}).next(ctx, 1)
	if err != nil || len(keys) == 0 {
		return orNotFound(err, "revoke token %d", id)
	}
	if err := db.remove(ctx, keys[0], exists()); errors.Is(err, errCondition) {
		return orNotFound(nil, "revoke token %d", id)
	} else if err != nil {
		return err
	}
	return nil
}

// useEvery bounds how exactly it is known when a token was used last, and how often that
// is written.
const useEvery = time.Hour

// ByHash finds a token, and notes now and then that it is used. That note is not worth
// failing for.
func (db *DB) ByHash(ctx context.Context, hash []byte) (host.Token, error) {
	it, err := db.get(ctx, tokenKey(hash))
	if err != nil || it == nil {
		return host.Token{}, orNotFound(err, "read token")
	}
	t, err := tokenOf(it)
	if now := db.now().UTC(); err == nil && now.Sub(t.LastUsed) > useEvery {
		t.LastUsed = now
		_, noted := db.update(ctx, tokenKey(hash), where{text: "SET #us = :now", names: []string{aUsed}, values: item{":now": micros(now)}}, exists())
		if errors.Is(noted, errCondition) {
			return host.Token{}, orNotFound(nil, "read token") // revoked meanwhile
		}
	}
	return t, err
}
