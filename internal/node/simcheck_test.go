package node_test

import (
	"fmt"
	"strconv"
	"strings"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// checkEntry follows the log: each recorded event counts once per dispatch, and a snapshot holds the result of the
// changes.
func (st *simStore) checkEntry(attempt int64, e host.Entry) {
	changes, err := engine.DecodeChanges(e.Changes)
	if err != nil {
		st.fail("entry %d of attempt %d: %v", e.Seq, attempt, err)
		return
	}
	state := st.truth[attempt]
	state.Apply(changes...)
	if e.Snapshot != nil {
		st.sameState(attempt, "snapshot", e.Snapshot)
	}
	list, err := events.DecodeList(e.Events)
	if err != nil {
		st.fail("entry %d of attempt %d: %v", e.Seq, attempt, err)
	}
	for _, x := range list {
		switch x.Kind {
		case events.Succeeded, events.Failed, events.Later:
			key := fmt.Sprintf("%d/%d.%d", attempt, x.Run.Task, x.Run.Dispatch)
			if st.results[key]++; st.results[key] > 1 {
				st.fail("two results of run %s count", key)
			}
		case events.Lost:
			st.losses++
			if st.runs[fmt.Sprintf("%d/%d.%d", attempt, x.Run.Task, x.Run.Dispatch)] > 0 {
				st.doubled++
				st.note("DOUBLED %v", *x.Run)
			}
			// A message that was sent on more than five times without the run beginning is blamed
			// (delivery.mostUnbegun).
			if t := state.Task(x.Run.Task); t.Losses > 0 && strings.Count(t.Guard, "~") <= 5 {
				st.blamed++
			}
		}
	}
}

func (st *simStore) sameState(attempt int64, what string, text []byte) {
	truth, err := engine.EncodeState(st.truth[attempt])
	if err != nil || string(truth) != string(text) {
		st.fail("the %s of attempt %d is not what its log leads to: %v\n%s\n%s", what, attempt, err, text, truth)
	}
}

// checkEnd compares the archive with the log.
func (st *simStore) checkEnd(a *host.Attempt, e host.End) {
	if st.phantoms > 0 {
		return // the last entries may be lost
	}
	if !st.truth[a.ID].Ended() {
		st.fail("attempt %d is finished, and its log is not", a.ID)
	}
	st.sameState(a.ID, "archive", e.Archive)
}

// checkCovered fails unless everything that an attempt waits for has a message: a separate one, or the one that guards
// it.
func (st *simStore) checkCovered(attempt int64, when string) {
	a, state := st.row(attempt), st.truth[attempt]
	if a == nil || a.Done || state == nil || st.lost {
		return
	}
	there := map[string]bool{}
	for _, name := range []string{"events", "tasks"} {
		for _, m := range st.queues[name].list {
			there[m.ID] = true
			for id, sentOn := m.ID, strings.LastIndex(m.ID, "~"); sentOn > 0; sentOn = strings.LastIndex(id, "~") {
				id = id[:sentOn] // it continues the work of that message
				there[id] = true
			}
			if about, again := strings.CutPrefix(strings.TrimPrefix(m.ID, strconv.FormatInt(attempt, 10)+"/"), host.AgainMark); again { // of a revival
				name, _, _ := strings.Cut(about, "-")
				there[strconv.FormatInt(attempt, 10)+"/"+host.FenceMark+name] = true
			}
		}
	}
	prefix := strconv.FormatInt(attempt, 10) + "/"
	if len(there) == 0 {
		st.fail("attempt %d is not over and has no message after %s", attempt, when)
	}
	for _, t := range state.Tasks() {
		waits := t.State == engine.Running || t.State == engine.RetryWaiting || t.State == engine.GroupRetryWaiting
		own := fmt.Sprintf("%d.%d", t.ID, t.Dispatch)
		if waits && !state.Ended() && !there[prefix+own] && !there[prefix+"n"+own] && !there[prefix+"t"+own] && !there[prefix+t.Guard] {
			st.fail("task %s of attempt %d (guard %s) has no message after %s", own, attempt, t.Guard, when)
		}
	}
}
