package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sandbox"
)

// AddRunner puts a runner into its slot: see sandbox.Registry.
func (db *DB) AddRunner(ctx context.Context, r sandbox.Runner) error {
	it, err := runnerItem(r)
	if err != nil {
		return err
	}
	there, err := db.put(ctx, it, absent())
	if errors.Is(err, errCondition) {
		if there.str(rID) == r.ID {
			return nil // the answer was lost
		}
		return fmt.Errorf("add runner %s: %w", r.Name(), host.ErrConflict)
	}
	return err
}

// Runner reads a runner by name.
func (db *DB) Runner(ctx context.Context, name string) (sandbox.Runner, error) {
	k, id, err := placeOf(name)
	if err != nil {
		return sandbox.Runner{}, err
	}
	it, err := db.get(ctx, k)
	if err != nil || it == nil || it.str(rID) != id {
		return sandbox.Runner{}, orNotFound(err, "read runner %s", name)
	}
	return runnerOf(it)
}

func placeOf(name string) (k key, id string, err error) {
	p, err := sandbox.ParseName(name)
	if err != nil {
		return key{}, "", fmt.Errorf("%w: %w", host.ErrNotFound, err)
	}
	return runnerKey(p), p.ID, nil
}

// Runners lists the runners of an attempt, or all, as they were a second ago.
func (db *DB) Runners(ctx context.Context, attempt int64) ([]sandbox.Runner, error) {
	if attempt != 0 {
		return db.runnersIn(ctx, ordered(attempt)+"#", runnerList(attempt%runnerShards))
	}
	var lists []string
	for shard := range int64(runnerShards) {
		lists = append(lists, runnerList(shard))
	}
	return db.runnersIn(ctx, "", lists...)
}

// runnersIn reads the runners of lists whose sort key begins so, side by side; of "" it reads
// what was there a second ago.
func (db *DB) runnersIn(ctx context.Context, begin string, lists ...string) ([]sandbox.Runner, error) {
	found, failed := make([][]item, len(lists)), make([]error, len(lists))
	var all sync.WaitGroup
	for i, list := range lists {
		q := query{stale: begin == "", where: where{text: "#p = :p", names: []string{aPartition}, values: item{":p": text(list)}}}
		if begin != "" {
			q.where.text += " AND begins_with(#s, :a)"
			q.where.names = append(q.where.names, aSort)
			q.where.values[":a"] = text(begin)
		}
		all.Go(func() { found[i], failed[i] = db.find(ctx, q) })
	}
	all.Wait()
	err := errors.Join(failed...)
	var runners []sandbox.Runner
	for _, it := range slices.Concat(found...) {
		r, e := runnerOf(it)
		err = errors.Join(err, e)
		runners = append(runners, r)
	}
	return runners, err
}

// changeRunner changes a runner that may still do something and is as it must be, if that
// matters; and returns it. ErrConflict comes with the runner as it is.
func (db *DB) changeRunner(ctx context.Context, name string, change, must where) (sandbox.Runner, error) {
	free := where{text: "attribute_not_exists(#fe)", names: append([]string{rFenced}, must.names...), values: must.values}
	if must.text != "" {
		free.text += " AND " + must.text
	}
	return db.alterRunner(ctx, name, change, free)
}

// alterRunner is changeRunner also for a runner that may do nothing more.
func (db *DB) alterRunner(ctx context.Context, name string, change, must where) (sandbox.Runner, error) {
	k, id, err := placeOf(name)
	if err != nil {
		return sandbox.Runner{}, err
	}
	is := where{text: "#id = :id", names: []string{rID}, values: item{":id": text(id)}}
	if must.text != "" {
		is.text += " AND " + must.text
		is.names = append(is.names, must.names...)
		maps.Copy(is.values, must.values)
	}
	it, err := db.updated(ctx, k, change, is)
	switch {
	case errors.Is(err, errCondition) && it.str(rID) == id:
		r, e := runnerOf(it)
		return r, errors.Join(fmt.Errorf("runner %s is not as it must be: %w", name, host.ErrConflict), e)
	case errors.Is(err, errCondition):
		return sandbox.Runner{}, fmt.Errorf("runner %s: %w", name, host.ErrNotFound)
	case err != nil:
		return sandbox.Runner{}, err
	}
	return runnerOf(it)
}

// living is changeRunner for those who need not know whether it is gone or ended.
func (db *DB) living(ctx context.Context, name string, change, must where) (sandbox.Runner, error) {
	r, err := db.changeRunner(ctx, name, change, must)
	if errors.Is(err, host.ErrConflict) && r.Fenced {
		err = fmt.Errorf("runner %s is ended: %w", name, host.ErrNotFound)
	}
	return r, err
}

