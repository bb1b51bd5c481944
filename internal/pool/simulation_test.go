package pool

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"zerodag/internal/host"
)

// Times of a simulation, in milliseconds.
const (
	lease      = 30_000    // after which the message of a worker that crashed is received again
	checkEvery = 60_000    // between two checks of the pool
	longest    = 61_000    // that a claim may wait although it fits the free slots
	patience   = 3_600_000 // in which all tasks must end once no new ones arrive
)

// rates holds how often something happens, per call of a worker or per task.
type rates struct{ crash, lost, double, kill, torn float64 }

// simulated is a pool with workers of many tasks in virtual time: unlike an exploration it cannot cover all orders, but
// it runs for a long time, with many tasks, and simulates time.
type simulated struct {
	rand  *rand.Rand
	rates rates
	fault fault
	blind bool // no one checks the pool

	pace  int64 // how long a call or a message takes at most
	slots int
	taken []int   // the task that has the slot; -1: free
	since []int64 // when it was taken
	line  []host.Claim
	tasks []simTask
	open  int // tasks that have not ended

	now      int64
	order    int64
	agenda   agenda
	beside   []int // claims that fit into the free slots
	inUse    int
	acquired int
	woken    int // messages that woke a claim
	crashes  int
	worst    int64 // how long a claim waited although it fit the free slots
	wrong    string
}

type simTask struct {
	claim    host.Claim
	life     life
	messages []message // in order of arrival
	busy     bool      // a worker has one of its messages
	fits     int64     // since when it has waited although it fits the free slots; 0: it has not
}

// simWorker is a worker of a task's message. own means that the message stays until this worker has finished it.
type simWorker struct {
	task    int
	message message
	own     bool
	again   bool // the message was received before: one crash for a message
	turn    Turn
}

type entry struct {
	at, order int64
	do        func()
}

type agenda []entry

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(entry)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func (s *simulated) after(ms int64, do func()) {
	s.order++
	heap.Push(&s.agenda, entry{s.now + ms, s.order, do})
}

// soon returns a random duration for a call.
func (s *simulated) soon() int64 { return 1 + s.rand.Int64N(s.pace) }

func (s *simulated) happens(rate float64) bool { return s.rand.Float64() < rate }

// simulate lets tasks arrive until the given number of tasks have had slots, and then lets all tasks end.
func simulate(seed uint64, acquisitions int, r rates, change func(*simulated)) *simulated {
	s := &simulated{rand: rand.New(rand.NewPCG(seed, 0)), rates: r, pace: 20, slots: 1 + int(seed%7)}
	if change != nil {
		change(s)
	}
	s.taken, s.since = slices.Repeat([]int{-1}, s.slots), make([]int64, s.slots)
	s.after(0, func() { s.arrive(acquisitions) })
	s.after(checkEvery, s.lookAfter)
	for len(s.agenda) > 0 && s.wrong == "" {
		e := heap.Pop(&s.agenda).(entry)
		s.now = e.at
		e.do()
	}
	return s
}

func (s *simulated) fail(format string, args ...any) {
	if s.wrong == "" {
		s.wrong = fmt.Sprintf("at %d ms: ", s.now) + fmt.Sprintf(format, args...)
	}
}

// arrive makes the next task, while more tasks are wanted and the line is not too long.
func (s *simulated) arrive(acquisitions int) {
	s.watch()
	if s.acquired >= acquisitions {
		s.after(patience, func() { s.over() })
		return
	}
	if s.open < 10*s.slots+20 {
		id := len(s.tasks)
		s.tasks = append(s.tasks, simTask{claim: host.Claim{Holder: strconv.Itoa(id), Slots: 1 + s.rand.IntN(min(3, s.slots)), Priority: s.rand.IntN(3) - 1, Since: s.now}})
		s.open++
		s.tell(id, ask)
		if s.happens(s.rates.kill) {
			s.after(s.rand.Int64N(20_000), func() { s.kill(id) })
		}
	}
	s.after(s.rand.Int64N(2*1200/int64(s.slots)), func() { s.arrive(acquisitions) })
}

// over describes what is left when no task has arrived for a long time.
func (s *simulated) over() {
	for id := range s.tasks {
		if l := s.tasks[id].life; l == wants || l == runs {
			s.fail("task %d is not over: %d", id, l)
		}
	}
	if len(s.line) > 0 || slices.Max(s.taken) >= 0 {
		s.fail("left behind: slots %v, line %v", s.taken, s.line)
	}
	s.agenda = nil
}

func (s *simulated) kill(id int) {
	t := &s.tasks[id]
	if t.life == wants {
		t.life = killed
		s.open--
		s.tell(id, over)
		s.watch()
		return
	}
	s.end(id)
}

func (s *simulated) end(id int) {
	t := &s.tasks[id]
	if t.life != runs {
		return
	}
	t.life = ended
	s.inUse -= t.claim.Slots
	s.open--
	s.tell(id, over)
}

