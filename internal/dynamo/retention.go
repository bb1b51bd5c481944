package dynamo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

// The blobs of a forgotten attempt. They are recorded together with the deletion of its row, and the record is deleted
// with the blobs, so that after a crash in between the blobs can still be found. Log entries after the first, and their
// blobs, expire automatically.
//
//	G   <attempt>   row
const aBlobs = "bl" // keys, a line each

func remainsKey(attempt int64) table.Key { return table.At("G", table.Ordered(attempt)) }

// Old lists attempts that were created before t: see host.Retention.
func (db *DB) Old(ctx context.Context, t time.Time, after int64, n int) ([]host.Attempt, error) {
	sites, err := allSites(ctx, db.t)
	if err != nil {
		return nil, err
	}
	var partitions []string
	for _, site := range sites {
		partitions = append(partitions, table.ByShard(func(s int64) string { return siteList(site, s) })...)
	}
	s := table.Span{From: after + 1, To: table.IDAt(t) - 1}
	if s.From > s.To {
		return nil, nil
	}
	var out []host.Attempt
	err = db.t.ListOf(env.BySite(), s, false, n, partitions).Rows(ctx, func(rows []table.Item) (bool, error) {
		for _, it := range rows {
			out = append(out, rowOf(it, nil)) // large parameters would need a call for each attempt
		}
		return n > 0 && len(out) >= n, nil
	})
	return upTo(out, n), err
}

// forgotAtOnce is how many attempts one transaction removes: each takes up to three actions,
// and the session takes two.
const forgotAtOnce = 30

// Forget removes a session: see host.Retention.
func (db *DB) Forget(ctx context.Context, site, session int64, t time.Time, clear func(context.Context, []host.Attempt) error) (bool, error) {
	first, err := db.t.Get(ctx, attemptKey(session))
	if err != nil || first == nil {
		return false, err
	}
	// The row of the session is read before its attempts are checked: an attempt that starts later changes the row, and
	// then nothing is removed.
	k := keyOfSession(rowOf(first, nil))
	it, err := db.t.Get(ctx, k)
	if err != nil || it == nil {
		return false, err
	}
	rows, list, err := db.going(ctx, site, session, t)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	if rows[len(rows)-1].Num(table.ID) != it.Num(aLast) {
		return false, nil // an attempt was started meanwhile: the next round checks the session again
	}
	same := table.Where{Text: "#n = :n AND #la = :la", Names: []string{aAttempts, aLast}, Values: table.Item{":n": it[aAttempts], ":la": it[aLast]}}
	middle := rows[1:max(1, len(rows)-1)]
	ends := append([]table.Item{rows[0]}, rows[1+len(middle):]...)
	if len(rows) <= forgotAtOnce {
		middle, ends = nil, rows
	}
	// The mark is written with the first deletion: from then on, nothing else records the retry names of the removed
	// attempts.
	mark := []table.Action{{Put: forgottenKey(k).Item()}}
	for part := range slices.Chunk(middle, forgotAtOnce) {
		if gone, err := db.forget(ctx, part, append(mark, table.Action{Check: k, When: same})...); !gone {
			return false, err
		}
		mark = nil
	}
	gone, err := db.forget(ctx, ends, append(mark, table.Action{Delete: k, When: same})...)
	if gone && clear != nil {
		err = errors.Join(err, clear(ctx, list))
	}
	return gone, err
}

// forget removes rows if the session has not changed since it was read, and then their blobs. An error about blobs is
// returned together with true.
func (db *DB) forget(ctx context.Context, rows []table.Item, session ...table.Action) (bool, error) {
	actions := session
	var remains []table.Item
	for _, it := range rows {
		id := it.Num(table.ID)
		actions = append(actions, table.Action{Delete: attemptKey(id)})
		if id != it.Num(aSession) {
			actions = append(actions, table.Action{Delete: retryKey(it.Num(aSession), it.Str(aRetryName))})
		}
		var blobs []string
		for _, name := range []string{aParamsBlob, aArchiveBlob, aShortBlob} {
			if blob := it.Str(name); blob != "" {
				blobs = append(blobs, blob)
			}
		}
		if len(blobs) > 0 {
			left := remainsKey(id).Item()
			left.SetStr(aBlobs, strings.Join(blobs, "\n"))
			actions, remains = append(actions, table.Action{Put: left}), append(remains, left)
		}
	}
	if _, err := db.t.Transact(ctx, actions); err != nil {
		if errors.Is(err, table.ErrCondition) {
			err = nil // the session was started again, or another process was faster
		}
		return false, err
	}
	return true, db.clear(ctx, remains)
}

