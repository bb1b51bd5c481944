package dynamo

import (
	"context"
	"errors"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// Import adds attempts of another server: see host.Attempts. Each is one transaction.
func (db *DB) Import(ctx context.Context, list ...host.PastAttempt) (added int, err error) {
	for _, p := range list {
		is, err := db.importOne(ctx, p)
		if err != nil {
			return added, err
		}
		if is {
			added++
		}
	}
	return added, nil
}

// importOne adds one attempt, unless its place is taken.
func (db *DB) importOne(ctx context.Context, p host.PastAttempt) (added bool, err error) {
	key := sessionKey(p.Project.ID, p.Workflow.Name, p.SessionTime)
	var tried int64 // the id of the last try
	for try := 0; ; try++ {
		found, err := db.t.GetAll(ctx, []table.Key{key, forgottenKey(key)})
		if err != nil || found[forgottenKey(key)] != nil {
			return false, err
		}
		s := sessionOf(found[key])
		if s.attempts > 0 && s.last == tried {
			return true, nil // a response was lost
		}
		if taken, err := db.taken(ctx, s, p); err != nil || taken {
			return false, err
		}
		tried = db.t.NextID(1)
		actions, err := db.importActions(ctx, p, key, s, tried)
		if err != nil {
			return false, err
		}
		if _, err = db.t.Transact(ctx, actions); !errors.Is(err, table.ErrCondition) {
			return err == nil, err
		}
		if err := table.Pause(ctx, try); err != nil {
			return false, err
		}
	}
}

// taken reports whether a session has an attempt of this name, a later one, or one that started here. After each of
// these, nothing older is imported, so it is the last one.
func (db *DB) taken(ctx context.Context, s session, p host.PastAttempt) (bool, error) {
	if s.attempts == 0 {
		return false, nil
	}
	if s.first == p.RetryName {
		return true, nil
	}
	found, err := db.t.GetAll(ctx, []table.Key{retryKey(s.id, p.RetryName), attemptKey(s.last)})
	if err != nil {
		return false, err
	}
	last := found[attemptKey(s.last)]
	return found[retryKey(s.id, p.RetryName)] != nil || !last.Bool(aImported) || last.Time(aCreated).After(p.CreatedAt), nil
}

func (db *DB) importActions(ctx context.Context, p host.PastAttempt, key table.Key, s session, id int64) ([]table.Action, error) {
	if s.attempts == 0 {
		s.id, s.uuid = id, p.SessionUUID
	}
	row, err := db.attemptItem(ctx, host.Attempt{ID: id, Site: p.Site, SessionID: s.id, SessionUUID: s.uuid, SessionTime: p.SessionTime.UTC(), Project: p.Project, Workflow: p.Workflow,
		Index: int(s.attempts) + 1, RetryName: p.RetryName, Zone: p.Zone, Params: p.Params, CreatedAt: p.CreatedAt})
	if err != nil {
		return nil, err
	}
	delete(row, aListActive)
	row.SetTime(aFinished, p.FinishedAt)
	row.SetBool(aSuccess, p.Success)
	row.SetBool(aCanceled, p.Canceled)
	row.SetBool(aImported, true)
	actions := []table.Action{{Put: row, When: table.Absent()}}
	return append(actions, inSession(key, s, p.RetryName, id)...), nil
}
