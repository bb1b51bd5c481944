package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sandbox"
)

// AddRunner puts a runner into its slot: see sandbox.Runners.
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
	return runnerKey(p.Attempt, p.Class, p.Slot), p.ID, nil
}

// Runners lists the runners of an attempt, or all.
func (db *DB) Runners(ctx context.Context, attempt int64) ([]sandbox.Runner, error) {
	w := where{text: "#p = :p", names: []string{aPartition}, values: item{":p": text(runners)}}
	if attempt != 0 {
		w.text += " AND begins_with(#s, :a)"
		w.names = append(w.names, aSort)
		w.values[":a"] = text(ordered(attempt) + "#")
	}
	items, err := db.find(ctx, query{where: w})
	var list []sandbox.Runner
	for _, it := range items {
		r, e := runnerOf(it)
		err = errors.Join(err, e)
		list = append(list, r)
	}
	return list, err
}

// changeRunner changes a runner that may still do something, and has the hash, if that
// matters; and returns it.
func (db *DB) changeRunner(ctx context.Context, name string, change where, hash []byte) (sandbox.Runner, error) {
	k, id, err := placeOf(name)
	if err != nil {
		return sandbox.Runner{}, err
	}
	is := where{text: "#id = :id AND attribute_not_exists(#fe)", names: []string{rID, rFenced}, values: item{":id": text(id)}}
	if hash != nil {
		is.text += " AND #hs = :hs"
		is.names = append(is.names, rHash)
		is.values[":hs"] = binaryOf(hash)
	}
	it, err := db.updated(ctx, k, change, is)
	switch {
	case errors.Is(err, errCondition) && it.str(rID) == id:
		return sandbox.Runner{}, fmt.Errorf("runner %s is ended: %w", name, host.ErrConflict)
	case errors.Is(err, errCondition):
		return sandbox.Runner{}, fmt.Errorf("runner %s: %w", name, host.ErrNotFound)
	case err != nil:
		return sandbox.Runner{}, err
	}
	return runnerOf(it)
}

// living is changeRunner for those who need not know whether it is gone or ended.
func (db *DB) living(ctx context.Context, name string, change where, hash []byte) (sandbox.Runner, error) {
	r, err := db.changeRunner(ctx, name, change, hash)
	if errors.Is(err, host.ErrConflict) {
		err = fmt.Errorf("runner %s is ended: %w", name, host.ErrNotFound)
	}
	return r, err
}

// Ask notes that a command waits for the runner.
func (db *DB) Ask(ctx context.Context, name string) error {
	_, err := db.living(ctx, name, where{text: "ADD #as :one", names: []string{rAsked}, values: item{":one": number(1)}}, nil)
	return err
}

// Beat notes a sign of life.
func (db *DB) Beat(ctx context.Context, name string, hash []byte, at time.Time, load int) (sandbox.Runner, error) {
	return db.living(ctx, name, where{text: "SET #se = :se, #ld = :ld", names: []string{rSeen, rLoad},
		values: item{":se": micros(at), ":ld": number(int64(load))}}, hash)
}

// Launched notes what the launcher calls the runner.
func (db *DB) Launched(ctx context.Context, name, task string, at time.Time) error {
	_, err := db.living(ctx, name, where{text: "SET #tk = :tk, #la = :la REMOVE #sc, #rf", names: []string{rTask, rLaunched, rSecret, rRefused},
		values: item{":tk": text(task), ":la": micros(at)}}, nil)
	return err
}

// Refused notes why the runner could not be launched.
func (db *DB) Refused(ctx context.Context, name, why string, at time.Time) error {
	_, err := db.living(ctx, name, where{text: "SET #rf = :rf, #la = :la", names: []string{rRefused, rLaunched}, values: item{":rf": text(why), ":la": micros(at)}}, nil)
	return err
}

// Fence takes all rights from the runner.
func (db *DB) Fence(ctx context.Context, name string) (sandbox.Runner, error) {
	return db.changeRunner(ctx, name, where{text: "SET #fe = :fe", names: []string{rFenced}, values: item{":fe": yes()}}, nil)
}

// Remove deletes the runner.
func (db *DB) Remove(ctx context.Context, name string, asked int) error {
	k, id, err := placeOf(name)
	if err != nil {
		return err
	}
	is := where{text: "#id = :id", names: []string{rID}, values: item{":id": text(id)}}
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
