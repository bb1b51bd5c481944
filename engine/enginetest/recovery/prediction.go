package recovery

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/param"
)

// Prediction predicts an attempt of a Pipeline. It follows the documentation and shares no code with the engine: it
// walks through the pieces of the file in order. The order of parallel tasks does not matter, since they do not see
// each other's values.
type Prediction struct {
	Runs    []string // each run of a command, with the values that it saw
	Notices int      // sent because the attempt failed
	Outcome string   // success, error, canceled
	Saved   Saved    // results that the next `zerodag run` finds

	root  *made
	index map[string]*made // current tasks by name
	works int              // how many times a command ran
}

// Saved is what `zerodag run` has saved for a session's tasks.
type Saved map[string]result

// result is the saved success of a task: its stores, and whether it generated tasks. A task whose failure was ignored
// may not have generated any.
type result struct {
	own  []effect
	made bool
}

// Given describes how an attempt starts and is interrupted.
type Given struct {
	Number int // of the attempt
	Mode   Mode
	Before *Prediction // the attempt whose results are carried over
	KillAt int         // it is killed during this run of a command, counted from 1; 0: never
	EndAt  int         // everything stops after this run; 0: never
	Local  Saved       // for `zerodag run`; nil: an attempt on a server
}

// effect is one result that later tasks see: the keys that a task reset, and then the values that it stored.
type effect struct {
	reset  [][]string
	stores *param.Map
}

func lay(m *param.Map, list []effect) *param.Map {
	for _, e := range list {
		m = param.Merge(param.Reset(m, e.reset...), e.stores)
	}
	return m
}

type standing int

const (
	notRun standing = iota
	underWay
	ok
	failed
	canceled
)

// made is a task instance of an attempt.
type made struct {
	name    string
	piece   *Piece
	group   bool
	state   standing
	ignored bool
	own     []effect
	below   []*made // children in order of creation
	round   int     // index in below at which the current iteration of a group begins

	before  *made    // the same task in the earlier attempt, if it is carried over
	byPart  bool     // skipped because the retry runs only a part
	skipped bool     // skipped for any reason
	left    []effect // for a skipped task that did not succeed before: the results of carried-over tasks below it
	checked []effect // for such a group: the results of its check, which is not created again
}

// effects lists the results of a task and all tasks below it, in the order in which later tasks see them.
func (t *made) effects() []effect {
	if t.before != nil {
		return t.before.effects()
	}
	list := slices.Concat(t.own, t.left)
	for _, b := range t.below {
		list = append(list, b.effects()...)
	}
	return append(list, t.checked...)
}

// current returns the children that count: the current iteration of a group, or the newest generated task of each name.
func (t *made) current() (list []*made) {
	if t.group {
		return t.below[t.round:]
	}
	for _, b := range t.below {
		list = slices.DeleteFunc(list, func(x *made) bool { return x.name == b.name })
		list = append(list, b)
	}
	return list
}

func isHandler(name string) bool {
	return strings.Contains(name, "^error") || strings.Contains(name, "^finally") || strings.Contains(name, "^cancel")
}

type exec struct {
	*Pipeline
	Given
	*Prediction
	verdicts map[string]verdict
	counts   map[string]int
	spent    []string // tasks that were retried as a whole
	seen     map[string]bool
	ran      []string // tasks whose commands ran
	killed   bool
}

type ending struct{}

// Follow predicts an attempt.
func (p *Pipeline) Follow(g Given) *Prediction {
	r := &Prediction{index: map[string]*made{}}
	x := &exec{Pipeline: p, Given: g, Prediction: r, counts: map[string]int{}, seen: map[string]bool{}}
	if g.Before != nil {
		x.verdicts = p.verdicts(g)
	}
	r.Saved = g.Local
	func() {
		defer func() {
			if e := recover(); e != nil {
				if _, over := e.(ending); !over {
					panic(e)
				}
			}
		}()
		r.root = x.make(nil, p.Root.Name, p.Root)
		x.run(r.root, param.New())
	}()
	r.Outcome = map[standing]string{ok: "success", failed: "error", canceled: "canceled", underWay: "running"}[r.root.state]
	if r.root.state == failed {
		r.Notices++
	}
	slices.Sort(r.Runs)
	r.enter(r.root)
	return r
}