// going reads a session's rows, ascending by id, if all of them may be removed; it returns none if one must stay.
func (db *DB) going(ctx context.Context, site, session int64, t time.Time) ([]table.Item, []host.Attempt, error) {
	rows, err := db.attemptsOfSession(ctx, session)
	if err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	slices.Reverse(rows)
	var list []host.Attempt
	for _, it := range rows {
		if !it.Has(aFinished) || !it.Time(aFinished).Before(t) || it.Num(table.Site) != site {
			return nil, nil, nil
		}
		list = append(list, rowOf(it, nil))
	}
	if !list[0].SessionTime.Before(t) {
		return nil, nil, nil
	}
	waiting, err := db.t.Find(ctx, table.Query{Limit: 1, Where: table.Where{Text: "#p = :p", Names: []string{table.Partition}, Values: table.Item{":p": table.Text(waitKey(session, 0).Partition)}}})
	if err != nil || len(waiting) > 0 {
		return nil, nil, err
	}
	if over, err := db.nextIsOver(ctx, list[0]); err != nil || !over {
		return nil, nil, err
	}
	if ahead, err := db.scheduled(ctx, list[0]); err != nil || ahead {
		return nil, nil, err
	}
	return rows, list, nil
}

// nextIsOver reports whether the session after that of an attempt has ended.
func (db *DB) nextIsOver(ctx context.Context, a host.Attempt) (bool, error) {
	own := keyOfSession(a)
	next, err := db.t.Find(ctx, table.Query{Limit: 1, Where: table.Where{Text: "#p = :p AND #s > :s", Names: []string{table.Partition, table.Sort},
		Values: table.Item{":p": table.Text(own.Partition), ":s": table.Text(own.Sort)}}})
	if err != nil || len(next) == 0 {
		return false, err
	}
	last, err := db.t.Get(ctx, attemptKey(next[0].Num(aLast)))
	return last.Has(aFinished), err
}

// scheduled reports whether the schedule of an attempt's workflow, disabled or not, has not passed its session yet. It
// reads the ids that a push may have chosen for the schedule, because an index may lag.
func (db *DB) scheduled(ctx context.Context, a host.Attempt) (bool, error) {
	for n := 0; ; n++ {
		it, err := db.t.Get(ctx, scheduleKey(scheduleID(a.Project.ID, a.Workflow.Name, n)))
		if err != nil || it == nil {
			return false, err
		}
		if s := scheduleOf(it); s.Project.ID == a.Project.ID && s.Workflow.Name == a.Workflow.Name {
			return !a.SessionTime.Before(s.Times.Session), nil
		}
	}
}

// Clear removes blobs that an interrupted Forget left behind.
func (db *DB) Clear(ctx context.Context) error {
	list, err := db.t.Find(ctx, table.Query{Where: table.Where{Text: "#p = :p", Names: []string{table.Partition}, Values: table.Item{":p": table.Text(remainsKey(0).Partition)}}})
	if err != nil {
		return err
	}
	return db.clear(ctx, list)
}

func (db *DB) clear(ctx context.Context, remains []table.Item) error {
	for _, it := range remains {
		for blob := range strings.SplitSeq(it.Str(aBlobs), "\n") {
			if err := db.t.Blobs.Delete(ctx, blob); err != nil {
				return err
			}
		}
		if err := db.t.Remove(ctx, table.KeyOf(it), table.Where{}); err != nil {
			return err
		}
	}
	return nil
}

// SetArchive implements host.Retention.
func (db *DB) SetArchive(ctx context.Context, r host.Revision, old, state host.ArchiveState) error {
	when := table.Where{Text: "attribute_exists(#p) AND ", Names: []string{table.Partition, aRevKept}, Values: table.Item{}}
	if text := old.Text(); text == "" {
		when.Text += "attribute_not_exists(#rk)"
	} else {
		when.Text += "#rk = :old"
		when.Values.SetStr(":old", text)
	}
	change := table.Where{Text: "REMOVE #rk"}
	if text := state.Text(); text != "" {
		change = table.Where{Text: "SET #rk = :new", Values: table.Item{}}
		change.Values.SetStr(":new", text)
	}
	there, err := db.t.Update(ctx, revisionKey(r.ProjectID, r.ID), change, when)
	switch {
	case !errors.Is(err, table.ErrCondition):
		return err
	case there == nil:
		return table.OrNotFound(nil, "update the state of the archive of revision %d", r.ID)
	case there.Str(aRevKept) == state.Text():
		return nil // a response was lost
	}
	return host.ErrConflict
}

// ForgetRecords implements host.Retention.
func (db *DB) ForgetRecords(ctx context.Context, t time.Time, n int) (int, error) {
	sites, err := allSites(ctx, db.t)
	if err != nil {
		return 0, err
	}
	gone := 0
	for _, site := range sites {
		list, err := db.t.Find(ctx, table.Query{Limit: n - gone, Where: table.Where{Text: "#p = :p AND #s < :to", Names: []string{table.Partition, table.Sort},
			Values: table.Item{":p": table.Text(auditKey(site, 0).Partition), ":to": table.Text(table.Ordered(table.IDAt(t)))}}})
		if err != nil {
			return gone, err
		}
		var keys []table.Key
		for _, it := range list {
			keys = append(keys, table.KeyOf(it))
		}
		if err := db.t.DeleteAll(ctx, keys); err != nil {
			return gone, err
		}
		if gone += len(keys); gone >= n {
			break
		}
	}
	return gone, nil
}
