// Package execution contains the parts of running tasks that every program must do the same way: it creates the job for
// a run, reports which tasks need no I/O, makes random numbers repeatable for a run, and reports to the engine how a
// run ended.
//
// Delivery and package local use it. It must never run anything itself.
package execution

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"zerodag/engine"
	"zerodag/engine/claim"
	"zerodag/engine/dig/keys"
	"zerodag/operators"
	"zerodag/operators/run"
)

// Inline reports whether a task's run does no I/O, judging by its text: it is a run of an inline operator, or the
// preparation of a task.
func Inline(r operators.Registry, t *engine.Task) bool { return t.Preparing || Written(r, t).Inline }

// Written returns a task's operator as far as its text shows: the registry's operator of that name, or nil.
func Written(r operators.Registry, t *engine.Task) operators.Operator { return r[Operator(t)] }

// Operator returns the name of a task's operator as written, such as "sh"; "" for none.
func Operator(t *engine.Task) string {
	for k, v := range t.Config.All() {
		if k == "_type" {
			name, _ := v.(string)
			return name
		}
		if strings.HasSuffix(k, ">") {
			return k[:len(k)-1]
		}
	}
	return ""
}

// Type returns the name of the operator that a task's run needs; "" if any program can execute the run because it
// involves no I/O.
func Type(r operators.Registry, t *engine.Task) string {
	if Inline(r, t) {
		return ""
	}
	return Operator(t)
}

// Seed returns the seed that makes Math.random repeatable for a run (invariants.md 4.6): a run that is repeated after a
// crash computes the same values.
func Seed(id operators.Identity) uint64 {
	f := fnv.New64a()
	fmt.Fprintf(f, "%s/%d/%d", id.SessionUUID, id.TaskID, id.Dispatch)
	return f.Sum64()
}

// Result returns the event that reports to the engine how a run ended.
func Result(by engine.By, run engine.Run, o run.Outcome) engine.Event {
	logged := engine.Logged{LogIncomplete: o.LogIncomplete}
	switch {
	case o.Later != nil:
		return engine.Later{By: by, Run: run, Logged: logged, After: o.Later.After, State: o.Later.State, Retry: o.Later.Retry, Until: o.Later.Until, SlowAt: o.Later.SlowAt, Warned: o.Later.Warned}
	case o.Prepared != nil:
		e := engine.Prepared{By: by, Run: run, Skip: o.Prepared.Skip, Exports: o.Prepared.Exports, Outputs: o.Prepared.Outputs, Pool: poolClaim(o.Prepared.Pools)}
		if t := o.Prepared.Timeout; t != nil {
			e.Timeout = &claim.Limits{Try: t.Try, Total: t.Total, Warn: t.Warn, Grace: t.Grace}
		}
		return e
	case o.Error != nil:
		return engine.Errored{By: by, Run: run, Logged: logged, Error: o.Error}
	}
	r := o.Result
	return engine.Succeeded{By: by, Run: run, Logged: logged, Result: engine.Outcome{Subtasks: r.Subtasks,
		Exports: r.Export, Stores: r.Store, ResetStore: r.ResetStore, Secret: r.Secret}}
}

// poolClaim returns a task's claim on pools; nil for none. Tasks that need several pools claim them in order of their
// names.
func poolClaim(pools []keys.Pool) *claim.Pool {
	var list []claim.Pool
	for _, p := range pools {
		list = append(list, claim.Pool{Name: p.Key(), Slots: p.Slots, Priority: p.Priority, Inherits: !p.Given, Wait: p.Wait, Size: p.Limit})
	}
	slices.SortFunc(list, func(a, b claim.Pool) int { return strings.Compare(a.Name, b.Name) })
	return claim.Of(list)
}