func (r *Prediction) enter(t *made) {
	r.index[t.name] = t
	for _, b := range t.current() {
		r.enter(b)
	}
}

// make creates a task and the tasks written below it. A task that is carried over or skipped succeeds at once.
func (x *exec) make(parent *made, name string, p *Piece) *made {
	t := &made{name: name, piece: p, group: p.Kind == "group"}
	if parent != nil {
		parent.below = append(parent.below, t)
	}
	switch x.verdict(name) {
	case take:
		x.take(t)
	case skip, skipByPart:
		x.skip(t)
	default:
		x.makeBelow(t)
	}
	return t
}

// makeBelow creates a group's tasks for its next iteration.
func (x *exec) makeBelow(t *made) {
	t.round = len(t.below)
	if t.group {
		for _, b := range t.piece.Below {
			x.make(t, t.name+b.Name, b)
		}
	}
}

// do runs a task unless it has already succeeded.
func (x *exec) do(t *made, scope *param.Map) {
	if t.state == notRun {
		x.run(t, scope)
	}
}

func (x *exec) take(t *made) {
	t.state, t.before = ok, x.Before.index[t.name]
	t.ignored = t.before.ignored
	if !t.group {
		return
	}
	x.makeBelow(t)
}

func (x *exec) skip(t *made) {
	t.state, t.skipped, t.byPart = ok, true, x.verdict(t.name) == skipByPart
	if !t.group {
		t.left = x.takenBelow(x.Before.index[t.name])
		return
	}
	x.makeBelow(t)
	if check := x.Before.index[t.name+"^check"]; check != nil {
		t.checked = x.taken(check)
	}
}

// taken returns a task's results, if it is carried over, or those of the carried-over tasks below it.
func (x *exec) taken(t *made) []effect {
	if x.verdict(t.name) == take {
		return t.effects()
	}
	return x.takenBelow(t)
}

// takenBelow returns the results of the carried-over tasks below a task that is not carried over itself.
func (x *exec) takenBelow(t *made) (list []effect) {
	if t == nil {
		return nil
	}
	for _, b := range t.current() {
		list = append(list, x.taken(b)...)
	}
	return list
}

// run runs a task, or a group, to its end.
func (x *exec) run(t *made, scope *param.Map) {
	t.state = underWay
	inner := param.Merge(scope, t.piece.Export)
	for tries := 0; ; tries++ {
		first := len(t.below) // where the tasks of this try begin
		if t.group && tries == 0 {
			first = t.round
		}
		if tries > 0 {
			x.spent = append(x.spent, t.name)
		}
		var good, itself bool
		if t.group {
			good = x.group(t, inner, tries > 0)
		} else {
			good, itself = x.operator(t, inner, &tries)
		}
		seen := lay(inner, t.own)
		for _, b := range t.below[first:] {
			seen = lay(seen, b.effects())
		}
		if good && len(t.piece.Check) > 0 {
			good = x.check(t, seen)
		}
		if x.killed {
			x.close(t, inner, canceled)
			return
		}
		if good {
			x.close(t, inner, ok)
			return
		}
		if itself || tries >= t.piece.Retry {
			x.fail(t, inner, itself)
			return
		}
	}
}

// group runs one iteration of a group.
func (x *exec) group(t *made, inner *param.Map, again bool) bool {
	if again {
		x.makeBelow(t)
	}
	good := true
	for _, c := range slices.Clone(t.below[t.round:]) {
		x.do(c, inner)
		if x.killed {
			return false
		}
		if good = good && c.state == ok; t.piece.Parallel {
			continue
		}
		if !good {
			return false
		}
		inner = lay(inner, c.effects())
	}
	return good
}

// operator runs a task's operator, including its retries, and then the tasks that it generated. itself means that the
// operator failed after its last retry.
func (x *exec) operator(t *made, inner *param.Map, tries *int) (good, itself bool) {
	makes := t.piece.Kind != "work"
	saved, there := x.saved(t.name)
	switch p := t.piece; {
	case there:
		t.own, makes = saved.own, saved.made
	case p.Kind == "work" || p.Kind == "make":
		for ; !x.command(t, inner); *tries++ {
			if x.killed || *tries >= p.Retry {
				return false, true
			}
		}
	default:
		x.begin(t.name)
		t.own = nil
	}
	var c *made
	if makes {
		c = x.make(t, t.name+"^sub", x.subtasks(t.piece))
	}
	if len(t.piece.Check) > 0 {
		x.make(t, t.name+"^check", &Piece{Kind: "group", Below: t.piece.Check})
	}
	if c == nil {
		return true, false
	}
	x.do(c, lay(inner, t.own))
	return c.state == ok, false
}

