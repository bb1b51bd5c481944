package sqlstore

import (
	"context"

	"zerodag/internal/host"
)

// MaxSeq is the highest number of an entry.
const MaxSeq = 1<<24 - 1

func scanEntry(r *Row) host.Entry {
	return host.Entry{Seq: r.ID() & MaxSeq, Nonce: r.Text(), At: r.Time(), Changes: r.Blob(), Events: r.Blob(),
		Snapshot: r.Blob()}
}

// Load reads the entries needed to restore the newest state: see host.Log. It omits events. A single statement sees a
// consistent state, so no entry is missing between a snapshot and the rest.
func (s *Store) Load(ctx context.Context, attempt int64) (host.Stored, error) {
	var list []host.Entry
	err := s.driver.Read(ctx, func(c Conn) (err error) {
		list, err = Collect(c, scanEntry, s.dialect.Log.Load, attempt)
		return err
	})
	if err != nil || len(list) == 0 {
		return host.Stored{}, OrNotFound(err, "load attempt %d", attempt)
	}
	if newest := list[0]; newest.Snapshot != nil {
		return host.Stored{Snapshot: newest.Snapshot, At: newest.Seq, Nonce: newest.Nonce, Entries: list[1:]}, nil
	}
	return host.Stored{Entries: list}, nil
}

// History reads a part of a log: see host.Log.
func (s *Store) History(ctx context.Context, attempt int64, first int64, n int) (host.Stored, error) {
	first = min(max(first, 1), MaxSeq)
	var part host.Stored
	err := s.driver.Read(ctx, func(c Conn) error {
		part = host.Stored{}
		exists, err := s.hasLog(c, attempt)
		if err != nil || !exists {
			return OrNotFound(err, "read history of attempt %d", attempt)
		}
		if err := c.Query(func(r *Row) { part.At, part.Snapshot = r.ID()&MaxSeq, r.Blob() }, s.dialect.Log.Before, attempt,
			first); err != nil {
			return err
		}
		part.Entries, err = Collect(c, scanEntry, s.dialect.Log.Entries, attempt, first, n)
		return err
	})
	return part, err
}

// hasLog reports whether an attempt has a log.
func (s *Store) hasLog(c Conn, attempt int64) (bool, error) {
	_, exists, err := One(c, (*Row).ID, s.dialect.Log.Exists, attempt)
	return exists, err
}
