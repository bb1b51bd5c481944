package pool

import (
	"hash/fnv"

	"zerodag/internal/host"
)

// Kind is a call that a turn requests.
type Kind uint8

// The calls. After each but End the worker passes the response to the turn.
const (
	Read  Kind = iota + 1 // read the pool; then Turn.Saw
	Take                  // take slots Numbers, if all are free, and the claim out of the line if InLine; then Turn.Done or Turn.Refused
	Join                  // put the claim into the line, if it is not there; then Turn.Done
	Leave                 // take the claim out of the line, if it is there; then Turn.Done
	Free                  // free the slots in Numbers that the holder has; then Turn.Done
	Wake                  // make the claims of Wake try again; then Turn.Done
	End                   // nothing is left to do; see Outcome
)

// Outcome is how a turn ended.
type Outcome uint8

// The outcomes.
const (
	Granted  Outcome = iota + 1 // the holder has its slots
	Waiting                     // the claim is in the line and will be woken
	Joined                      // like Waiting, but this turn has put it into the line: see Acquire
	Missing                     // there is no such pool
	TooLarge                    // the pool has fewer slots than the claim requests
	Released                    // the slots and the place in line are given up
)

// Call is the next call that a turn requests.
type Call struct {
	Kind    Kind
	Numbers []int        // of Take and Free
	InLine  bool         // of Take
	Wake    []host.Claim // of Wake
	Outcome Outcome      // of End
}

// aim is the purpose of a turn.
type aim uint8

const (
	acquire aim = iota
	release     // give up slots and place in line
	tidy        // keep the slots, give up the place in line
)

// maxWakes is how many claims one turn wakes: each woken claim wakes others when it has taken its slots.
const maxWakes = 2

// Turn is one worker's handling of a claim. Turns can be compared with ==.
type Turn struct {
	claim   host.Claim
	aim     aim
	next    Kind
	inLine  bool // the claim is in the line as far as is known, and joined it before the next read begins
	joined  bool // this turn has put the claim into the line
	crowded bool // other claims may be in the line
	settled bool // no others need to be woken
	outcome Outcome
	numbers [host.MaxClaimSlots]int16 // one more than the number; 0 is none
	wake    [maxWakes]host.Claim
}

// A turn that takes or frees slots, gives up its place in line or enlarges the pool wakes others itself. So a turn that
// has changed nothing wakes no one: a message is late if other workers were quicker, and each late message would send
// several more messages. again means that the message was received before, and that its earlier worker may have changed
// the pool and woken no one.

// Acquire begins a turn that requests a claim's slots. It may be repeated until the slots are released. If it ends
// Joined, the caller must read the log again: the claim may have been granted, or have ended, before it joined. If it
// stayed in the line, it would keep the claims behind it waiting.
func Acquire(c host.Claim, again bool) Turn {
	return Turn{claim: c, aim: acquire, next: Read, settled: !again}
}

// Release begins a turn that releases the slots of a claim that has ended. inLine means that the claim may be in the
// line because it is not known to have been granted.
func Release(c host.Claim, inLine bool) Turn {
	t := Turn{claim: c, aim: release, next: Read, outcome: Released}
	if inLine {
		t.next = Leave
	}
	return t
}

// GiveUp begins the turn of a message that requests slots for a claim that has already ended.
func GiveUp(c host.Claim, again bool) Turn {
	if again { // the earlier worker may have joined a line that is longer than what a turn reads
		return Release(c, true)
	}
	return Turn{claim: c, aim: release, next: Read, outcome: Released, settled: true}
}

// Tidy begins a turn for a granted claim that is requested again: it keeps its slots and must leave the line so that it
// does not block others.
func Tidy(c host.Claim, again bool) Turn {
	t := Turn{claim: c, aim: tidy, next: Read, outcome: Granted, settled: true}
	if again { // see GiveUp
		t.next = Leave
	}
	return t
}

// Claim returns the claim that the turn is about.
func (t Turn) Claim() host.Claim { return t.claim }

// Next returns the call to make.
func (t Turn) Next() Call {
	c := Call{Kind: t.next}
	switch t.next {
	case Take, Free:
		for _, n := range t.numbers {
			if n > 0 {
				c.Numbers = append(c.Numbers, int(n)-1)
			}
		}
		c.InLine = t.next == Take && t.inLine
	case Wake:
		for _, w := range t.wake {
			if w != (host.Claim{}) {
				c.Wake = append(c.Wake, w)
			}
		}
	case End:
		c.Outcome = t.outcome
	}
	return c
}

