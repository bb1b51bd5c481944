package runners

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
	"zerodag/internal/sandbox"
)

// Runners implements sandbox.Registry, sandbox.Liveness and sandbox.Fences.
type Runners struct{ t *table.Table }

// NewRunners returns Runners that are stored in a table.
func NewRunners(t *table.Table) Runners { return Runners{t} }

// AddRunner puts a runner into its slot: see sandbox.Registry.
func (db Runners) AddRunner(ctx context.Context, r sandbox.Runner) error {
	it, err := runnerItem(r)
	if err != nil {
		return err
	}
	there, err := db.t.Put(ctx, it, table.Absent())
	if errors.Is(err, table.ErrCondition) {
		if there.Str(rID) == r.ID {
			return nil // the response was lost
		}
		return fmt.Errorf("add runner %s: %w", r.Name(), host.ErrConflict)
	}
	return err
}

// Runner reads a runner by name.
func (db Runners) Runner(ctx context.Context, name string) (sandbox.Runner, error) {
	k, id, err := placeOf(name)
	if err != nil {
		return sandbox.Runner{}, err
	}
	it, err := db.t.Get(ctx, k)
	if err != nil || it == nil || it.Str(rID) != id {
		return sandbox.Runner{}, table.OrNotFound(err, "read runner %s", name)
	}
	return runnerOf(it)
}

func placeOf(name string) (k table.Key, id string, err error) {
	p, err := sandbox.ParseName(name)
	if err != nil {
		return table.Key{}, "", fmt.Errorf("%w: %w", host.ErrNotFound, err)
	}
	return runnerKey(p), p.ID, nil
}

// Runners lists an attempt's runners, or all runners. The data may be a second old.
func (db Runners) Runners(ctx context.Context, attempt int64) ([]sandbox.Runner, error) {
	if attempt != 0 {
		return db.runnersIn(ctx, table.Ordered(attempt)+"#", runnerList(attempt%runnerShards))
	}
	var lists []string
	for shard := range int64(runnerShards) {
		lists = append(lists, runnerList(shard))
	}
	return db.runnersIn(ctx, "", lists...)
}