// Ask notes that a command waits for the runner.
func (db *DB) Ask(ctx context.Context, name string) error {
	_, err := db.living(ctx, name, where{text: "ADD #as :one", names: []string{rAsked}, values: item{":one": number(1)}}, where{})
	return err
}

// Join notes the hash of the secret that a runner has chosen, once.
func (db *DB) Join(ctx context.Context, name string, hash []byte, at time.Time) (sandbox.Runner, error) {
	r, err := db.changeRunner(ctx, name, where{text: "SET #hs = :hs, #se = if_not_exists(#se, :se)", names: []string{rHash, rSeen}, values: item{":hs": binaryOf(hash), ":se": micros(at)}},
		where{text: "(attribute_not_exists(#hs) OR #hs = :hs)", names: []string{rHash}, values: item{":hs": binaryOf(hash)}})
	if errors.Is(err, host.ErrConflict) && (r.Hash == nil || bytes.Equal(r.Hash, hash)) {
		err = fmt.Errorf("runner %s is ended: %w", name, host.ErrNotFound)
	}
	return r, err
}

// Beat notes a sign of life.
func (db *DB) Beat(ctx context.Context, name string, at time.Time, load int) (sandbox.Runner, error) {
	return db.living(ctx, name, where{text: "SET #se = :se, #ld = :ld", names: []string{rSeen, rLoad},
		values: item{":se": micros(at), ":ld": number(int64(load))}}, where{})
}

// Launched notes what the launcher calls the runner.
func (db *DB) Launched(ctx context.Context, name, task string, at time.Time) error {
	_, err := db.living(ctx, name, where{text: "SET #tk = :tk, #la = :la REMOVE #rf", names: []string{rTask, rLaunched, rRefused},
		values: item{":tk": text(task), ":la": micros(at)}}, where{})
	return err
}

// Refused notes why the runner could not be launched.
func (db *DB) Refused(ctx context.Context, name, why string, at time.Time) error {
	_, err := db.living(ctx, name, where{text: "SET #rf = :rf, #la = :la", names: []string{rRefused, rLaunched}, values: item{":rf": text(why), ":la": micros(at)}}, where{})
	return err
}

// Fence takes all rights from the runner, and notes why.
func (db *DB) Fence(ctx context.Context, name, why string) (sandbox.Runner, error) {
	return db.changeRunner(ctx, name, where{text: "SET #fe = :fe, #wy = :wy", names: []string{rFenced, rWhy}, values: item{":fe": yes(), ":wy": text(why)}}, where{})
}

// Leave takes all rights from the runner, which goes by itself.
func (db *DB) Leave(ctx context.Context, name string, asked int) error {
	_, err := db.living(ctx, name, where{text: "SET #fe = :yes, #lv = :yes", names: []string{rFenced, rLeft}, values: item{":yes": yes()}},
		where{text: "#as = :as", names: []string{rAsked}, values: item{":as": number(int64(asked))}})
	return err
}

// ShownTwice notes that the runner's ticket was shown by two, and takes all rights from it.
func (db *DB) ShownTwice(ctx context.Context, name, why string) (sandbox.Runner, error) {
	return db.alterRunner(ctx, name, where{text: "SET #tw = :yes, #fe = :yes, #wy = if_not_exists(#wy, :wy)", names: []string{rTwice, rFenced, rWhy},
		values: item{":yes": yes(), ":wy": text(why)}}, where{})
}

// Told notes that people know that.
func (db *DB) Told(ctx context.Context, name string) error {
	_, err := db.alterRunner(ctx, name, where{text: "SET #to = :to", names: []string{rTold}, values: item{":to": yes()}}, where{})
	return err
}

// Remove deletes the runner.
func (db *DB) Remove(ctx context.Context, name string, asked int) error {
	return db.removeRunner(ctx, name, asked, where{text: "#id = :id", names: []string{rID}})
}

// Discard deletes the runner if it has not joined.
func (db *DB) Discard(ctx context.Context, name string, asked int) error {
	return db.removeRunner(ctx, name, asked, where{text: "#id = :id AND attribute_not_exists(#se)", names: []string{rID, rSeen}})
}

// removeRunner deletes a runner that is as it must be, of the id :id.
func (db *DB) removeRunner(ctx context.Context, name string, asked int, is where) error {
	k, id, err := placeOf(name)
	if err != nil {
		return err
	}
	is.values = item{":id": text(id)}
	if asked >= 0 {
		is.text += " AND #as = :as"
		is.names = append(is.names, rAsked)
		is.values[":as"] = number(int64(asked))
	}
	err = db.remove(ctx, k, is)
	if !errors.Is(err, errCondition) {
		return err
	}
	it, err := db.get(ctx, k)
	if err != nil || it == nil || it.str(rID) != id {
		return err // another one has its slot, or none has
	}
	return fmt.Errorf("remove runner %s: %w", name, host.ErrConflict)
}
