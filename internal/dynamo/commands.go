package dynamo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"zerodag/internal/host"
	"zerodag/internal/sandbox"
)

// largestSpec is how much of what a command is to run stays in its row, packed; the rest is a
// blob.
const largestSpec = 8 << 10

// Commands are the commands of a DB: sandbox.Commands and sandbox.Work.
type Commands struct{ *DB }

// Commands returns what keeps commands.
func (db *DB) Commands() Commands { return Commands{db} }

// Add puts a command that waits, its own row first: see sandbox.Commands. What says that it
// waits may be there twice or too long; who claims looks at the row.
func (db Commands) Add(ctx context.Context, c sandbox.Command) (sandbox.Command, error) {
	it := db.commandItem(c)
	spec := pack(c.Spec)
	if len(spec) <= largestSpec {
		it[cSpec] = binaryOf(spec)
	} else {
		blob := fmt.Sprintf("log/%d/command/%s", c.Attempt, c.Key)
		if err := db.blobs.Put(ctx, blob, bytes.NewReader(spec), int64(len(spec))); err != nil {
			return c, fmt.Errorf("keep command %s: %w", c.Key, err)
		}
		it.setStr(cSpecBlob, blob)
	}
	there, err := db.put(ctx, it, absent())
	if errors.Is(err, errCondition) {
		if c, err = commandOf(c.Attempt, there); err != nil {
			return c, err
		}
	} else if err != nil {
		return c, err
	}
	if c.State != sandbox.Waiting {
		return c, nil
	}
	w := waitingKey(c.Attempt, c.Class, c.Key).item()
	w.setTime(cCreated, c.CreatedAt)
	w[aExpiry] = it[aExpiry]
	_, err = db.put(ctx, w, where{})
	return c, err
}

// Command reads a command without what it is to run.
func (db Commands) Command(ctx context.Context, attempt int64, name string) (sandbox.Command, error) {
	it, err := db.get(ctx, commandKey(attempt, name))
	if err != nil || it == nil {
		return sandbox.Command{}, orNotFound(err, "read command %s of attempt %d", name, attempt)
	}
	return commandOf(attempt, it)
}

