package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"zerodag/engine/param"
	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// maxStarts returns how many attempts one transaction can create: each takes up to five actions, and one more if it is
// Once.
func maxStarts(list []*starting) int {
	if slices.ContainsFunc(list, func(s *starting) bool { return s.Once }) {
		return table.MaxActions / 6
	}
	return table.MaxActions / 5
}

// starting is one new attempt with the data that its actions depend on.
type starting struct {
	host.NewAttempt
	row     host.Attempt
	key     table.Key // of the session
	session session   // as it was read; without attempts if it does not exist yet
}

// Start creates attempts: see host.Attempts. Up to about 20 of them need one transaction. For a longer list, the
// waiting attempts are written first, from last to first, and removed again if one conflicts. A process that ends in
// between leaves attempts that wait for a session that never existed.
//
// For a single attempt nothing is read first: the condition is that its session is new, and the refusal returns the
// existing session.
func (db *DB) Start(ctx context.Context, list ...host.NewAttempt) ([]host.Attempt, error) {
	starts, err := db.planStart(list)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		if len(starts) > 1 || try > 0 {
			if err := db.readSessions(ctx, starts); err != nil {
				return nil, err
			}
		}
		there, err := db.startAll(ctx, starts)
		if err == nil {
			return db.started(ctx, starts)
		}
		if errors.Is(err, errTaken) {
			if starts, err = db.planStart(list); err != nil {
				return nil, err
			}
			continue
		}
		if !errors.Is(err, table.ErrCondition) {
			return there, err
		}
		if err := table.Pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// planStart assigns all ids.
func (db *DB) planStart(list []host.NewAttempt) ([]*starting, error) {
	first, seen := db.t.NextID(len(list)), map[table.Key]bool{}
	var starts []*starting
	for i, n := range list {
		if n.Params == nil {
			n.Params = param.New()
		}
		s := &starting{NewAttempt: n, key: sessionKey(n.Project.ID, n.Workflow.Name, n.SessionTime)}
		if seen[s.key] || n.WaitsFor >= i {
			return nil, fmt.Errorf("start attempt of %s %v: a list must contain one attempt of each session, and each must wait for an earlier one", n.Workflow.Name, n.SessionTime)
		}
		seen[s.key] = true
		id := first + int64(i)
		s.row = host.Attempt{ID: id, Site: n.Site, SessionID: id, SessionUUID: host.NewUUID(), SessionTime: n.SessionTime.UTC(), Project: n.Project, Workflow: n.Workflow,
			Index: 1, RetryName: n.RetryName, Zone: n.Zone, Params: n.Params, CreatedAt: n.CreatedAt, StartsAt: n.StartsAt, Labels: n.Labels}
		if n.WaitsFor >= 0 {
			s.row.AfterSession = starts[n.WaitsFor].row.SessionID
		}
		starts = append(starts, s)
	}
	return starts, nil
}

// readSessions finds out which sessions exist, and assigns the attempts to them.
func (db *DB) readSessions(ctx context.Context, starts []*starting) error {
	var keys []table.Key
	for _, s := range starts {
		keys = append(keys, s.key)
	}
	found, err := db.t.GetAll(ctx, keys)
	if err != nil {
		return err
	}
	for _, s := range starts {
		if it := found[s.key]; it != nil {
			s.session = sessionOf(it)
			s.row.SessionID, s.row.SessionUUID, s.row.Index = s.session.id, s.session.uuid, int(s.session.attempts)+1
		}
		if s.WaitsFor >= 0 {
			s.row.AfterSession = starts[s.WaitsFor].row.SessionID
		}
	}
	return nil
}

// startAll writes all of a list or none. It returns ErrCondition if the data that was read has changed.
func (db *DB) startAll(ctx context.Context, starts []*starting) ([]host.Attempt, error) {
	for _, s := range starts {
		if s.session.attempts > 0 && s.session.first == s.RetryName {
			return db.inTheWay(ctx, s, s.session.id)
		}
		if s.session.attempts > 0 && s.New {
			return db.notNew(ctx, s)
		}
	}
	parts := slices.Collect(slices.Chunk(starts, maxStarts(starts)))
	for i := len(parts) - 1; i >= 0; i-- {
		there, err := db.startPart(ctx, parts[i])
		if err != nil {
			for _, written := range parts[i+1:] {
				err = errors.Join(err, db.takeBack(context.WithoutCancel(ctx), written))
			}
			return there, err
		}
	}
	return nil, nil
}

// inTheWay returns the attempt that a start conflicts with: the attempt with the same name or, if the start has no
// name, the session's last attempt.
func (db *DB) inTheWay(ctx context.Context, s *starting, named int64) ([]host.Attempt, error) {
	if s.RetryName == "" {
		named = s.session.last
	}
	a, err := db.Attempt(ctx, host.AnySite, named)
	if err != nil {
		return nil, err
	}
	return []host.Attempt{a}, host.ErrConflict
}

// notNew is inTheWay for a session that had to be new.
func (db *DB) notNew(ctx context.Context, s *starting) ([]host.Attempt, error) {
	named, err := db.t.Get(ctx, retryKey(s.session.id, s.RetryName))
	switch {
	case err != nil:
		return nil, err
	case named == nil:
		return db.inTheWay(ctx, s, s.session.last)
	}
	return db.inTheWay(ctx, s, named.Num(table.ID))
}

func (db *DB) startPart(ctx context.Context, part []*starting) ([]host.Attempt, error) {
	var actions []table.Action
	var of []*starting // by action
	for _, s := range part {
		list, err := db.startActions(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			actions, of = append(actions, a), append(of, s)
		}
	}
	inTheWay, err := db.t.Transact(ctx, actions)
	if !errors.Is(err, table.ErrCondition) {
		return nil, err
	}
	forgotten := true // no other conflict was found
	for _, m := range inTheWay {
		s := of[m.At]
		forgotten = forgotten && actions[m.At].Check == forgottenKey(s.key)
		switch {
		case m.Item.Str(aUUID) == s.row.SessionUUID && (m.Item.Num(aLast) == s.row.ID || m.Item.Num(table.ID) == s.row.ID && m.Item.Has(aSessionTime)):
			return nil, nil // a response was lost: the existing one is ours
		case m.Item.Num(table.ID) == s.row.ID && m.Item.Has(aSessionTime):
			return nil, errTaken
		case actions[m.At].Put[table.Sort] != nil && table.KeyOf(actions[m.At].Put) == retryKey(s.session.id, s.RetryName):
			return db.inTheWay(ctx, s, m.Item.Num(table.ID))
		}
	}
	if forgotten {
		return nil, host.ErrForgotten
	}
	return nil, table.ErrCondition
}

// errTaken means that another process chose the same id in the same millisecond.
var errTaken = errors.New("id is taken")

// startActions returns the actions that create one attempt. None of them touches its project, because otherwise all
// starts of a project would conflict.
func (db *DB) startActions(ctx context.Context, s *starting) ([]table.Action, error) {
	row, err := db.attemptItem(ctx, s.row)
	if err != nil {
		return nil, err
	}
	actions := []table.Action{{Put: row, When: table.Absent()}}
	now := s.session
	if now.attempts == 0 {
		now.id, now.uuid = s.row.ID, s.row.SessionUUID
	}
	actions = append(actions, inSession(s.key, now, s.RetryName, s.row.ID)...)
	if s.Once {
		actions = append(actions, table.Action{Check: forgottenKey(s.key), When: table.Absent()})
	}
	if s.WaitsFor >= 0 {
		it := waitKey(s.row.AfterSession, s.row.ID).Item()
		it[table.ID] = table.Number(s.row.ID)
		return append(actions, table.Action{Put: it}), nil
	}
	first, err := db.entryItem(ctx, s.row.ID, s.First, 0)
	if err == nil && !s.StartsAt.IsZero() {
		first[table.Expiry] = table.Number(db.t.Expiry(s.row.ID, s.StartsAt)) // no other entry is written before that
	}
	maps.Copy(row, firstAttributes(first))
	return actions, err
}

// inSession returns the actions that make an attempt the last one of its session, which was read as s; it has the id
// and UUID of a session without attempts, which does not exist yet.
func inSession(key table.Key, s session, name string, id int64) []table.Action {
	if s.attempts == 0 {
		s.attempts, s.first, s.last = 1, name, id
		return []table.Action{{Put: s.item(key), When: table.Absent()}}
	}
	return []table.Action{
		{Put: retryItem(s.id, name, id), When: table.Absent()},
		{Update: key,
			Change: table.Where{Text: "SET #n = :next, #la = :id", Names: []string{aLast, aAttempts}, Values: table.Item{":next": table.Number(s.attempts + 1), ":id": table.Number(id)}},
			When:   table.Where{Text: "#n = :n", Names: []string{aAttempts}, Values: table.Item{":n": table.Number(s.attempts)}}},
		{Update: attemptKey(s.last), Change: table.Where{Text: "SET #rt = :yes", Names: []string{aRetried}, Values: table.Item{":yes": table.Yes()}}, When: table.Exists()},
	}
}

// takeBack undoes the started part of a list whose start failed.
func (db *DB) takeBack(ctx context.Context, part []*starting) error {
	var failed error
	for _, s := range part {
		actions := []table.Action{{Delete: attemptKey(s.row.ID)}, {Delete: waitKey(s.row.AfterSession, s.row.ID)}}
		mine := table.Where{Text: "#la = :id", Names: []string{aLast}, Values: table.Item{":id": table.Number(s.row.ID)}}
		if s.session.attempts == 0 {
			actions = append(actions, table.Action{Delete: s.key, When: mine})
		} else {
			back := table.Where{Text: "SET #la = :last", Names: []string{aLast}, Values: table.Item{":last": table.Number(s.session.last)}}
			last := table.Where{Text: "REMOVE #rt", Names: []string{aRetried}}
			actions = append(actions, table.Action{Update: s.key, Change: back, When: mine}, table.Action{Delete: retryKey(s.session.id, s.RetryName)},
				table.Action{Update: attemptKey(s.session.last), Change: last, When: table.Exists()})
		}
		if _, err := db.t.Transact(ctx, actions); err != nil && !errors.Is(err, table.ErrCondition) {
			failed = errors.Join(failed, fmt.Errorf("undo attempt %d: %w", s.row.ID, err))
		}
	}
	return failed
}

// started sends the first messages. The attempts exist whatever happens now: if a message is lost, the check of young
// attempts sends it again.
func (db *DB) started(ctx context.Context, starts []*starting) ([]host.Attempt, error) {
	var made []host.Attempt
	var messages []host.Message
	for _, s := range starts {
		made = append(made, s.row)
		if s.WaitsFor < 0 {
			db.tails.note(s.row.ID, tail{1, snapshotAtFirst(s.First)})
			messages = append(messages, firstMessage(s.row.ID, s.Message))
		}
	}
	if len(messages) == 0 {
		return made, nil
	}
	if err := db.events.Send(ctx, messages...); err != nil {
		return made, fmt.Errorf("send first message of attempt %d: %w", made[0].ID, err)
	}
	return made, nil
}

func snapshotAtFirst(e host.Entry) int64 {
	if e.Snapshot != nil {
		return 1
	}
	return 0
}

func firstMessage(attempt int64, m host.Message) host.Message {
	m.Group = table.Decimal(attempt)
	m.ID = m.Group + "/" + m.ID
	return m
}

// Begin starts an attempt that waited: see host.Attempts.
func (db *DB) Begin(ctx context.Context, attempt int64, first host.Entry, m host.Message) error {
	a, err := db.Attempt(ctx, host.AnySite, attempt)
	if err != nil {
		return err
	}
	if a.AfterSession == 0 || a.Done {
		return host.ErrConflict
	}
	entry, err := db.entryItem(ctx, attempt, first, 0)
	if err != nil {
		return err
	}
	change := table.Where{Values: table.Item{}}
	for name, v := range firstAttributes(entry) {
		change.Text += ", #" + name + " = :" + name
		change.Names = append(change.Names, name)
		change.Values[":"+name] = v
	}
	change.Text = "SET " + change.Text[2:] + " REMOVE #wt"
	_, err = db.t.Transact(ctx, []table.Action{{Delete: waitKey(a.AfterSession, attempt)}, {Update: attemptKey(attempt), Change: change,
		When: table.Where{Text: "attribute_exists(#wt) AND attribute_not_exists(#f)", Names: []string{aWaits, aFinished}}}})
	if errors.Is(err, table.ErrCondition) {
		return host.ErrConflict
	}
	if err != nil {
		return err
	}
	db.tails.note(attempt, tail{1, snapshotAtFirst(first)})
	return db.events.Send(ctx, firstMessage(attempt, m))
}
