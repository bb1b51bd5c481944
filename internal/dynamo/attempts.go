package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// Attempt returns an attempt.
func (db *DB) Attempt(ctx context.Context, site, id int64) (host.Attempt, error) {
	it, err := db.t.Get(ctx, attemptKey(id))
	if err != nil || it == nil || site != host.AnySite && it.Num(table.Site) != site {
		return host.Attempt{}, table.OrNotFound(err, "read attempt %d", id)
	}
	return db.attemptOf(ctx, it)
}

// unfinished returns the condition for changes that are allowed only before an attempt ends.
func unfinished() table.Where {
	return table.Where{Text: "attribute_exists(#p) AND attribute_not_exists(#f)", Names: []string{table.Partition, aFinished}}
}

// Cancel records that a kill was requested.
func (db *DB) Cancel(ctx context.Context, id int64) error {
	there, err := db.t.Update(ctx, attemptKey(id), table.Where{Text: "SET #cx = :yes", Names: []string{aCanceled}, Values: table.Item{":yes": table.Yes()}}, unfinished())
	if !errors.Is(err, table.ErrCondition) {
		return err
	}
	if there == nil {
		return table.OrNotFound(nil, "cancel attempt %d", id)
	}
	return nil
}

// SetPaused records whether the attempt is paused.
func (db *DB) SetPaused(ctx context.Context, id int64, on bool) error {
	change := table.Where{Text: "REMOVE #pa", Names: []string{aPaused}}
	if on {
		change = table.Where{Text: "SET #pa = :yes", Names: []string{aPaused}, Values: table.Item{":yes": table.Yes()}}
	}
	there, err := db.t.Update(ctx, attemptKey(id), change, unfinished())
	if !errors.Is(err, table.ErrCondition) {
		return err
	}
	if there == nil {
		return table.OrNotFound(nil, "pause attempt %d", id)
	}
	return nil
}

// largestArchive is the maximum size of an archive in the row; larger ones are blobs.
const largestArchive = 8 << 10

// Finish ends an attempt and keeps its archive: see host.Attempts. It needs one write unless the attempt still waited.
func (db *DB) Finish(ctx context.Context, id int64, e host.End) error {
	change, err := db.ending(ctx, id, e)
	if err != nil {
		return err
	}
	when := unfinished()
	when.Text += " AND attribute_not_exists(#wt)"
	when.Names = append(when.Names, aWaits)
	there, err := db.t.Update(ctx, attemptKey(id), change, when)
	switch {
	case !errors.Is(err, table.ErrCondition):
		return err
	case there == nil:
		return table.OrNotFound(nil, "finish attempt %d", id)
	case there.Has(aFinished):
		return nil
	}
	change.Text += ", #wt"
	change.Names = append(change.Names, aWaits)
	_, err = db.t.Transact(ctx, []table.Action{{Update: attemptKey(id), Change: change, When: unfinished()}, {Delete: waitKey(there.Num(aWaits), id)}})
	if errors.Is(err, table.ErrCondition) {
		return nil // another process ended it
	}
	return err
}

// ending returns the change to the row. It ends with a REMOVE.
func (db *DB) ending(ctx context.Context, id int64, e host.End) (table.Where, error) {
	w := table.Where{Text: "SET #f = :f", Names: []string{aFinished, aListActive}, Values: table.Item{":f": table.Micros(e.At)}}
	set := func(name string, of func(table.Item)) {
		values := table.Item{}
		if of(values); values[name] != nil {
			w.Text += ", #" + name + " = :" + name
			w.Names = append(w.Names, name)
			w.Values[":"+name] = values[name]
		}
	}
	set(aSuccess, func(it table.Item) { it.SetBool(aSuccess, e.Success) })
	set(aCanceled, func(it table.Item) { it.SetBool(aCanceled, e.Canceled) })
	set(aIgnored, func(it table.Item) { it.SetBool(aIgnored, e.Ignored) })
	set(aOutputs, func(it table.Item) { it.SetBool(aOutputs, e.HasOutputs) })
	if len(e.Archive) > 0 {
		state := table.Pack(e.Archive)
		if len(state) <= largestArchive {
			set(aArchive, func(it table.Item) { it.SetBytes(aArchive, state) })
		} else {
			blob, err := db.t.PutArchive(ctx, id, state)
			if err != nil {
				return w, err
			}
			set(aArchiveBlob, func(it table.Item) { it.SetStr(aArchiveBlob, blob) })
		}
	}
	short, err := db.shortAtEnd(ctx, id)
	if err != nil {
		return w, err
	}
	for _, name := range []string{aShort, aShortBlob} {
		set(name, func(it table.Item) { maps.Copy(it, short) })
	}
	w.Text += " REMOVE #ga"
	return w, nil
}

// shortAtEnd returns the attributes that keep the short logs, which would otherwise expire with the log.
func (db *DB) shortAtEnd(ctx context.Context, id int64) (table.Item, error) {
	list, known := db.recent.of(id)
	more, err := db.shortFrom(ctx, id, known+1)
	if err != nil {
		return nil, err
	}
	it, b := table.Item{}, packShort(slices.Concat(list, more, db.short.take(id)))
	if len(b) > largestArchive {
		blob, err := db.t.PutArchive(ctx, id, b)
		it.SetStr(aShortBlob, blob)
		return it, err
	}
	if b != nil {
		it.SetBytes(aShort, b)
	}
	return it, nil
}

// Archive returns the final state that Finish kept.
func (db *DB) Archive(ctx context.Context, id int64) ([]byte, error) {
	it, err := db.t.Get(ctx, attemptKey(id))
	if err != nil || !it.Has(aFinished) || it.Bool(aImported) {
		return nil, table.OrNotFound(err, "read archive of attempt %d", id)
	}
	state := it.Bytes(aArchive)
	if blob := it.Str(aArchiveBlob); blob != "" {
		if state, err = db.t.ReadBlob(ctx, blob); err != nil {
			return nil, err
		}
	}
	return table.Unpack(state)
}

// Expire has nothing to do: all parts of a log have their expiry from the first write.
func (db *DB) Expire(context.Context, time.Time, int) (int, error) { return 0, nil }
