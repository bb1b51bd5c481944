package sqlstore

import (
	"context"
	"time"

	"zerodag/internal/host"
)

// useEvery is the precision of the time at which a token was last used, and limits how often that time is written.
const useEvery = time.Minute

// #nosec G101 -- it is a query, and only hashes are stored
const selectToken = "SELECT id, site_id, name, role, token_hash, created_at, expires_at, last_used_at, projects FROM @tokens "

func scanToken(r *Row) host.Token {
	return host.Token{ID: r.ID(), Site: r.ID(), Name: r.Text(), Role: r.Text(), Hash: r.Blob(),
		CreatedAt: r.Time(), ExpiresAt: r.Time(), LastUsed: r.Time(), Projects: host.SplitProjects(r.Text())}
}

// Create stores a token: see host.Users.
func (s *Store) Create(ctx context.Context, t host.Token) (host.Token, error) {
	err := s.acknowledge(ctx, func(x tx) (err error) {
		t.ID, err = x.Insert("INSERT INTO @tokens (site_id, name, role, token_hash, created_at, expires_at, projects)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (token_hash) DO NOTHING",
			t.Site, t.Name, t.Role, t.Hash, t.CreatedAt, t.ExpiresAt, host.JoinProjects(t.Projects))
		if err == nil && t.ID == 0 {
			err = host.ErrConflict
		}
		return err
	})
	return t, err
}

// List lists a site's tokens.
func (s *Store) List(ctx context.Context, site int64) ([]host.Token, error) {
	return ReadAll(ctx, s, scanToken, Select(selectToken+"WHERE site_id = ? ORDER BY id", site))
}

// Revoke deletes a token.
func (s *Store) Revoke(ctx context.Context, site, id int64) error {
	return s.acknowledge(ctx, func(t tx) error {
		n, err := t.Exec("DELETE FROM @tokens WHERE site_id = ? AND id = ?", site, id)
		if err != nil || n == 0 {
			return OrNotFound(err, "revoke token %d", id)
		}
		return nil
	})
}

// ByHash finds a token. It occasionally records that the token was used, and does not fail if it cannot do so.
func (s *Store) ByHash(ctx context.Context, hash []byte) (host.Token, error) {
	t, err := ReadOne(ctx, s, scanToken, Select(selectToken+"WHERE token_hash = ?", hash))
	if now := Stamp(s.now()); err == nil && now.Sub(t.LastUsed) > useEvery {
		t.LastUsed = now
		s.driver.Note(ctx, func(c Conn) error {
			_, err := c.Exec("UPDATE @tokens SET last_used_at = ? WHERE id = ?", now, t.ID)
			return err
		})
	}
	return t, err
}

// EndSessions records that a user's sessions have ended, and removes records that are no longer needed: see host.Users.
func (s *Store) EndSessions(ctx context.Context, who string, until, now time.Time) error {
	return s.acknowledge(ctx, func(t tx) error {
		if _, err := t.Exec("DELETE FROM @ended_sessions WHERE forget_at < ?", now); err != nil {
			return err
		}
		_, err := t.Exec("INSERT INTO @ended_sessions (who, until, forget_at) VALUES (?, ?, ?) ON CONFLICT (who) DO UPDATE"+
			" SET until = excluded.until, forget_at = excluded.forget_at WHERE ended_sessions.until < excluded.until",
			who, until, now.Add(host.SessionsKept))
		return err
	})
}

// SessionsEnded returns when a user last ended their sessions.
func (s *Store) SessionsEnded(ctx context.Context, who string) (time.Time, error) {
	list, err := ReadAll(ctx, s, (*Row).Time, Select("SELECT until FROM @ended_sessions WHERE who = ?", who))
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	return list[0], nil
}
