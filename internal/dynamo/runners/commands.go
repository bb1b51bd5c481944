package runners

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
	"zerodag/internal/sandbox"
)

// largestSpec is the maximum size of a command's packed Spec in its row; a larger one is a blob.
const largestSpec = 8 << 10

// Commands implements sandbox.Commands and sandbox.Work.
type Commands struct{ t *table.Table }

// NewCommands returns Commands that are stored in a table.
func NewCommands(t *table.Table) Commands { return Commands{t} }

// Add stores a waiting command, its own row first: see sandbox.Commands. The mark that it waits may exist twice or for
// too long; a claimer checks the row.
func (db Commands) Add(ctx context.Context, c sandbox.Command) (sandbox.Command, error) {
	it := db.commandItem(c)
	spec := table.Pack(c.Spec)
	if len(spec) <= largestSpec {
		it[cSpec] = table.Bytes(spec)
	} else {
		blob := fmt.Sprintf("log/%d/command/%s", c.Attempt, c.Key)
		if err := db.t.Blobs.Put(ctx, blob, bytes.NewReader(spec), int64(len(spec))); err != nil {
			return c, fmt.Errorf("store command %s: %w", c.Key, err)
		}
		it.SetStr(cSpecBlob, blob)
	}
	there, err := db.t.Put(ctx, it, table.Absent())
	if errors.Is(err, table.ErrCondition) {
		if c, err = commandOf(c.Attempt, there); err != nil {
			return c, err
		}
	} else if err != nil {
		return c, err
	}
	if c.State != sandbox.Waiting {
		return c, nil
	}
	w := waitingKey(c.Attempt, c.Class, c.Key).Item()
	w.SetTime(cCreated, c.CreatedAt)
	w[table.Expiry] = it[table.Expiry]
	_, err = db.t.Put(ctx, w, table.Where{})
	return c, err
}

// Command reads a command without its Spec.
func (db Commands) Command(ctx context.Context, attempt int64, name string) (sandbox.Command, error) {
	it, err := db.t.Get(ctx, commandKey(attempt, name))
	if err != nil || it == nil {
		return sandbox.Command{}, table.OrNotFound(err, "read command %s of attempt %d", name, attempt)
	}
	return commandOf(attempt, it)
}

