package dynamo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"zerodag/internal/env"
	"zerodag/internal/host"
)

// What an attempt that was forgotten has among the blobs. It is written with the deletion of its row, and
// deleted when the blobs are: a process that ends in between leaves nothing that nobody finds again.
// Entries of logs from the second on, and their blobs, expire by themselves.
//
//	G   <attempt>   row
const aBlobs = "bl" // keys, a line each

func remainsKey(attempt int64) key { return key{"G", ordered(attempt)} }

// Old lists attempts that were made before t: see host.Retention.
func (db *DB) Old(ctx context.Context, t time.Time, after int64, n int) ([]host.Attempt, error) {
	sites, err := db.sites(ctx)
	if err != nil {
		return nil, err
	}
	var partitions []string
	for _, site := range sites {
		partitions = append(partitions, byShard(func(s int64) string { return siteList(site, s) })...)
	}
	s := span{after + 1, idAt(t) - 1}
	if s.from > s.to {
		return nil, nil
	}
	var out []host.Attempt
	err = db.listOf(env.BySite(), s, false, n, partitions).rows(ctx, func(rows []item) (bool, error) {
		for _, it := range rows {
			out = append(out, rowOf(it, nil)) // large parameters would be a call for each
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
	first, err := db.get(ctx, attemptKey(session))
	if err != nil || first == nil {
		return false, err
	}
	// The row of the session is read before its attempts are judged: one that is started later changes it, and
	// then nothing goes.
	k := keyOfSession(rowOf(first, nil))
	it, err := db.get(ctx, k)
	if err != nil || it == nil {
		return false, err
	}
	rows, list, err := db.going(ctx, site, session, t)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	if rows[len(rows)-1].num(aID) != it.num(aLast) {
		return false, nil // one was started meanwhile: the next round judges it too
	}
	same := where{text: "#n = :n AND #la = :la", names: []string{aAttempts, aLast}, values: item{":n": it[aAttempts], ":la": it[aLast]}}
	middle := rows[1:max(1, len(rows)-1)]
	ends := append([]item{rows[0]}, rows[1+len(middle):]...)
	if len(rows) <= forgotAtOnce {
		middle, ends = nil, rows
	}
	// The mark comes with what goes first: from then on there are names of retries that nothing else remembers.
	mark := []action{{put: forgottenKey(k).item()}}
	for part := range slices.Chunk(middle, forgotAtOnce) {
		if gone, err := db.forget(ctx, part, append(mark, action{check: k, when: same})...); !gone {
			return false, err
		}
		mark = nil
	}
	gone, err := db.forget(ctx, ends, append(mark, action{delete: k, when: same})...)
	if gone && clear != nil {
		err = errors.Join(err, clear(ctx, list))
	}
	return gone, err
}

// forget removes rows if the session is as it was read, and then their blobs. An error about these comes with
// true.
func (db *DB) forget(ctx context.Context, rows []item, session ...action) (bool, error) {
	actions := session
	var remains []item
	for _, it := range rows {
		id := it.num(aID)
		actions = append(actions, action{delete: attemptKey(id)})
		if id != it.num(aSession) {
			actions = append(actions, action{delete: retryKey(it.num(aSession), it.str(aRetryName))})
		}
		var blobs []string
		for _, name := range []string{aParamsBlob, aArchiveBlob, aShortBlob} {
			if blob := it.str(name); blob != "" {
				blobs = append(blobs, blob)
			}
		}
		if len(blobs) > 0 {
			left := remainsKey(id).item()
			left.setStr(aBlobs, strings.Join(blobs, "\n"))
			actions, remains = append(actions, action{put: left}), append(remains, left)
		}
	}
	if _, err := db.transact(ctx, actions); err != nil {
		if errors.Is(err, errCondition) {
			err = nil // it was started again, or another process was first
		}
		return false, err
	}
	return true, db.clear(ctx, remains)
}

// going reads the rows of a session, ascending by id, if all may go; none when one has to stay.
func (db *DB) going(ctx context.Context, site, session int64, t time.Time) ([]item, []host.Attempt, error) {
	rows, err := db.attemptsOfSession(ctx, session)
	if err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	slices.Reverse(rows)
	var list []host.Attempt
	for _, it := range rows {
		if !it.has(aFinished) || !it.time(aFinished).Before(t) || it.num(aSite) != site {
			return nil, nil, nil
		}
		list = append(list, rowOf(it, nil))
	}
	if !list[0].SessionTime.Before(t) {
		return nil, nil, nil
	}
	waiting, err := db.find(ctx, query{limit: 1, where: where{text: "#p = :p", names: []string{aPartition}, values: item{":p": text(waitKey(session, 0).partition)}}})
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

// nextIsOver says whether the session after that of an attempt has ended.
func (db *DB) nextIsOver(ctx context.Context, a host.Attempt) (bool, error) {
	own := keyOfSession(a)
	next, err := db.find(ctx, query{limit: 1, where: where{text: "#p = :p AND #s > :s", names: []string{aPartition, aSort},
		values: item{":p": text(own.partition), ":s": text(own.sort)}}})
	if err != nil || len(next) == 0 {
		return false, err
	}
	last, err := db.get(ctx, attemptKey(next[0].num(aLast)))
	return last.has(aFinished), err
}

// scheduled says whether the schedule of the workflow of an attempt, disabled or not, has yet to come past its
// session. It asks by the ids that the schedule can have, as a push chooses them: an index may be behind.
func (db *DB) scheduled(ctx context.Context, a host.Attempt) (bool, error) {
	for n := 0; ; n++ {
		it, err := db.get(ctx, scheduleKey(scheduleID(a.Project.ID, a.Workflow.Name, n)))
		if err != nil || it == nil {
			return false, err
		}
		if s := scheduleOf(it); s.Project.ID == a.Project.ID && s.Workflow.Name == a.Workflow.Name {
			return !a.SessionTime.Before(s.Times.Session), nil
		}
	}
}

// Clear removes what a Forget that was cut off has left among the blobs.
func (db *DB) Clear(ctx context.Context) error {
	list, err := db.find(ctx, query{where: where{text: "#p = :p", names: []string{aPartition}, values: item{":p": text(remainsKey(0).partition)}}})
	if err != nil {
		return err
	}
	return db.clear(ctx, list)
}

func (db *DB) clear(ctx context.Context, remains []item) error {
	for _, it := range remains {
		for blob := range strings.SplitSeq(it.str(aBlobs), "\n") {
			if err := db.blobs.Delete(ctx, blob); err != nil {
				return err
			}
		}
		if err := db.remove(ctx, keyOf(it), where{}); err != nil {
			return err
		}
	}
	return nil
}

// SetArchive implements host.Retention.
func (db *DB) SetArchive(ctx context.Context, r host.Revision, old, state host.ArchiveState) error {
	when := where{text: "attribute_exists(#p) AND ", names: []string{aPartition, aRevKept}, values: item{}}
	if text := old.Text(); text == "" {
		when.text += "attribute_not_exists(#rk)"
	} else {
		when.text += "#rk = :old"
		when.values.setStr(":old", text)
	}
	change := where{text: "REMOVE #rk"}
	if text := state.Text(); text != "" {
		change = where{text: "SET #rk = :new", values: item{}}
		change.values.setStr(":new", text)
	}
	there, err := db.update(ctx, revisionKey(r.ProjectID, r.ID), change, when)
	switch {
	case !errors.Is(err, errCondition):
		return err
	case there == nil:
		return orNotFound(nil, "change what is known of the archive of revision %d", r.ID)
	case there.str(aRevKept) == state.Text():
		return nil // an answer was lost
	}
	return host.ErrConflict
}

// ForgetRecords implements host.Retention.
func (db *DB) ForgetRecords(ctx context.Context, t time.Time, n int) (int, error) {
	sites, err := db.sites(ctx)
	if err != nil {
		return 0, err
	}
	gone := 0
	for _, site := range sites {
		list, err := db.find(ctx, query{limit: n - gone, where: where{text: "#p = :p AND #s < :to", names: []string{aPartition, aSort},
			values: item{":p": text(auditKey(site, 0).partition), ":to": text(ordered(idAt(t)))}}})
		if err != nil {
			return gone, err
		}
		var keys []key
		for _, it := range list {
			keys = append(keys, keyOf(it))
		}
		if err := db.deleteAll(ctx, keys); err != nil {
			return gone, err
		}
		if gone += len(keys); gone >= n {
			break
		}
	}
	return gone, nil
}