// Saw continues with the pool that a Read returned.
func (t Turn) Saw(l host.Line) Turn {
	own, row := t.has(l), inLine(l, t.claim)
	switch {
	case (row || t.inLine) && (t.aim != acquire || len(own) > 0):
		t.next = Leave
	case t.aim == acquire && len(own) == 0:
		t = t.claimed(l, row)
	case t.aim == release && len(own) > 0:
		t.next = Free
		t.numbers = [host.MaxClaimSlots]int16{}
		copy(t.numbers[:], own)
	default:
		if t.aim == acquire {
			t.outcome = Granted
		}
		t = t.waking(l)
	}
	return t
}

// claimed implements Saw for a claim that has no slots yet.
func (t Turn) claimed(l host.Line, row bool) Turn {
	numbers, fits := t.choose(l)
	switch {
	case l.Slots == 0:
		return t.giveUp(l, row, Missing)
	case t.claim.Slots > l.Slots:
		return t.giveUp(l, row, TooLarge)
	case fits:
		t.next, t.numbers = Take, numbers
		t.inLine, t.crowded = t.inLine || row, len(l.Waiting) > 0
	case row || t.inLine:
		t.outcome = Waiting
		if t.joined {
			t.outcome = Joined
		}
		return t.waking(l)
	default:
		t.next, t.inLine, t.joined = Join, true, true
	}
	return t
}

// giveUp ends a claim that can never be granted; the claims behind it may fit now.
func (t Turn) giveUp(l host.Line, row bool, o Outcome) Turn {
	t.aim, t.outcome = release, o
	if row || t.inLine {
		t.next = Leave
		return t
	}
	return t.waking(l)
}

// Done continues after a call that was made.
func (t Turn) Done() Turn {
	switch t.next {
	case Take:
		if !t.inLine && !t.crowded { // later claims read the line after joining it, and decide for themselves
			t.next, t.outcome = End, Granted
			return t
		}
		t.next, t.inLine, t.settled = Read, false, false
	case Wake:
		t.next = End
	case Leave:
		t.next, t.inLine, t.settled = Read, false, false
	case Free:
		t.next, t.settled = Read, false
	default:
		t.next = Read
	}
	return t
}

// Refused continues after a Take that found one of the slots taken.
func (t Turn) Refused() Turn {
	t.next = Read
	return t
}

// has lists the slots of the holder, as a turn stores them: at most as many as one Free takes.
func (t Turn) has(l host.Line) []int16 {
	var own []int16
	for _, s := range l.Taken {
		if s.Holder == t.claim.Holder && len(own) < host.MaxClaimSlots {
			own = append(own, int16(s.Number+1)) // #nosec G115 -- below MaxPoolSlots
		}
	}
	return own
}

func inLine(l host.Line, c host.Claim) bool {
	for _, w := range l.Waiting {
		if w.Holder == c.Holder {
			return true
		}
	}
	return false
}

// choose picks free slots if the claim and all claims before it fit.
func (t Turn) choose(l host.Line) (numbers [host.MaxClaimSlots]int16, fits bool) {
	free := l.Slots - len(l.Taken)
	for _, w := range l.Waiting {
		if w.Slots <= l.Slots && w.Compare(t.claim) < 0 {
			free -= w.Slots
		}
	}
	if l.Held || t.claim.Slots > free {
		return numbers, false
	}
	taken := map[int]bool{}
	first := start(t.claim, l.Slots)
	for _, s := range l.Taken {
		taken[s.Number] = true
		if s.Number >= l.Slots {
			first = 0 // the pool was made smaller: all begin with the same slot, so that two never take more than there are
		}
	}
	n := 0
	for i := 0; i < l.Slots && n < t.claim.Slots; i++ {
		if at := (first + i) % l.Slots; !taken[at] {
			numbers[n] = int16(at + 1) // #nosec G115 -- below MaxPoolSlots
			n++
		}
	}
	return numbers, true
}

// start returns the slot at which a claim begins to search for a free one, so that concurrent claims do not all try the
// same slot.
func start(c host.Claim, slots int) int {
	h := fnv.New32a()
	h.Write([]byte(c.Holder)) // it never fails
	return int(h.Sum32() % uint32(slots))
}

// waking ends the turn after waking the claims at the head of the line that fit.
func (t Turn) waking(l host.Line) Turn {
	t.next, t.wake = End, [maxWakes]host.Claim{}
	if t.settled {
		return t
	}
	for i, w := range Heads(l, t.claim.Holder, maxWakes) {
		t.next, t.wake[i] = Wake, w
	}
	return t
}

// Heads lists up to n claims of holders other than holder that would be granted, or permanently refused, if they tried
// now.
func Heads(l host.Line, holder string, n int) []host.Claim {
	var heads []host.Claim
	free := l.Slots - len(l.Taken)
	for _, w := range l.Waiting {
		hopeless := w.Slots > l.Slots
		if !hopeless {
			if free -= w.Slots; l.Held || free < 0 {
				break
			}
		}
		if w.Holder != holder && len(heads) < n {
			heads = append(heads, w)
		}
	}
	return heads
}
