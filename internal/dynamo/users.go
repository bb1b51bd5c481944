package dynamo

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

// A token.
//
//	K#<hash>   R   row; index site (K#<site>, id)
//
// When a user ended their browser sessions.
//
//	Q#<user>   R   row; expires
const (
	aTokenName     = "nm"
	aRole          = "ro"
	aUsed          = "us"
	aTokenEnds     = "te"
	aTokenProjects = "tp"
	aUntil         = "un"
)

func tokenKey(hash []byte) table.Key { return table.At("K#"+hex.EncodeToString(hash), table.Row) }
func tokensOf(site int64) string     { return "K#" + table.Decimal(site) }

func tokenItem(t host.Token) table.Item {
	it := tokenKey(t.Hash).Item()
	it[table.ID], it[aListSite] = table.Number(t.ID), table.Text(tokensOf(t.Site))
	it.SetNum(table.Site, t.Site)
	it.SetStr(aTokenName, t.Name)
	it.SetStr(aRole, t.Role)
	it.SetTime(aCreated, t.CreatedAt)
	it.SetTime(aTokenEnds, t.ExpiresAt)
	it.SetStr(aTokenProjects, host.JoinProjects(t.Projects))
	return it
}

func tokenOf(it table.Item) (host.Token, error) {
	hash, err := hex.DecodeString(it.Str(table.Partition)[len("K#"):])
	return host.Token{ID: it.Num(table.ID), Site: it.Num(table.Site), Name: it.Str(aTokenName), Role: it.Str(aRole), Hash: hash,
		CreatedAt: it.Time(aCreated), ExpiresAt: it.Time(aTokenEnds), LastUsed: it.Time(aUsed), Projects: host.SplitProjects(it.Str(aTokenProjects))}, err
}

// tokens implements host.Users.
type tokens struct{ t *table.Table }

// Create stores a token: see host.Users.
func (db *tokens) Create(ctx context.Context, t host.Token) (host.Token, error) {
	t.ID = db.t.NextID(1)
	there, err := db.t.Put(ctx, tokenItem(t), table.Absent())
	switch {
	case errors.Is(err, table.ErrCondition) && there.Num(table.ID) == t.ID:
		return t, nil // a response was lost: the existing one is ours
	case errors.Is(err, table.ErrCondition):
		return t, host.ErrConflict
	}
	return t, err
}

// List lists a site's tokens.
func (db *tokens) List(ctx context.Context, site int64) ([]host.Token, error) {
	var out []host.Token
	err := db.t.ListOf(env.BySite(), table.Above(0), false, 0, []string{tokensOf(site)}).Rows(ctx, func(rows []table.Item) (bool, error) {
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
func (db *tokens) Revoke(ctx context.Context, site, id int64) error {
	keys, err := db.t.ListOf(env.BySite(), table.Span{From: id, To: id}, false, 1, []string{tokensOf(site)}).Next(ctx, 1)
	if err != nil || len(keys) == 0 {
		return table.OrNotFound(err, "revoke token %d", id)
	}
	if err := db.t.Remove(ctx, keys[0], table.Exists()); errors.Is(err, table.ErrCondition) {
		return table.OrNotFound(nil, "revoke token %d", id)
	} else if err != nil {
		return err
	}
	return nil
}

// useEvery limits the precision with which a token's last use is recorded, and how often it is written.
const useEvery = time.Hour

// ByHash finds a token, and occasionally records that it was used. A failure to record that is ignored.
func (db *tokens) ByHash(ctx context.Context, hash []byte) (host.Token, error) {
	it, err := db.t.Get(ctx, tokenKey(hash))
	if err != nil || it == nil {
		return host.Token{}, table.OrNotFound(err, "read token")
	}
	t, err := tokenOf(it)
	if now := db.t.Now().UTC(); err == nil && now.Sub(t.LastUsed) > useEvery {
		t.LastUsed = now
		_, noted := db.t.Update(ctx, tokenKey(hash), table.Where{Text: "SET #us = :now", Names: []string{aUsed}, Values: table.Item{":now": table.Micros(now)}}, table.Exists())
		if errors.Is(noted, table.ErrCondition) {
			return host.Token{}, table.OrNotFound(nil, "read token") // revoked meanwhile
		}
	}
	return t, err
}

func sessionsKey(who string) table.Key { return table.At("Q#"+who, table.Row) }

// EndSessions records that a user's sessions have ended: see host.Users.
func (db *tokens) EndSessions(ctx context.Context, who string, until, now time.Time) error {
	it := sessionsKey(who).Item()
	it.SetTime(aUntil, until)
	it[table.Expiry] = table.Number(now.Add(host.SessionsKept).Unix())
	_, err := db.t.Put(ctx, it, table.Where{Text: "attribute_not_exists(#p) OR #un < :un", Names: []string{table.Partition, aUntil},
		Values: table.Item{":un": table.Micros(until)}})
	if errors.Is(err, table.ErrCondition) {
		return nil // a later end is recorded
	}
	return err
}

// SessionsEnded returns when a user last ended their sessions.
func (db *tokens) SessionsEnded(ctx context.Context, who string) (time.Time, error) {
	it, err := db.t.Get(ctx, sessionsKey(who))
	if err != nil || it == nil {
		return time.Time{}, err
	}
	return it.Time(aUntil), nil
}