// tell sends a message to a task. Messages of one task are received one after the other.
func (s *simulated) tell(id int, m message) {
	s.tasks[id].messages = append(s.tasks[id].messages, m)
	s.after(s.soon(), func() { s.receive(id) })
}

func (s *simulated) receive(id int) {
	t := &s.tasks[id]
	if t.busy || len(t.messages) == 0 {
		return
	}
	m := t.messages[0]
	t.messages = t.messages[1:]
	s.work(id, m, false)
}

// work makes a worker begin to handle a message, and occasionally a second worker handle the same message.
func (s *simulated) work(id int, m message, again bool) {
	s.tasks[id].busy = true
	for _, own := range []bool{true, false} {
		if own || s.happens(s.rates.double) {
			w := &simWorker{task: id, message: m, own: own, again: again || !own}
			s.after(s.soon(), func() {
				w.turn = s.begin(w)
				s.step(w)
			})
		}
	}
}

func (s *simulated) begin(w *simWorker) Turn {
	t := s.tasks[w.task]
	switch t.life {
	case wants:
		return Acquire(t.claim, w.again)
	case runs:
		return Tidy(t.claim, w.again)
	}
	if w.message == over {
		return Release(t.claim, t.life == killed)
	}
	return GiveUp(t.claim, w.again)
}

// done ends a worker; its task may get the next message.
func (s *simulated) done(w *simWorker) {
	if w.own {
		s.tasks[w.task].busy = false
		s.receive(w.task)
	}
}

// step makes a worker's next call, which may be its last, before or after it was carried out.
func (s *simulated) step(w *simWorker) {
	crash, lost := !w.again && s.happens(s.rates.crash), !w.again && s.happens(s.rates.lost)
	if (crash || lost) && s.happens(.5) {
		s.again(w, crash)
		return
	}
	next := s.call(w)
	s.watch()
	switch {
	case crash || lost:
		s.again(w, crash)
	case next == nil:
		s.done(w)
	default:
		s.after(s.soon(), next)
	}
}

// again redelivers a message: soon after an error, or after its lease if its worker has crashed.
func (s *simulated) again(w *simWorker, crash bool) {
	if !w.own {
		return
	}
	wait := int64(1000)
	if crash {
		wait = lease
		s.crashes++
	}
	s.after(wait, func() { s.work(w.task, w.message, true) })
}

// call carries out the call of a worker's turn, and returns the next step; nil: nothing.
func (s *simulated) call(w *simWorker) func() {
	id, c := w.task, w.turn.Next()
	switch c.Kind {
	case Read:
		if s.happens(s.rates.torn) {
			taken := slices.Clone(s.taken)
			return func() { s.saw(w, taken) }
		}
		w.turn = w.turn.Saw(s.seen(s.taken))
	case Take:
		if slices.ContainsFunc(c.Numbers, func(n int) bool { return s.taken[n] >= 0 }) {
			w.turn = w.turn.Refused()
			break
		}
		for _, n := range c.Numbers {
			s.taken[n], s.since[n] = id, s.now
		}
		if c.InLine {
			s.leave(id)
		}
		w.turn = w.turn.Done()
	case Join:
		claim := s.tasks[id].claim
		if i, there := slices.BinarySearchFunc(s.line, claim, host.Claim.Compare); !there {
			s.line = slices.Insert(s.line, i, claim)
		}
		w.turn = w.turn.Done()
		if s.fault == noReread {
			return nil
		}
	case Leave:
		s.leave(id)
		w.turn = w.turn.Done()
	case Free:
		s.free(id, c.Numbers)
		w.turn = w.turn.Done()
	case Wake:
		for _, claim := range c.Wake {
			if s.fault != noPump {
				s.wakeUp(claim)
			}
		}
		w.turn = w.turn.Done()
	case End:
		return s.ends(w, c.Outcome)
	}
	return func() { s.step(w) }
}

// saw continues after a read whose second half came later.
func (s *simulated) saw(w *simWorker, taken []int) {
	w.turn = w.turn.Saw(s.seen(taken))
	s.step(w)
}

// seen returns the pool with the slots as they were read and the line as it is now.
func (s *simulated) seen(taken []int) host.Line {
	l := host.Line{Slots: s.slots, Waiting: s.line[:min(len(s.line), s.slots)]}
	for n, id := range taken {
		if id >= 0 {
			l.Taken = append(l.Taken, host.TakenSlot{Number: n, Holder: s.tasks[id].claim.Holder})
		}
	}
	return l
}

// ends records the outcome of a turn in the log. Slots that were granted to a task that has ended are given up again.
func (s *simulated) ends(w *simWorker, o Outcome) func() {
	t := &s.tasks[w.task]
	if w.turn.aim != acquire || o != Granted {
		return nil
	}
	switch t.life {
	case wants:
		t.life = runs
		s.acquired++
		s.inUse += t.claim.Slots
		long := s.rand.Int64N(2000)
		if s.happens(.001) {
			long = 300_000
		}
		id := w.task
		s.after(long, func() { s.end(id) })
		if s.fault == byClock {
			s.after(1000, func() { s.free(id, []int{0}) })
		}
	case runs:
	default:
		w.turn = Release(t.claim, true)
		return func() { s.step(w) }
	}
	return nil
}

