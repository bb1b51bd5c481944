package delivery

import (
	"context"
	"errors"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// errDoesNotApply means that an event does not apply to a state, which may be old.
var errDoesNotApply = errors.New("the event does not apply")

// proposal is the change that one delivery of a message, or of several, wants to make to an attempt. It may be tried
// several times.
type proposal struct {
	// receipt is the receipt of the delivery if there is only one.
	receipt string
	// guards lists the guards of the messages: their effects are carried out in this order after the proposal is in the
	// log.
	guards []string
	// plan returns the events of the proposal for a state. false means that the proposal does not apply to that state,
	// which may be old. It is called again for each state that is read, and must not change the state.
	plan func(s *engine.State) ([]engine.Event, bool)
	// begins means that the proposal begins the attempt; sla means that the time of `sla:` has come. Both are announced on
	// the bus once the proposal is in the log, before effects are carried out.
	begins, sla bool
	// expiry is the timer of a `_timeout` whose time has come; nil for none. If it marks a task as slow, users are
	// notified.
	expiry *engine.Expiry
	// early holds runs to be woken that do not wait yet, according to the last state that was planned for.
	early []engine.Run
	// applied means that an entry with the planned events is in the log. It never becomes false again, and nothing more is
	// planned, because with a second entry the events would happen twice.
	applied bool
	// keeps means that the process then runs the task that the message owes, if it is a single one.
	keeps bool
	// doubt is the number and nonce of an entry with the planned events whose append failed in a way that leaves open
	// whether it is in the log. Nothing is planned until that is known.
	doubt host.Entry
}

// propose proposes the same events for every state.
func propose(guard string, happened ...engine.Event) *proposal {
	return &proposal{guards: []string{guard}, plan: func(*engine.State) ([]engine.Event, bool) { return happened, true }}
}

// noteKind records what must be announced on the bus.
func (p *proposal) noteKind(k events.Kind) {
	p.begins = p.begins || k == events.Start
	p.sla = p.sla || k == events.SLADue
}

// bring plans the events except wakes that come too soon, which are postponed.
func (p *proposal) bring(happened []engine.Event) {
	p.plan = func(s *engine.State) ([]engine.Event, bool) {
		p.early = nil
		var list []engine.Event
		for _, e := range happened {
			if due, isDue := e.(engine.Due); isDue && tooSoon(s, due.Run) {
				p.early = append(p.early, due.Run)
			} else {
				list = append(list, e)
			}
		}
		return list, len(p.early) == 0
	}
}

// goesOn reports whether, judging by this state, the process will also write the attempt's next entry.
func (p *proposal) goesOn(s *engine.State) bool {
	if !p.keeps || s.Canceled() {
		return false
	}
	owed := s.Outstanding(p.guards[0])
	if len(owed) != 1 {
		return false
	}
	next, ok := owed[0].(engine.Dispatch)
	return ok && next.At.IsZero()
}

// tooSoon reports whether a task is about to wait for this run.
func tooSoon(s *engine.State, r engine.Run) bool {
	t := s.Task(r.Task)
	return t != nil && t.State == engine.Running && t.Dispatch+1 == r.Dispatch
}

// takeOverStart plans that the message with this guard requests the work of entry 1 again if nothing resulted from it.
// If that work is under way after all, its results no longer count. The first message still owes only the timer of
// `sla:`, or of the attempt's start time, which is also carried out.
func (p *proposal) takeOverStart(a *attempt, guard string) {
	p.plan = func(s *engine.State) (list []engine.Event, applies bool) {
		p.guards = []string{guard}
		if a.seq != 1 {
			return nil, true
		}
		p.guards, p.begins = append(p.guards, host.StartGuard), true
		by := engine.By{Guard: guard}
		for _, e := range s.Outstanding(host.StartGuard) {
			switch e := e.(type) {
			case engine.Dispatch:
				list = append(list, engine.Lost{By: by, Run: e.Run, Blameless: true})
			case engine.Continue:
				list = append(list, engine.GoOn{By: by})
			}
		}
		return list, true
	}
}

// resolveDoubt determines from stored, which was read from an attempt's log, whether the log contains the doubtful
// entry of the proposal.
func (p *proposal) resolveDoubt(ctx context.Context, a *attempt, stored host.Stored) error {
	if p.doubt.Nonce == "" {
		return nil
	}
	there, err := a.reader.Holds(ctx, a.id, stored, p.doubt)
	if err != nil {
		return err
	}
	p.applied = p.applied || there
	p.doubt = host.Entry{}
	return nil
}
