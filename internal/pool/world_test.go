package pool

import (
	"fmt"
	"slices"

	"zerodag/internal/host"
)

// Limits of the spaces that are explored.
const (
	maxTasks   = 4
	maxSlots   = 3
	maxWorkers = maxTasks + 1 // one for each task, and a second one for the same message or for a task that has ended
)

// fault is a defect planted around the turns, which an exploration must find.
type fault uint8

const (
	none      fault = iota
	noReread        // a worker that has joined the line stops without reading it again
	noRecheck       // a worker that has joined the line does not read the log again
	noPump          // no claim is ever woken
	notSeen         // a worker does not see that the slots are its own
	byClock         // slots are freed if their holder is slow
)

// space describes which worlds exist.
type space struct {
	slots                   int
	claims                  []int // slots that each task requests; a task precedes the later ones in the line
	kills, crashes, doubles int8
	torn                    tearing
	repaired                bool // the minute check may be needed
	fault                   fault
}

// tearing is how a read of the pool may be torn by concurrent changes.
type tearing uint8

const (
	whole     tearing = iota
	lineLast          // slots are read before the line
	slotsLast         // the line is read before the slots
)

// life is the state of a task in its attempt's log.
type life uint8

const (
	wants life = iota
	runs
	ended
	killed
)

// message is the message that a worker handles.
type message uint8

const (
	ask  message = 1 << iota // the task has become ready
	wake                     // try again
	over                     // the attempt at the task has ended
)

// phase is where a worker is.
type phase uint8

const (
	idle    phase = iota // there is no such worker
	loading              // it reads the log
	turning              // it runs a turn
	reading              // it has read half of the pool
	granted              // it appends that the task has its slots
	joined               // it reads the log again
)

type worker struct {
	phase   phase
	task    int8
	message message
	owner   bool // the message stays until this worker has finished it
	again   bool // the message was received before
	turn    Turn
	taken   [maxSlots]int8 // the slots as they were read
	line    uint8
}

// world is the complete state: logs, the pool, messages and workers. Worlds can be compared with ==.
type world struct {
	lives                   [maxTasks]life
	taken                   [maxSlots]int8 // one more than the task that has the slot; 0: free
	line                    uint8          // a bit for each task
	messages                [maxTasks]message
	again                   [maxTasks]message // messages that were received before
	workers                 [maxWorkers]worker
	kills, crashes, doubles int8
}

// move is something that can happen next. Of millions of moves, only those that lead to a fault are printed.
type move struct {
	format string
	args   [4]int
	n      int
	to     world
}

func (m move) String() string {
	args := make([]any, m.n)
	for i := range args {
		args[i] = m.args[i]
	}
	return fmt.Sprintf(m.format, args...)
}

func (s space) start() world {
	var w world
	for t := range s.claims {
		w.messages[t] = ask
	}
	return w
}

func (s space) claim(t int) host.Claim {
	return host.Claim{Holder: string(rune('a' + t)), Slots: s.claims[t], Since: int64(t)}
}

func taskOf(holder string) int8 { return int8(holder[0] - 'a') }

// pool makes a Line of the read data.
func (s space) pool(taken [maxSlots]int8, line uint8) host.Line {
	l := host.Line{Slots: s.slots}
	for i, t := range taken {
		if t > 0 {
			l.Taken = append(l.Taken, host.TakenSlot{Number: i, Holder: s.claim(int(t - 1)).Holder})
		}
	}
	for t := range s.claims {
		if line&(1<<t) != 0 && len(l.Waiting) < s.slots {
			l.Waiting = append(l.Waiting, s.claim(t))
		}
	}
	return l
}

// moves lists what can happen next.
func (s space) moves(w world) []move {
	out := make([]move, 0, 8)
	add := func(to world, format string, args ...int) {
		m := move{format: format, n: len(args), to: to}
		copy(m.args[:], args)
		out = append(out, m)
	}
	for t := range s.claims {
		switch {
		case w.lives[t] == runs:
			to := w
			to.lives[t] = ended
			to.messages[t] |= over
			add(to, "%c ends", 'a'+t)
			if s.fault == byClock {
				to = w
				to.free(int8(t), []int{0, 1, 2})
				add(to, "the clock frees the slots of %c", 'a'+t)
			}
		case w.lives[t] == wants && w.kills < s.kills:
			to := w
			to.kills++
			to.lives[t] = killed
			to.messages[t] |= over
			add(to, "%c is killed", 'a'+t)
		}
		for _, m := range []message{ask, wake, over} {
			at := t
			if m == over && w.workers[t].phase != idle {
				at = maxTasks // the process that ends an attempt at a task gives up its slots itself, no matter what others do meanwhile
			}
			if w.messages[t]&m != 0 && w.workers[at].phase == idle { // messages of one attempt are received one after the other
				to := w
				to.messages[t] &^= m
				to.again[t] &^= m
				to.workers[at] = worker{phase: loading, task: int8(t), message: m, owner: true, again: w.again[t]&m != 0}
				add(to, "%c receives %d", 'a'+t, int(m))
			}
		}
	}
	for i, x := range w.workers {
		if x.phase == idle {
			continue
		}
		to := w
		add(s.work(to, i), "worker %d (%c): %d %d", i, 'a'+int(x.task), int(x.phase), int(x.turn.next))
		if w.crashes < s.crashes {
			to := w
			to.crashes++
			to.workers[i] = worker{}
			if x.owner {
				to.messages[x.task] |= x.message
				to.again[x.task] |= x.message
			}
			add(to, "worker %d crashes", i)
		}
		if w.doubles < s.doubles && w.workers[maxTasks].phase == idle && x.phase != loading {
			to := w
			to.doubles++
			again := worker{phase: loading, task: x.task, message: x.message, again: true}
			to.workers[maxTasks] = again
			add(to, "worker %d has a double", i)
			again.owner, to.workers[maxTasks], to.workers[maxTasks].owner = true, x, false
			to.workers[i] = again
			add(to, "worker %d has a double, which the message now belongs to", i)
		}
	}
	return out
}

