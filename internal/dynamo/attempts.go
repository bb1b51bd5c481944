package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"zerodag/internal/host"
)

// Attempt returns an attempt.
func (db *DB) Attempt(ctx context.Context, site, id int64) (host.Attempt, error) {
	it, err := db.get(ctx, attemptKey(id))
	if err != nil || it == nil || site != host.AnySite && it.num(aSite) != site {
		return host.Attempt{}, orNotFound(err, "read attempt %d", id)
	}
	return db.attemptOf(ctx, it)
}

// unfinished is the condition of what may be done before an attempt's end only.
func unfinished() where {
	return where{text: "attribute_exists(#p) AND attribute_not_exists(#f)", names: []string{aPartition, aFinished}}
}

// Cancel notes that a kill was requested.
func (db *DB) Cancel(ctx context.Context, id int64) error {
	there, err := db.update(ctx, attemptKey(id), where{text: "SET #cx = :yes", names: []string{aCanceled}, values: item{":yes": yes()}}, unfinished())
	if !errors.Is(err, errCondition) {
		return err
	}
	if there == nil {
		return orNotFound(nil, "cancel attempt %d", id)
	}
	return nil
}

// SetPaused notes whether the attempt is paused.
func (db *DB) SetPaused(ctx context.Context, id int64, on bool) error {
	change := where{text: "REMOVE #pa", names: []string{aPaused}}
	if on {
		change = where{text: "SET #pa = :yes", names: []string{aPaused}, values: item{":yes": yes()}}
	}
	there, err := db.update(ctx, attemptKey(id), change, unfinished())
	if !errors.Is(err, errCondition) {
		return err
	}
	if there == nil {
		return orNotFound(nil, "pause attempt %d", id)
	}
	return nil
}

// largestArchive is what lies in the row; more is a blob.
const largestArchive = 8 << 10

// Finish ends an attempt and keeps its archive: see host.Attempts. It is one write unless
// the attempt still waited.
func (db *DB) Finish(ctx context.Context, id int64, e host.End) error {
	change, err := db.ending(ctx, id, e)
	if err != nil {
		return err
	}
	when := unfinished()
	when.text += " AND attribute_not_exists(#wt)"
	when.names = append(when.names, aWaits)
	there, err := db.update(ctx, attemptKey(id), change, when)
	switch {
	case !errors.Is(err, errCondition):
		return err
	case there == nil:
		return orNotFound(nil, "finish attempt %d", id)
	case there.has(aFinished):
		return nil
	}
	change.text += ", #wt"
	change.names = append(change.names, aWaits)
	_, err = db.transact(ctx, []action{{update: attemptKey(id), change: change, when: unfinished()}, {delete: waitKey(there.num(aWaits), id)}})
	if errors.Is(err, errCondition) {
		return nil // another process ended it
	}
	return err
}

// ending is the change of the row. It ends with a REMOVE.
func (db *DB) ending(ctx context.Context, id int64, e host.End) (where, error) {
	w := where{text: "SET #f = :f", names: []string{aFinished, aListActive}, values: item{":f": micros(e.At)}}
	set := func(name string, of func(item)) {
		values := item{}
		if of(values); values[name] != nil {
			w.text += ", #" + name + " = :" + name
			w.names = append(w.names, name)
			w.values[":"+name] = values[name]
		}
	}
	set(aSuccess, func(it item) { it.setBool(aSuccess, e.Success) })
	set(aCanceled, func(it item) { it.setBool(aCanceled, e.Canceled) })
	set(aIgnored, func(it item) { it.setBool(aIgnored, e.Ignored) })
	set(aOutputs, func(it item) { it.setBool(aOutputs, e.HasOutputs) })
	if len(e.Archive) > 0 {
		state := pack(e.Archive)
		if len(state) <= largestArchive {
			set(aArchive, func(it item) { it.setBytes(aArchive, state) })
		} else {
			blob, err := db.putArchive(ctx, id, state)
			if err != nil {
				return w, err
			}
			set(aArchiveBlob, func(it item) { it.setStr(aArchiveBlob, blob) })
		}
	}
	short, err := db.shortAtEnd(ctx, id)
	if err != nil {
		return w, err
	}
	for _, name := range []string{aShort, aShortBlob} {
		set(name, func(it item) { maps.Copy(it, short) })
	}
	w.text += " REMOVE #ga"
	return w, nil
}

// shortAtEnd are the attributes that keep the short logs, which go with the log otherwise.
func (db *DB) shortAtEnd(ctx context.Context, id int64) (item, error) {
	list, known := db.recent.of(id)
	more, err := db.shortFrom(ctx, id, known+1)
	if err != nil {
		return nil, err
	}
	it, b := item{}, packShort(slices.Concat(list, more, db.short.take(id)))
	if len(b) > largestArchive {
		blob, err := db.putArchive(ctx, id, b)
		it.setStr(aShortBlob, blob)
		return it, err
	}
	if b != nil {
		it.setBytes(aShort, b)
	}
	return it, nil
}

// Archive returns the final state that Finish kept.
func (db *DB) Archive(ctx context.Context, id int64) ([]byte, error) {
	it, err := db.get(ctx, attemptKey(id))
	if err != nil || !it.has(aFinished) {
		return nil, orNotFound(err, "read archive of attempt %d", id)
	}
	state := it.bytes(aArchive)
	if blob := it.str(aArchiveBlob); blob != "" {
		if state, err = db.readBlob(ctx, blob); err != nil {
			return nil, err
		}
	}
	return unpack(state)
}

// Expire has nothing to do: everything of a log carries its expiry from the first write.
func (db *DB) Expire(context.Context, time.Time, int) (int, error) { return 0, nil }
