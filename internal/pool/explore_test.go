package pool

import (
	"fmt"
	"hash/maphash"
	"os"
	"strings"
	"testing"
)

// result is the result of an exploration.
type result struct {
	worlds   int
	repaired int    // worlds in which the minute check had to help
	wasteful int    // worlds in which a task has more slots than it requested
	bad      string // with the path to it; "" if nothing was found
	cut      bool   // there are more worlds
}

// explore walks through all worlds of a space, unless there are more than most.
func (s space) explore(most int) (r result) {
	type frame struct {
		by   move
		left []move
	}
	seed := maphash.MakeSeed()
	seen := map[uint64]struct{}{} // 64-bit hashes: among millions of worlds, two collide once in a million runs
	var path []frame
	enter := func(m move) bool {
		h := maphash.Comparable(seed, m.to)
		if _, ok := seen[h]; ok {
			return true
		}
		seen[h] = struct{}{}
		next, wrong := s.look(m.to, &r)
		path = append(path, frame{m, next})
		if wrong != "" {
			for _, f := range path {
				r.bad += f.by.String() + "\n"
			}
			r.bad += wrong
		}
		return wrong == ""
	}
	ok := enter(move{format: "the start", to: s.start()})
	for ok && len(path) > 0 {
		if r.cut = len(seen) >= most; r.cut {
			break
		}
		f := &path[len(path)-1]
		if len(f.left) == 0 {
			path = path[:len(path)-1]
			continue
		}
		m := f.left[0]
		f.left = f.left[1:]
		ok = enter(m)
	}
	r.worlds = len(seen)
	return r
}

// look returns the fault of a world, if any, and the moves that can come next in it.
func (s space) look(w world, r *result) (next []move, wrong string) {
	if wrong := s.wrong(w); wrong != "" {
		return nil, wrong
	}
	for t, k := range s.claims {
		if count(w.taken, t) > k {
			r.wasteful++
			break
		}
	}
	next = s.moves(w)
	if !w.quiet() {
		return next, ""
	}
	if wrong := s.stale(w); wrong != "" {
		return nil, wrong
	}
	help := s.check(w)
	if len(help) > 0 {
		r.repaired++
		if !s.repaired {
			return nil, fmt.Sprintf("forgotten: slots %v, line %b, lives %v: %s", w.taken, w.line, w.lives, help[0])
		}
	}
	if next = append(next, help...); len(next) == 0 && (w.line != 0 || w.taken != [maxSlots]int8{} || s.unfinished(w)) {
		return nil, fmt.Sprintf("stuck: slots %v, line %b, lives %v", w.taken, w.line, w.lives)
	}
	return next, ""
}

func (s space) unfinished(w world) bool {
	for t := range s.claims {
		if w.lives[t] != ended && w.lives[t] != killed {
			return true
		}
	}
	return false
}

func (s space) String() string {
	b := fmt.Sprintf("%d slots, claims %v", s.slots, s.claims)
	for _, n := range []struct {
		n    int8
		name string
	}{{s.kills, "kill"}, {s.crashes, "crash"}, {s.doubles, "double"}} {
		if n.n > 0 {
			b += fmt.Sprintf(", %d %s", n.n, n.name)
		}
	}
	return b + [...]string{"", ", torn before the line", ", torn before the slots"}[s.torn]
}

// small returns the spaces that every run of the tests explores.
func small() []space {
	return []space{
		{slots: 1, claims: []int{1, 1}, kills: 1, crashes: 1},
		{slots: 1, claims: []int{1, 1}, crashes: 1, torn: lineLast},
		{slots: 1, claims: []int{1, 1}, crashes: 1, torn: slotsLast},
		{slots: 2, claims: []int{2, 2}, kills: 1, crashes: 1},
		{slots: 2, claims: []int{2, 1}, kills: 1, crashes: 1},
		{slots: 2, claims: []int{1, 2}, kills: 1, crashes: 1},
		{slots: 1, claims: []int{1, 1, 1}},
		{slots: 2, claims: []int{1, 2, 1}},
		{slots: 1, claims: []int{2, 1}, crashes: 1}, // more slots than exist
	}
}

