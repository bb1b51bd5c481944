package console_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/console"
	"zerodag/internal/host"
)

// site holds sessions of workflows, some of which have a tag.
type site struct {
	sessions
	workflows
	list []host.Session // ascending by id
	tags map[string]string
	read int
}

func (s *site) Sessions(_ context.Context, q host.SessionQuery) ([]host.Session, error) {
	page := host.Page[host.Session]{Bytes: q.Bytes}
	for _, x := range slices.Backward(s.list) {
		if q.Before != 0 && x.ID >= q.Before || q.Project != 0 && q.Project != x.Project.ID || q.Workflow != "" && q.Workflow != x.Workflow.Name {
			continue
		}
		if len(page.Rows) == q.Count || !page.Add(x, x.Last.Params) {
			break
		}
	}
	s.read += len(page.Rows)
	return page.Rows, nil
}

func (s *site) Workflows(_ context.Context, q host.WorkflowQuery) (list []host.Workflow, err error) {
	for i, name := range sortedKeys(s.tags) {
		if id := int64(i + 1); id > q.Last && len(list) < q.Count {
			w := host.Workflow{ID: id, Name: name, Project: host.Ref{ID: 1}, Config: param.New("zerodag", int64(1))}
			if tag := s.tags[name]; tag != "" {
				w.Config.Set("tags", []param.Value{tag, param.New("of", name)})
			}
			list = append(list, w)
		}
	}
	return list, nil
}

func sortedKeys(m map[string]string) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s *site) console() *console.Console {
	return &console.Console{Now: time.Now, Catalogue: catalogue.New(catalogue.Options{Ports: host.Ports{Sessions: s, Workflows: s, Now: time.Now}})}
}

// newSite creates a site with n sessions of random workflows; tagged of the workflows have the tag "daily".
func newSite(r *rand.Rand, n, workflows, tagged int) *site {
	s := &site{tags: map[string]string{}}
	for i := range workflows {
		s.tags[fmt.Sprint("w", i)] = ""
		if i < tagged {
			s.tags[fmt.Sprint("w", i)] = "daily"
		}
	}
	for id := range n {
		a := host.Attempt{Done: r.IntN(3) > 0, Success: r.IntN(2) == 0, Zone: "Asia/Tokyo", Params: param.New("p", strings.Repeat("x", r.IntN(100)))}
		if a.Success = a.Success && a.Done; r.IntN(2) == 0 {
			a.Labels = param.New("team", fmt.Sprint("t", r.IntN(3)))
		}
		s.list = append(s.list, host.Session{ID: int64(id + 1), Project: host.Ref{ID: 1, Name: "p"}, Workflow: host.Ref{Name: fmt.Sprint("w", r.IntN(workflows))}, Time: time.Unix(int64(r.IntN(1000))*3600, 0).UTC(), Last: a})
	}
	return s
}

// wanted independently decides whether a session matches.
func (s *site) wanted(f console.SessionFilter, x host.Session) bool {
	label := ""
	if v, there := x.Last.Labels.Get("team"); there {
		label = "team=" + v.(string)
	}
	for _, tag := range f.Tags {
		if tag != s.tags[x.Workflow.Name] && tag != "of="+x.Workflow.Name || s.tags[x.Workflow.Name] == "" {
			return false
		}
	}
	from := f.From.At
	if f.From.Local {
		from = from.Add(-9 * time.Hour)
	}
	return (f.Text == "" || strings.Contains(x.Workflow.Name+label+s.tags[x.Workflow.Name], f.Text)) && (len(f.Labels) == 0 || f.Labels[0] == label) &&
		(len(f.States) == 0 || f.States[x.Last.Status()]) && (from.IsZero() || !x.Time.Before(from))
}

// TestSessionsByChance proves that pages with any size, bound and limit on the sessions to read together contain
// exactly the matching sessions, the newest first, whether few or many workflows have a tag.
func TestSessionsByChance(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 0)) // #nosec G404 -- a test that can be repeated
		workflows := 1 + r.IntN(80)
		s := newSite(r, r.IntN(600), workflows, r.IntN(workflows+1))
		f := console.SessionFilter{Count: 1 + r.IntN(50), Most: 1 + r.IntN(300), Bytes: r.IntN(2) * 500, InFile: true}
		maybe := func(do func()) {
			if r.IntN(3) == 0 {
				do()
			}
		}
		maybe(func() { f.Tags = append(f.Tags, "daily") })
		maybe(func() { f.Tags = append(f.Tags, "of=w1") })
		maybe(func() { f.Labels = []string{"team=t1"} })
		maybe(func() { f.States = map[string]bool{"error": true, "running": true} })
		maybe(func() { f.Text = "dai" })
		maybe(func() { f.From = console.Bound{At: time.Unix(500*3600, 0).UTC(), Local: r.IntN(2) == 0} })
		maybe(func() { f.Project = 1 })
		var want, got []int64
		for _, x := range slices.Backward(s.list) {
			if s.wanted(f, x) {
				want = append(want, x.ID)
			}
		}
		for pages := 0; ; pages++ {
			p, err := s.console().Sessions(t.Context(), f)
			if err != nil || pages > 2000 || p.Searched > f.Most || len(p.Sessions) > f.Count {
				t.Fatalf("seed %d: page %d: %+v, %v", seed, pages, p, err)
			}
			for _, x := range p.Sessions {
				got = append(got, x.ID)
			}
			if f.Before = p.Next; p.Next == 0 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %+v: got %v, want %v", seed, f, got, want)
		}
	}
}

// TestSearchIsBounded proves that a search without results stops at the limit of sessions and reports that, and that a
// search for a tag reads only the sessions of workflows with the tag.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	s := newSite(rand.New(rand.NewPCG(1, 1)), 12_000, 100, 2) // #nosec G404 -- a test that can be repeated
	p, err := s.console().Sessions(t.Context(), console.SessionFilter{Labels: []string{"team=nobody"}, Count: 10, Most: 10_000})
	if err != nil || len(p.Sessions) != 0 || p.Searched != 10_000 || !p.Cut || p.Next != 2001 || s.read != 10_000 {
		t.Errorf("%d read, %d searched, cut %v, next %d, %v", s.read, p.Searched, p.Cut, p.Next, err)
	}
	s.read = 0
	p, err = s.console().Sessions(t.Context(), console.SessionFilter{Tags: []string{"daily"}, Labels: []string{"team=nobody"}, Count: 10, Most: 10_000})
	if err != nil || p.Cut || p.Next != 0 || p.Searched != s.read || s.read > 400 {
		t.Errorf("with a tag: %d read, %d searched, cut %v, next %d, %v", s.read, p.Searched, p.Cut, p.Next, err)
	}
}