// Waiting lists commands that wait, or did until a moment ago, oldest first.
func (db Commands) Waiting(ctx context.Context, attempt int64, class string, n int) ([]sandbox.Command, error) {
	list, err := db.find(ctx, query{limit: n, where: where{text: "#p = :p AND begins_with(#s, :w)", names: []string{aPartition, aSort},
		values: item{":p": text(commandKey(attempt, "").partition), ":w": text(waitingPrefix(class))}}})
	var waiting []sandbox.Command
	for _, it := range list {
		waiting = append(waiting, sandbox.Command{Attempt: attempt, Key: it.str(aSort)[len(waitingPrefix(class)):], CreatedAt: it.time(cCreated)})
	}
	slices.SortStableFunc(waiting, func(a, b sandbox.Command) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return waiting, err
}

// inState is the condition of a command in a state; runner "" is any.
func inState(runner string, states ...sandbox.State) where {
	w := where{text: "#st = :is", names: []string{cState}, values: item{":is": text(string(states[0]))}}
	if len(states) > 1 {
		w.text = "#st IN (:is, :or)"
		w.values[":or"] = text(string(states[1]))
	}
	if runner != "" {
		w.text += " AND #rn = :by"
		w.names = append(w.names, cRunner)
		w.values[":by"] = text(runner)
	}
	return w
}

// Claim gives a command to a runner.
func (db Commands) Claim(ctx context.Context, attempt int64, name, runner string) (sandbox.Command, error) {
	it, err := db.updated(ctx, commandKey(attempt, name), where{text: "SET #st = :to, #rn = :rn", names: []string{cState, cRunner},
		values: item{":to": text(string(sandbox.Claimed)), ":rn": text(runner)}}, inState("", sandbox.Waiting))
	again := errors.Is(err, errCondition) && it.str(cRunner) == runner && it.str(cState) == string(sandbox.Claimed) // the answer was lost
	if err != nil && !errors.Is(err, errCondition) {
		return sandbox.Command{}, err
	}
	if it == nil {
		return sandbox.Command{}, fmt.Errorf("claim command %s: %w", name, host.ErrNotFound)
	}
	if e := db.remove(ctx, waitingKey(attempt, it.str(cClass), name), where{}); e != nil {
		return sandbox.Command{}, e
	}
	if err != nil && !again {
		return sandbox.Command{}, fmt.Errorf("claim command %s: %w", name, host.ErrConflict)
	}
	c, err := commandOf(attempt, it)
	if err != nil {
		return c, err
	}
	spec := it.bytes(cSpec)
	if blob := it.str(cSpecBlob); blob != "" {
		if spec, err = db.readBlob(ctx, blob); err != nil {
			return c, err
		}
	}
	c.Spec, err = unpack(spec)
	return c, err
}

// Claimed lists the commands that a runner has. It reads all of the attempt: runners are
// seldom lost.
func (db Commands) Claimed(ctx context.Context, attempt int64, runner string) ([]sandbox.Command, error) {
	list, err := db.find(ctx, query{names: []string{aPartition, aSort, cState, cRunner, cClass, cTask, aSite, cProject, cParked, cCreated},
		where: where{text: "#p = :p AND begins_with(#s, :c)", names: []string{aPartition, aSort},
			values: item{":p": text(commandKey(attempt, "").partition), ":c": text("c#")}}})
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

// Park notes that a run of the task waits.
func (db Commands) Park(ctx context.Context, attempt int64, name string, dispatch int) (sandbox.Command, error) {
	it, err := db.updated(ctx, commandKey(attempt, name), where{text: "SET #pk = :pk", names: []string{cParked}, values: item{":pk": number(int64(dispatch))}},
		inState("", sandbox.Waiting, sandbox.Claimed))
	if err != nil && (!errors.Is(err, errCondition) || it == nil) {
		return sandbox.Command{}, orNotFound(err, "park command %s", name)
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
	it, err := db.updated(ctx, k, where{text: "SET #st = :to, #re = :re", names: []string{cState, cResult},
		values: item{":to": text(string(sandbox.Over)), ":re": binaryOf(pack(result))}}, inState(runner, sandbox.Waiting, sandbox.Claimed))
	again := errors.Is(err, errCondition) && it.str(cState) == string(sandbox.Over) && (runner == "" || it.str(cRunner) == runner) &&
		bytes.Equal(it.bytes(cResult), pack(result)) // the answer was lost
	if errors.Is(err, errCondition) && !again {
		return sandbox.Command{}, fmt.Errorf("end command %s: %w", name, host.ErrConflict)
	} else if err != nil && !again {
		return sandbox.Command{}, err
	}
	c, err := commandOf(attempt, it)
	if err == nil && c.Runner == "" {
		err = db.remove(ctx, waitingKey(attempt, c.Class, name), where{})
	}
	return c, err
}

// Ended notes that nothing runs any more of a command that was stopped.
func (db Commands) Ended(ctx context.Context, attempt int64, name, runner string) error {
	_, err := db.update(ctx, commandKey(attempt, name), where{text: "SET #en = :yes", names: []string{cEnded}, values: item{":yes": yes()}}, inState(runner, sandbox.Over))
	if errors.Is(err, errCondition) {
		return fmt.Errorf("note the end of command %s: %w", name, host.ErrConflict)
	}
	return err
}

// Note adds a trouble to a command that waits; "" only looks at it.
func (db Commands) Note(ctx context.Context, attempt int64, name, trouble string) (sandbox.Command, error) {
	if trouble != "" {
		_, err := db.update(ctx, commandKey(attempt, name), where{text: "SET #tr = :tr ADD #tn :one", names: []string{cTrouble, cTroubles},
			values: item{":tr": text(trouble), ":one": number(1)}}, inState("", sandbox.Waiting))
		if errors.Is(err, errCondition) {
			return sandbox.Command{}, fmt.Errorf("note trouble of command %s: %w", name, host.ErrConflict)
		} else if err != nil {
			return sandbox.Command{}, err
		}
	}
	return db.Command(ctx, attempt, name)
}