// runnersIn concurrently reads the runners of lists whose sort keys begin with begin; if that is "", the data may be a
// second old.
func (db Runners) runnersIn(ctx context.Context, begin string, lists ...string) ([]sandbox.Runner, error) {
	found, failed := make([][]table.Item, len(lists)), make([]error, len(lists))
	var all sync.WaitGroup
	for i, list := range lists {
		q := table.Query{Stale: begin == "", Where: table.Where{Text: "#p = :p", Names: []string{table.Partition}, Values: table.Item{":p": table.Text(list)}}}
		if begin != "" {
			q.Where.Text += " AND begins_with(#s, :a)"
			q.Where.Names = append(q.Where.Names, table.Sort)
			q.Where.Values[":a"] = table.Text(begin)
		}
		all.Go(func() { found[i], failed[i] = db.t.Find(ctx, q) })
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

// changeRunner changes and returns a runner that still has rights and meets the condition in must, if one is set. With
// ErrConflict it returns the runner's current state.
func (db Runners) changeRunner(ctx context.Context, name string, change, must table.Where) (sandbox.Runner, error) {
	free := table.Where{Text: "attribute_not_exists(#fe)", Names: append([]string{rFenced}, must.Names...), Values: must.Values}
	if must.Text != "" {
		free.Text += " AND " + must.Text
	}
	return db.alterRunner(ctx, name, change, free)
}

// alterRunner is changeRunner for any runner, including one without rights.
func (db Runners) alterRunner(ctx context.Context, name string, change, must table.Where) (sandbox.Runner, error) {
	k, id, err := placeOf(name)
	if err != nil {
		return sandbox.Runner{}, err
	}
	is := table.Where{Text: "#id = :id", Names: []string{rID}, Values: table.Item{":id": table.Text(id)}}
	if must.Text != "" {
		is.Text += " AND " + must.Text
		is.Names = append(is.Names, must.Names...)
		maps.Copy(is.Values, must.Values)
	}
	it, err := db.t.Updated(ctx, k, change, is)
	switch {
	case errors.Is(err, table.ErrCondition) && it.Str(rID) == id:
		r, e := runnerOf(it)
		return r, errors.Join(fmt.Errorf("runner %s is in an unexpected state: %w", name, host.ErrConflict), e)
	case errors.Is(err, table.ErrCondition):
		return sandbox.Runner{}, fmt.Errorf("runner %s: %w", name, host.ErrNotFound)
	case err != nil:
		return sandbox.Runner{}, err
	}
	return runnerOf(it)
}

// living is like changeRunner, for callers that do not have to distinguish a missing runner from an ended one.
func (db Runners) living(ctx context.Context, name string, change, must table.Where) (sandbox.Runner, error) {
	r, err := db.changeRunner(ctx, name, change, must)
	if errors.Is(err, host.ErrConflict) && r.Fenced {
		err = fmt.Errorf("runner %s has ended: %w", name, host.ErrNotFound)
	}
	return r, err
}

// Ask records that a command waits for the runner.
func (db Runners) Ask(ctx context.Context, name string) error {
	_, err := db.living(ctx, name, table.Where{Text: "ADD #as :one", Names: []string{rAsked}, Values: table.Item{":one": table.Number(1)}}, table.Where{})
	return err
}

// Join records the hash of the secret that a runner has chosen, once.
func (db Runners) Join(ctx context.Context, name string, hash []byte, at time.Time) (sandbox.Runner, error) {
	r, err := db.changeRunner(ctx, name, table.Where{Text: "SET #hs = :hs, #se = if_not_exists(#se, :se)", Names: []string{rHash, rSeen}, Values: table.Item{":hs": table.Bytes(hash), ":se": table.Micros(at)}},
		table.Where{Text: "(attribute_not_exists(#hs) OR #hs = :hs)", Names: []string{rHash}, Values: table.Item{":hs": table.Bytes(hash)}})
	if errors.Is(err, host.ErrConflict) && (r.Hash == nil || bytes.Equal(r.Hash, hash)) {
		err = fmt.Errorf("runner %s has ended: %w", name, host.ErrNotFound)
	}
	return r, err
}

// Beat records a sign of life.
func (db Runners) Beat(ctx context.Context, name string, at time.Time, load int) (sandbox.Runner, error) {
	return db.living(ctx, name, table.Where{Text: "SET #se = :se, #ld = :ld", Names: []string{rSeen, rLoad},
		Values: table.Item{":se": table.Micros(at), ":ld": table.Number(int64(load))}}, table.Where{})
}

// Launched records the launcher's name for the runner.
func (db Runners) Launched(ctx context.Context, name, task string, at time.Time) error {
	_, err := db.living(ctx, name, table.Where{Text: "SET #tk = :tk, #la = :la REMOVE #rf", Names: []string{rTask, rLaunched, rRefused},
		Values: table.Item{":tk": table.Text(task), ":la": table.Micros(at)}}, table.Where{})
	return err
}

// Refused records why the runner could not be launched.
func (db Runners) Refused(ctx context.Context, name, why string, at time.Time) error {
	_, err := db.living(ctx, name, table.Where{Text: "SET #rf = :rf, #la = :la", Names: []string{rRefused, rLaunched}, Values: table.Item{":rf": table.Text(why), ":la": table.Micros(at)}}, table.Where{})
	return err
}

// Fence takes all rights from the runner, and records why.
func (db Runners) Fence(ctx context.Context, name, why string) (sandbox.Runner, error) {
	return db.changeRunner(ctx, name, table.Where{Text: "SET #fe = :fe, #wy = :wy", Names: []string{rFenced, rWhy}, Values: table.Item{":fe": table.Yes(), ":wy": table.Text(why)}}, table.Where{})
}

// Leave takes all rights from a runner that leaves voluntarily.
func (db Runners) Leave(ctx context.Context, name string, asked int) error {
	_, err := db.living(ctx, name, table.Where{Text: "SET #fe = :yes, #lv = :yes", Names: []string{rFenced, rLeft}, Values: table.Item{":yes": table.Yes()}},
		table.Where{Text: "#as = :as", Names: []string{rAsked}, Values: table.Item{":as": table.Number(int64(asked))}})
	return err
}

// ShownTwice records that two runners presented the same ticket, and takes all rights from the runner.
func (db Runners) ShownTwice(ctx context.Context, name, why string) (sandbox.Runner, error) {
	return db.alterRunner(ctx, name, table.Where{Text: "SET #tw = :yes, #fe = :yes, #wy = if_not_exists(#wy, :wy)", Names: []string{rTwice, rFenced, rWhy},
		Values: table.Item{":yes": table.Yes(), ":wy": table.Text(why)}}, table.Where{})
}

// Told records that users were notified of the duplicate ticket.
func (db Runners) Told(ctx context.Context, name string) error {
	_, err := db.alterRunner(ctx, name, table.Where{Text: "SET #to = :to", Names: []string{rTold}, Values: table.Item{":to": table.Yes()}}, table.Where{})
	return err
}

// Remove deletes the runner.
func (db Runners) Remove(ctx context.Context, name string, asked int) error {
	return db.removeRunner(ctx, name, asked, table.Where{Text: "#id = :id", Names: []string{rID}})
}

// Discard deletes the runner if it has not joined.
func (db Runners) Discard(ctx context.Context, name string, asked int) error {
	return db.removeRunner(ctx, name, asked, table.Where{Text: "#id = :id AND attribute_not_exists(#se)", Names: []string{rID, rSeen}})
}

// removeRunner deletes a runner with the id :id that meets a condition.
func (db Runners) removeRunner(ctx context.Context, name string, asked int, is table.Where) error {
	k, id, err := placeOf(name)
	if err != nil {
		return err
	}
	is.Values = table.Item{":id": table.Text(id)}
	if asked >= 0 {
		is.Text += " AND #as = :as"
		is.Names = append(is.Names, rAsked)
		is.Values[":as"] = table.Number(int64(asked))
	}
	err = db.t.Remove(ctx, k, is)
	if !errors.Is(err, table.ErrCondition) {
		return err
	}
	it, err := db.t.Get(ctx, k)
	if err != nil || it == nil || it.Str(rID) != id {
		return err // another runner has its slot, or the slot is empty
	}
	return fmt.Errorf("remove runner %s: %w", name, host.ErrConflict)
}