func (s *simulated) leave(id int) {
	if i, there := slices.BinarySearchFunc(s.line, s.tasks[id].claim, host.Claim.Compare); there {
		s.line = slices.Delete(s.line, i, i+1)
	}
}

func (s *simulated) free(id int, numbers []int) {
	for _, n := range numbers {
		if s.taken[n] == id {
			s.taken[n] = -1
		}
	}
}

func (s *simulated) wakeUp(c host.Claim) {
	if id, err := strconv.Atoi(c.Holder); err == nil {
		s.woken++
		s.tell(id, wake)
	}
}

// lookAfter is the check that a server makes every minute: it reads the logs of the holders, and wakes the claims that
// fit.
func (s *simulated) lookAfter() {
	if s.blind {
		return
	}
	s.after(checkEvery, s.lookAfter)
	for n, id := range s.taken {
		if id < 0 || s.now-s.since[n] < checkEvery {
			continue
		}
		switch t := s.tasks[id]; t.life {
		case wants:
			s.wakeUp(t.claim)
		case runs:
		default:
			w := &simWorker{task: id, turn: Release(t.claim, false)}
			s.after(s.soon(), func() { s.step(w) })
		}
	}
	for _, c := range Heads(s.seen(s.taken), "", maxWakes) {
		s.wakeUp(c)
	}
}

// watch checks the guarantees of the pool. Here, a claim that has ended and is still in the line takes no slot from the
// claims behind it.
func (s *simulated) watch() {
	if s.inUse > s.slots {
		s.fail("%d slots are in use, and there are %d", s.inUse, s.slots)
	}
	free := 0
	for _, id := range s.taken {
		free += asInt(id < 0)
	}
	var fit []int
	for _, c := range s.line {
		id, _ := strconv.Atoi(c.Holder) // it was made from a number
		if s.tasks[id].life != wants {
			continue
		}
		if free -= c.Slots; free < 0 {
			break
		}
		fit = append(fit, id)
	}
	for _, id := range s.beside {
		if t := &s.tasks[id]; t.fits > 0 {
			if s.worst = max(s.worst, s.now-t.fits); s.now-t.fits > longest {
				s.fail("claim %s stood beside free slots since %d", t.claim.Holder, t.fits)
			}
			if !slices.Contains(fit, id) {
				t.fits = 0
			}
		}
	}
	for _, id := range fit {
		if t := &s.tasks[id]; t.fits == 0 {
			t.fits = s.now
		}
	}
	s.beside = fit
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// stormy holds rates at which one task in five meets a fault.
var stormy = rates{crash: .01, lost: .01, double: .02, kill: .05, torn: .1}

// TestSimulation lets a hundred thousand tasks, or a million with ZERODAG_MODEL (`make model`), get slots of pools,
// while workers crash, responses are lost, messages are duplicated and tasks are killed: there are never more slots in
// use than exist, no claim that fits the free slots waits for more than 61 seconds, all tasks end, and no slot stays
// taken.
func TestSimulation(t *testing.T) {
	t.Parallel()
	each, seeds := 5_000, uint64(20)
	if os.Getenv("ZERODAG_MODEL") != "" {
		each, seeds = 10_000, 100
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			s := simulate(seed, each, stormy, nil)
			if s.wrong != "" {
				t.Error(s.wrong)
			}
			if s.acquired < each || s.crashes == 0 {
				t.Errorf("only %d tasks got slots, with %d crashes", s.acquired, s.crashes)
			}
			t.Logf("%d slots, %d of %d tasks had some, %d crashes, %.2f wakes each, at most %d ms beside free ones", s.slots, s.acquired, len(s.tasks), s.crashes, float64(s.woken)/float64(s.acquired), s.worst)
		})
	}
}

// TestFewWakes proves that the messages that wake claims do not multiply: if many slots are free while the messages are
// in transit, most come too late, and those must not send further messages.
func TestFewWakes(t *testing.T) {
	t.Parallel()
	for _, pace := range []int64{20, 200, 500} {
		s := simulate(1, 5_000, rates{}, func(s *simulated) { s.pace, s.slots = pace, 10 })
		each := float64(s.woken) / float64(s.acquired)
		t.Logf("calls of up to %d ms: %.2f wakes each", pace, each)
		if s.wrong != "" || each > 4 {
			t.Errorf("calls of up to %d ms: %.2f wakes each, and %q", pace, each, s.wrong)
		}
	}
}

// TestSimulationFinds proves that a simulation finds defects if there are any.
func TestSimulationFinds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*simulated){
		"the clock frees slots":                func(s *simulated) { s.fault = byClock },
		"nobody is woken, or looks":            func(s *simulated) { s.fault, s.blind = noPump, true },
		"no other look after joining, nor any": func(s *simulated) { s.fault, s.blind = noReread, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(10) {
				if simulate(seed, 10_000, stormy, change).wrong != "" {
					return
				}
			}
			t.Error("no simulation has found it")
		})
	}
}