// work makes the next step of a worker.
func (s space) work(w world, i int) world {
	x := &w.workers[i]
	switch x.phase {
	case loading:
		x.phase, x.turn = turning, s.begin(w, *x)
	case turning:
		w = s.call(w, i)
	case reading:
		if s.torn == lineLast {
			x.line = w.line
		} else {
			x.taken = w.taken
		}
		s.saw(x)
	case granted:
		switch w.lives[x.task] {
		case wants:
			w.lives[x.task] = runs
			w.workers[i] = worker{}
		case runs:
			w.workers[i] = worker{}
		default:
			x.phase, x.turn = turning, Release(s.claim(int(x.task)), true)
		}
	case joined:
		switch w.lives[x.task] {
		case wants:
			w.workers[i] = worker{}
		case runs:
			x.phase, x.turn = turning, Tidy(s.claim(int(x.task)), true)
		default:
			x.phase, x.turn = turning, Release(s.claim(int(x.task)), true)
		}
	}
	return w
}

// begin returns the turn that a message starts, given the log.
func (s space) begin(w world, x worker) Turn {
	c := s.claim(int(x.task))
	switch life := w.lives[x.task]; {
	case x.message == over:
		return Release(c, life == killed)
	case life == wants:
		return Acquire(c, x.again)
	case life == runs:
		return Tidy(c, x.again)
	}
	return GiveUp(c, x.again)
}

// call makes the call of a worker's turn.
func (s space) call(w world, i int) world {
	x := &w.workers[i]
	switch c := x.turn.Next(); c.Kind {
	case Read:
		x.taken, x.line = w.taken, w.line
		if s.torn != whole {
			x.phase = reading
			return w
		}
		s.saw(x)
	case Take:
		for _, n := range c.Numbers {
			if w.taken[n] != 0 {
				x.turn = x.turn.Refused()
				return w
			}
		}
		for _, n := range c.Numbers {
			w.taken[n] = x.task + 1
		}
		if c.InLine {
			w.line &^= 1 << x.task
		}
		x.turn = x.turn.Done()
	case Join:
		w.line |= 1 << x.task
		x.turn = x.turn.Done()
		if s.fault == noReread {
			w.workers[i] = worker{}
		}
	case Leave:
		w.line &^= 1 << x.task
		x.turn = x.turn.Done()
	case Free:
		w.free(x.task, c.Numbers)
		x.turn = x.turn.Done()
	case Wake:
		for _, claim := range c.Wake {
			if s.fault != noPump {
				w.messages[taskOf(claim.Holder)] |= wake
			}
		}
		x.turn = x.turn.Done()
	case End:
		switch {
		case x.turn.aim == acquire && c.Outcome == Granted:
			x.phase = granted
			return w
		case c.Outcome == Joined && s.fault != noRecheck:
			x.phase = joined
			return w
		case c.Outcome == TooLarge && w.lives[x.task] == wants:
			w.lives[x.task] = killed // it fails
		}
		w.workers[i] = worker{}
	}
	return w
}

func (w *world) free(task int8, numbers []int) {
	for _, n := range numbers {
		if w.taken[n] == task+1 {
			w.taken[n] = 0
		}
	}
}

// saw passes a turn the data that its worker has read.
func (s space) saw(x *worker) {
	taken := x.taken
	if s.fault == notSeen && x.turn.aim == acquire {
		for i, t := range taken {
			if t == x.task+1 {
				taken[i] = (t-1+1)%int8(len(s.claims)) + 1 // as if another task had it
			}
		}
	}
	x.turn, x.phase = x.turn.Saw(s.pool(taken, x.line)), turning
	x.taken, x.line = [maxSlots]int8{}, 0
}

// wrong returns the fault of a world, or "" if there is none.
func (s space) wrong(w world) string {
	for t, k := range s.claims {
		if n := count(w.taken, t); w.lives[t] == runs && n < k {
			return fmt.Sprintf("%c runs with %d of %d slots", 'a'+t, n, k)
		}
	}
	return ""
}

func count(taken [maxSlots]int8, task int) int {
	n := 0
	for _, t := range taken {
		if int(t) == task+1 {
			n++
		}
	}
	return n
}

// stale returns a claim in the line that is not waiting, so that the claims behind it wait in vain. If a message is
// received twice at the same time, one worker may join while the other takes free slots. To rule that out, every taking
// of slots would have to write to the line. The next wake removes such a claim.
func (s space) stale(w world) string {
	if w.doubles > 0 {
		return ""
	}
	for t := range s.claims {
		if w.line&(1<<t) != 0 && w.lives[t] != wants {
			return fmt.Sprintf("%c is in the line and does not wait", 'a'+t)
		}
	}
	return ""
}

// quiet reports whether nothing more happens except that running tasks end.
func (w world) quiet() bool {
	return w.workers == [maxWorkers]worker{} && w.messages == [maxTasks]message{}
}

// check returns the moves of the minute check in a quiet world: none if all is well.
func (s space) check(w world) []move {
	var out []move
	for t := range s.claims {
		c, own := s.claim(t), count(w.taken, t) > 0
		fits := slices.ContainsFunc(Heads(s.pool(w.taken, w.line), "", maxTasks), func(h host.Claim) bool { return h.Holder == c.Holder })
		if own && w.lives[t] != runs || fits {
			to := w
			to.messages[t] |= wake
			out = append(out, move{format: "the check wakes %c", args: [4]int{'a' + t}, n: 1, to: to})
		}
	}
	return out
}
