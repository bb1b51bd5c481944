package localrun

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// nodesOf returns a workflow's tasks.
func nodesOf(t *testing.T, text string) []dig.Node {
	t.Helper()
	list, err := dig.Load(func(string) ([]byte, error) { return []byte(text), nil }, []string{"w.dig"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := engine.Define(list[0])
	if err != nil {
		t.Fatal(err)
	}
	return d.Nodes
}

const pipeline = `
+a: {echo>: x}
+g:
  _check: {+c: {echo>: x}}
  +b: {echo>: x}
  +c: {echo>: x}
+d: {echo>: x}
+e: {echo>: x}
`

// TestSubtree proves that only the task that a command line names and the tasks below it run, and that an invalid name
// is an error with a hint.
func TestSubtree(t *testing.T) {
	t.Parallel()
	nodes := nodesOf(t, pipeline)
	for pattern, want := range map[string]string{"": "+w +w+a +w+g +w+g+b +w+g+c +w+d +w+e", "+g": "+w +w+g +w+g+b +w+g+c", "+w+g+c": "+w +w+g+c", "+e": "+w +w+e", "+w": "+w +w+a +w+g +w+g+b +w+g+c +w+d +w+e"} {
		kept, err := subtree(nodes, pattern)
		var names []string
		for i, n := range kept {
			names = append(names, n.Name)
			if i > 0 && (n.Parent < 0 || n.Parent >= i) || slices.ContainsFunc(n.Upstreams, func(u int) bool { return u < 0 || u >= i }) {
				t.Errorf("%q: %s has the parent %d and waits for %v", pattern, n.Name, n.Parent, n.Upstreams)
			}
		}
		if diff := cmp.Diff(strings.Fields(want), names); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", pattern, err, diff)
		}
	}
	if _, err := subtree(nodes, "+f"); err == nil || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("a task that there is not: %v", err)
	}
}

// TestPlan checks which tasks a run takes over from an earlier one, runs and skips, depending on its options.
func TestPlan(t *testing.T) {
	t.Parallel()
	all := []string{"+w+a", "+w+g+b", "+w+g+c", "+w+d", "+w+e"}
	for _, c := range []struct {
		name  string
		o     Options
		taken string
		left  string
	}{
		{"without options", Options{}, "+w+a +w+g+b +w+g+c +w+d +w+e", ""},
		{"--rerun", Options{Rerun: true}, "", ""},
		{"--start", Options{Start: "+g"}, "+w+a", ""},
		{"--start within a group", Options{Start: "+g+c"}, "+w+a +w+g+b", ""},
		{"--goal", Options{Goal: "+g"}, "+w+a", "+w+d +w+e"},
		{"--end", Options{End: "+d"}, "+w+a +w+g+b +w+g+c", "+w+d +w+e"},
		{"--start and --end", Options{Start: "+g+c", End: "+e"}, "+w+a +w+g+b", "+w+e"},
		{"--rerun and --end", Options{Rerun: true, End: "+d"}, "", "+w+d +w+e"},
	} {
		f := newStatusFolder(t.TempDir(), time.Unix(0, 0).UTC())
		for _, name := range all {
			f.save(&engine.Task{Name: name, Outcome: &engine.Outcome{}}, engine.Stored{Stores: param.New("of", name)})
		}
		r, nodes := &run{Options: &c.o}, nodesOf(t, pipeline)
		p, err := r.planOf(nodes)
		if err != nil {
			t.Fatal(err)
		}
		p.use(f, nodes)
		var taken, left []string
		for _, name := range all {
			result := p.instead(name)
			switch {
			case p.leaves(name):
				left = append(left, name)
			case p.took(name):
				taken = append(taken, name)
				if of, _ := result.Store.Get("of"); of != name {
					t.Errorf("%s: %s is given what %v stored", c.name, name, of)
				}
			case result != nil:
				t.Errorf("%s: %s neither runs nor is skipped", c.name, name)
			}
		}
		if got := strings.Join(taken, " "); got != c.taken {
			t.Errorf("%s: takes %q, want %q", c.name, got, c.taken)
		}
		if got := strings.Join(left, " "); got != c.left {
			t.Errorf("%s: leaves out %q, want %q", c.name, got, c.left)
		}
		again := c.o.Rerun || c.o.Start != "" // everything that is not taken over, even by a later run
		for _, name := range all {
			want := slices.Contains(taken, name) || slices.Contains(left, name) && !again
			if kept := f.read(name) != nil; kept != want {
				t.Errorf("%s: the state of %s is there: %v", c.name, name, kept)
			}
		}
	}
	for _, o := range []Options{{Start: "+f"}, {Goal: "+f"}, {End: "+f"}} {
		if _, err := (&run{Options: &o}).planOf(nodesOf(t, pipeline)); err == nil {
			t.Errorf("%+v names no task, and is accepted", o)
		}
	}
}

// TestPlanWithoutState proves that without saved state, no option skips anything, as in Digdag.
func TestPlanWithoutState(t *testing.T) {
	t.Parallel()
	p, err := (&run{Options: &Options{Goal: "+g"}}).planOf(nodesOf(t, pipeline))
	if err != nil {
		t.Fatal(err)
	}
	if result := p.instead("+w+e"); result != nil {
		t.Errorf("%+v", result)
	}
}