// check runs `_check`. For an operator, its tasks were created together with the generated tasks.
func (x *exec) check(t *made, scope *param.Map) bool {
	if t.group {
		return x.handler(t, "^check", t.piece.Check, scope).state == ok
	}
	h := t.below[len(t.below)-1]
	x.do(h, scope)
	return h.state == ok
}

// command runs a command once.
func (x *exec) command(t *made, inner *param.Map) bool {
	if x.EndAt > 0 && x.works == x.EndAt {
		panic(ending{})
	}
	x.works++
	x.counts[t.name]++
	x.begin(t.name)
	n := x.counts[t.name]
	x.Runs = append(x.Runs, fmt.Sprintf("%s#%d %s", t.name, n, Shown(inner)))
	if x.KillAt > 0 && x.works >= x.KillAt && !x.killed && !strings.ContainsAny(strings.ReplaceAll(t.name, "^sub", ""), "^") {
		x.killed = true
		return false
	}
	if x.Fails(x.Number, t.name, n) {
		return false
	}
	stores, reset := Stores(t.piece.Keys, t.piece.Resets, x.Number, t.name, n)
	t.own = []effect{{reset, stores}}
	return true
}

// subtasks returns the group that an operator generates.
func (x *exec) subtasks(p *Piece) *Piece {
	g := &Piece{Kind: "group", Below: p.Below, Parallel: p.Parallel}
	if p.Kind == "loop" || p.Kind == "each" {
		g.Below = nil
		for i := range p.Rounds {
			name := fmt.Sprintf("+loop-%d", i)
			if p.Kind == "each" {
				name = fmt.Sprintf("+for-0=v=%d=%s", i, []string{"a", "b"}[i])
			}
			g.Below = append(g.Below, &Piece{Name: name, Kind: "group", Below: p.Below})
		}
	}
	return g
}

// handler runs a handler of a task: `_error`, `_check` of a group, `_finally` or `_cancel`.
func (x *exec) handler(t *made, name string, list []*Piece, scope *param.Map) *made {
	h := x.make(t, t.name+name, &Piece{Kind: "group", Below: list})
	killed := x.killed
	x.killed = false // a kill does not end handlers that start after it
	x.do(h, scope)
	x.killed = killed || x.killed
	return h
}

// fail ends a task that failed after its last retry.
func (x *exec) fail(t *made, inner *param.Map, itself bool) {
	end := failed
	told := param.New()
	if !itself { // a group's handler sees the stores of all tasks below it
		told = x.below(t)
	}
	if x.Gated && t.piece.Ignore {
		end, t.ignored = ok, true
		x.ignore(t)
	}
	if len(t.piece.Error) > 0 {
		x.handler(t, "^error", t.piece.Error, param.Merge(lay(inner, t.own), told))
	}
	x.close(t, inner, end)
}

func (x *exec) ignore(t *made) {
	name := t.name[strings.LastIndexAny(t.name, "+^")+1:]
	t.own = append(slices.Clip(t.own), effect{nil, param.New("failed", param.New(name, param.New("message", "")))})
}

func (x *exec) below(t *made) *param.Map {
	m := param.New()
	for _, b := range t.below {
		m = lay(m, b.effects())
	}
	return m
}

// close ends a task after its `_cancel` and `_finally`.
func (x *exec) close(t *made, inner *param.Map, end standing) {
	if end == canceled && len(t.piece.Cancel) > 0 {
		x.handler(t, "^cancel", t.piece.Cancel, param.Merge(lay(inner, t.own), x.below(t)))
	}
	if len(t.piece.Finally) > 0 {
		h := x.handler(t, "^finally", t.piece.Finally, param.Merge(lay(inner, t.own), x.below(t)))
		switch {
		case h.state == ok || end != ok || t.ignored:
		case t.piece.Ignore:
			t.ignored = true
			x.ignore(t)
		default:
			end = failed
		}
	}
	t.state = end
	x.save(t)
}