// TestExplore walks through all orders in which workers can interleave in small pools: no task runs without its slots,
// no slot or place in line is left with a task that has ended, no claim that fits is forgotten, and all tasks end.
func TestExplore(t *testing.T) {
	t.Parallel()
	for _, s := range small() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			s.report(t, s.explore(5_000_000))
		})
	}
}

func (s space) report(t *testing.T, r result) {
	t.Helper()
	t.Logf("worlds %d, wasteful %d, helped by the check %d", r.worlds, r.wasteful, r.repaired)
	if r.bad != "" {
		t.Error(r.bad)
	}
	if r.cut {
		t.Errorf("there are more than %d worlds", r.worlds)
	}
}

// TestModel explores larger spaces, some with the help of the minute check: `make model`.
func TestModel(t *testing.T) {
	if os.Getenv("ZERODAG_MODEL") == "" {
		t.Skip("takes minutes: make model")
	}
	spaces := large()
	if os.Getenv("ZERODAG_MODEL") == "all" {
		spaces = append(spaces, largest()...)
	}
	for _, s := range spaces {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			s.report(t, s.explore(60_000_000))
		})
	}
}

// large returns spaces that take up to half a minute each; `make test-long` explores them.
func large() []space {
	return []space{
		{slots: 1, claims: []int{1, 1}, kills: 1, doubles: 1},
		{slots: 2, claims: []int{1, 1}, kills: 1, crashes: 1, doubles: 1, repaired: true},
		{slots: 1, claims: []int{1, 1}, kills: 1, crashes: 1, torn: lineLast},
		{slots: 1, claims: []int{1, 1}, kills: 1, crashes: 1, torn: slotsLast},
		{slots: 2, claims: []int{2, 1}, kills: 1, crashes: 1, torn: slotsLast},
		{slots: 1, claims: []int{1, 1, 1}, crashes: 1},
		{slots: 2, claims: []int{1, 2, 1}, crashes: 1},
		{slots: 2, claims: []int{1, 1, 1}, crashes: 1, torn: slotsLast},
	}
}

// largest returns spaces that take minutes each; only `make model` explores them.
func largest() []space {
	return []space{
		{slots: 1, claims: []int{1, 1}, kills: 1, crashes: 1, doubles: 1, repaired: true},
		{slots: 1, claims: []int{1, 1, 1}, kills: 1},
		{slots: 2, claims: []int{1, 2, 1}, kills: 1},
		{slots: 3, claims: []int{2, 2, 1}, crashes: 1},
		{slots: 2, claims: []int{1, 2, 1}, crashes: 1, torn: lineLast},
		{slots: 2, claims: []int{2, 1}, kills: 1, crashes: 1, doubles: 1, repaired: true},
		{slots: 2, claims: []int{1, 2}, kills: 1, crashes: 1, doubles: 1, repaired: true},
		{slots: 1, claims: []int{1, 1, 1}, doubles: 1},
		{slots: 2, claims: []int{1, 2, 1}, doubles: 1},
		{slots: 2, claims: []int{1, 1, 1, 1}},
	}
}

// TestPlantedFaults proves that an exploration finds each of five defects.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	for f, name := range map[fault]string{noReread: "no other look after joining", noRecheck: "the log is not read after joining", noPump: "nobody is woken", notSeen: "own slots are not seen", byClock: "the clock frees slots"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range small() {
				if s.fault = f; s.explore(5_000_000).bad != "" {
					return
				}
			}
			t.Error("no exploration has found it")
		})
	}
}

// TestReadablePath proves that a reported fault includes the path to it.
func TestReadablePath(t *testing.T) {
	t.Parallel()
	s := space{slots: 1, claims: []int{1, 1}, fault: noPump}
	if bad := s.explore(1_000_000).bad; !strings.HasPrefix(bad, "the start\n") || !strings.Contains(bad, "forgotten") {
		t.Errorf("it says %q", bad)
	}
}