// Waiting lists commands that are waiting, or were waiting a moment ago, oldest first.
func (db Commands) Waiting(ctx context.Context, attempt int64, class string, n int) ([]sandbox.Command, error) {
	list, err := db.t.Find(ctx, table.Query{Limit: n, Where: table.Where{Text: "#p = :p AND begins_with(#s, :w)", Names: []string{table.Partition, table.Sort},
		Values: table.Item{":p": table.Text(commandKey(attempt, "").Partition), ":w": table.Text(waitingPrefix(class))}}})
	var waiting []sandbox.Command
	for _, it := range list {
		waiting = append(waiting, sandbox.Command{Attempt: attempt, Key: it.Str(table.Sort)[len(waitingPrefix(class)):], CreatedAt: it.Time(cCreated)})
	}
	slices.SortStableFunc(waiting, func(a, b sandbox.Command) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return waiting, err
}

// inState returns the condition that a command is in one of these states; runner "" means any.
func inState(runner string, states ...sandbox.State) table.Where {
	w := table.Where{Text: "#st = :is", Names: []string{cState}, Values: table.Item{":is": table.Text(string(states[0]))}}
	if len(states) > 1 {
		w.Text = "#st IN (:is, :or)"
		w.Values[":or"] = table.Text(string(states[1]))
	}
	if runner != "" {
		w.Text += " AND #rn = :by"
		w.Names = append(w.Names, cRunner)
		w.Values[":by"] = table.Text(runner)
	}
	return w
}

// Claim gives a command to a runner.
func (db Commands) Claim(ctx context.Context, attempt int64, name, runner string) (sandbox.Command, error) {
	it, err := db.t.Updated(ctx, commandKey(attempt, name), table.Where{Text: "SET #st = :to, #rn = :rn", Names: []string{cState, cRunner},
		Values: table.Item{":to": table.Text(string(sandbox.Claimed)), ":rn": table.Text(runner)}}, inState("", sandbox.Waiting))
	again := errors.Is(err, table.ErrCondition) && it.Str(cRunner) == runner && it.Str(cState) == string(sandbox.Claimed) // the response was lost
	if err != nil && !errors.Is(err, table.ErrCondition) {
		return sandbox.Command{}, err
	}
	if it == nil {
		return sandbox.Command{}, fmt.Errorf("claim command %s: %w", name, host.ErrNotFound)
	}
	if e := db.t.Remove(ctx, waitingKey(attempt, it.Str(cClass), name), table.Where{}); e != nil {
		return sandbox.Command{}, e
	}
	if err != nil && !again {
		return sandbox.Command{}, fmt.Errorf("claim command %s: %w", name, host.ErrConflict)
	}
	c, err := commandOf(attempt, it)
	if err != nil {
		return c, err
	}
	spec := it.Bytes(cSpec)
	if blob := it.Str(cSpecBlob); blob != "" {
		if spec, err = db.t.ReadBlob(ctx, blob); err != nil {
			return c, err
		}
	}
	c.Spec, err = table.Unpack(spec)
	return c, err
}

// Claimed lists a runner's commands. It reads all commands of the attempt, because runners are rarely lost.
func (db Commands) Claimed(ctx context.Context, attempt int64, runner string) ([]sandbox.Command, error) {
	list, err := db.t.Find(ctx, table.Query{Names: []string{table.Partition, table.Sort, cState, cRunner, cClass, cTask, table.Site, cProject, cParked, cCreated},
		Where: table.Where{Text: "#p = :p AND begins_with(#s, :c)", Names: []string{table.Partition, table.Sort},
			Values: table.Item{":p": table.Text(commandKey(attempt, "").Partition), ":c": table.Text("c#")}}})
	var claimed []sandbox.Command
	for _, it := range list {
		c, e := commandOf(attempt, it)
		if e == nil && c.State == sandbox.Claimed && c.Runner == runner {
			claimed = append(claimed, c)
		}
		err = errors.Join(err, e)
	}
	return claimed, err
}

// Park records that a run of the task waits.
func (db Commands) Park(ctx context.Context, attempt int64, name string, dispatch int) (sandbox.Command, error) {
	it, err := db.t.Updated(ctx, commandKey(attempt, name), table.Where{Text: "SET #pk = :pk", Names: []string{cParked}, Values: table.Item{":pk": table.Number(int64(dispatch))}},
		inState("", sandbox.Waiting, sandbox.Claimed))
	if err != nil && (!errors.Is(err, table.ErrCondition) || it == nil) {
		return sandbox.Command{}, table.OrNotFound(err, "park command %s", name)
	}
	return commandOf(attempt, it)
}

// End ends a command.
func (db Commands) End(ctx context.Context, attempt int64, name, runner string, r sandbox.Result) (sandbox.Command, error) {
	result, err := json.Marshal(r)
	if err != nil {
		return sandbox.Command{}, fmt.Errorf("encode result: %w", err)
	}
	k := commandKey(attempt, name)
	it, err := db.t.Updated(ctx, k, table.Where{Text: "SET #st = :to, #re = :re", Names: []string{cState, cResult},
		Values: table.Item{":to": table.Text(string(sandbox.Over)), ":re": table.Bytes(table.Pack(result))}}, inState(runner, sandbox.Waiting, sandbox.Claimed))
	again := errors.Is(err, table.ErrCondition) && it.Str(cState) == string(sandbox.Over) && (runner == "" || it.Str(cRunner) == runner) &&
		bytes.Equal(it.Bytes(cResult), table.Pack(result)) // the response was lost
	if errors.Is(err, table.ErrCondition) && !again {
		return sandbox.Command{}, fmt.Errorf("end command %s: %w", name, host.ErrConflict)
	} else if err != nil && !again {
		return sandbox.Command{}, err
	}
	c, err := commandOf(attempt, it)
	if err == nil && c.Runner == "" {
		err = db.t.Remove(ctx, waitingKey(attempt, c.Class, name), table.Where{})
	}
	return c, err
}

// Ended records that no process of a stopped command is still running.
func (db Commands) Ended(ctx context.Context, attempt int64, name, runner string) error {
	_, err := db.t.Update(ctx, commandKey(attempt, name), table.Where{Text: "SET #en = :yes", Names: []string{cEnded}, Values: table.Item{":yes": table.Yes()}}, inState(runner, sandbox.Over))
	if errors.Is(err, table.ErrCondition) {
		return fmt.Errorf("record the end of command %s: %w", name, host.ErrConflict)
	}
	return err
}

// Note records a problem with a waiting command; "" only reads it.
func (db Commands) Note(ctx context.Context, attempt int64, name, trouble string) (sandbox.Command, error) {
	if trouble != "" {
		_, err := db.t.Update(ctx, commandKey(attempt, name), table.Where{Text: "SET #tr = :tr ADD #tn :one", Names: []string{cTrouble, cTroubles},
			Values: table.Item{":tr": table.Text(trouble), ":one": table.Number(1)}}, inState("", sandbox.Waiting))
		if errors.Is(err, table.ErrCondition) {
			return sandbox.Command{}, fmt.Errorf("record a failure of command %s: %w", name, host.ErrConflict)
		} else if err != nil {
			return sandbox.Command{}, err
		}
	}
	return db.Command(ctx, attempt, name)
}
