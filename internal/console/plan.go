package console

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/internal/host"
)

// Plan is a workflow as it is defined: its tasks before any of them runs.
type Plan struct {
	Workflow host.Workflow
	Tasks    []Planned // the root first; parents before their contents
	All      bool      // false: there are more
	Params   []Used    // parameters that expressions read and nothing in the workflow sets
	Source   bool      // the files of the revision could be read, so that places are known
}

// Planned is a task of a plan.
type Planned struct {
	Name      string // the full name; {} stands for parts known only at run time
	Parent    int    // index in Tasks; -1 for the root
	Upstreams []int  // indexes of the tasks that must succeed first
	Operator  string // "" for a group
	Group     bool
	// Makes means that the task generates tasks at run time; the tasks of its bodies follow it, marked as Made.
	Makes bool
	Made  bool
	Calls string    // the target of call> and require>; "" for none or an expression
	Place dig.Place // zero if it is unknown
}

// Used is a parameter that expressions read.
type Used struct {
	Name string
	Task string // the first task that reads it
}

// Limits on a plan.
const (
	mostPlanned   = 2000
	mostEdges     = 50_000
	mostUsed      = 200
	deepestBodies = 5
	mostSource    = 32 << 20 // bytes of the files in which places are searched
)

// Plan compiles a workflow of any revision.
func (c *Console) Plan(ctx context.Context, w host.Workflow) (*Plan, error) {
	p, err := planOf(w)
	if err != nil {
		return nil, err
	}
	read, err := c.source(ctx, host.Revision{Archive: w.Archive})
	if errors.Is(err, host.ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.locate(read)
	return p, nil
}

// PlanHere compiles a workflow from files that are not stored.
func PlanHere(w dig.Workflow, read dig.Source) (*Plan, error) {
	p, err := planOf(host.Workflow{Name: w.Name, Config: w.Config})
	if err == nil {
		p.locate(read)
	}
	return p, err
}

func planOf(w host.Workflow) (*Plan, error) {
	nodes, err := dig.Tree(w.Name, w.Config)
	if err != nil {
		return nil, host.Invalidf("%v", err)
	}
	p := &planner{Plan: Plan{Workflow: w, All: true}}
	p.lay(-1, nodes, false, 0)
	used := newUses(w.Config.Map("schedule") != nil)
	used.task("+"+w.Name, w.Config)
	p.Params = used.open()
	return &p.Plan, nil
}

// locate finds where the tasks are defined.
func (p *Plan) locate(read dig.Source) {
	names := make([]string, len(p.Tasks))
	for i, t := range p.Tasks {
		names[i] = t.Name
	}
	p.Source = true
	places := dig.Places(read, p.Workflow.Name+".dig", names)
	for i := range p.Tasks {
		p.Tasks[i].Place = places[p.Tasks[i].Name]
	}
}

type planner struct {
	Plan
	edges int
}

// lay adds nodes, the first of which is below a parent, and the tasks that they generate.
func (p *planner) lay(parent int, nodes []dig.Node, made bool, depth int) {
	at := make([]int, len(nodes))
	for i, n := range nodes {
		if p.edges += len(n.Upstreams); len(p.Tasks) >= mostPlanned || p.edges > mostEdges {
			p.All = false
			return
		}
		t := Planned{Name: n.Name, Parent: parent, Group: n.Group, Operator: keys.OperatorOf(n.Config), Made: made, Makes: makes(n)}
		if i > 0 {
			t.Parent = at[n.Parent]
		}
		for _, u := range n.Upstreams {
			t.Upstreams = append(t.Upstreams, at[u])
		}
		if named, _ := n.Config.Get(t.Operator + ">"); t.Operator == "call" || t.Operator == "require" {
			if text, ok := named.(string); ok && !strings.Contains(text, "${") {
				t.Calls = text
			}
		}
		at[i] = len(p.Tasks)
		p.Tasks = append(p.Tasks, t)
		p.bodies(at[i], n, depth)
	}
}

// makes reports whether a task's operator generates tasks.
func makes(n dig.Node) bool {
	return slices.Contains([]string{"loop", "for_each", "for_range", "td_for_each", "if", "call", "http_call"}, keys.OperatorOf(n.Config))
}

// bodies adds the tasks that a task has below `_do` and `_else_do`.
func (p *planner) bodies(owner int, n dig.Node, depth int) {
	if depth >= deepestBodies {
		return
	}
	above, name := n.Name, "^sub"
	if operator := keys.OperatorOf(n.Config); operator != "if" && operator != "switch" {
		above, name = n.Name+"^sub", "+{}" // for each iteration, under a name that contains its values
	}
	for _, body := range keys.BodiesOf(n.Config) {
		nodes, err := dig.Compile(above, name, keys.Language{Level: n.Level}, body)
		if err != nil {
			continue // it fails at run time, and check reports it
		}
		p.lay(owner, nodes, true, depth+1)
	}
}

// source reads the files of a revision that may define a workflow. It returns host.ErrNotFound if the archive is
// missing or was removed.
func (c *Console) source(ctx context.Context, r host.Revision) (dig.Source, error) {
	if r.Archive == "" {
		return nil, host.ErrNotFound
	}
	files, links, left := map[string][]byte{}, map[string]string{}, int64(mostSource)
	_, err := c.eachEntry(ctx, r, func(h *tar.Header, name string, content io.Reader) (bool, error) {
		switch {
		case h.Typeflag == tar.TypeSymlink:
			links[name] = path.Join(path.Dir(name), h.Linkname) // #nosec G305 -- only a key of a map: nothing is written
		case h.Size <= min(dig.MaxFile, left):
			text, err := io.ReadAll(content)
			if err != nil {
				return false, err
			}
			if left -= h.Size; !bytes.ContainsRune(text, 0) {
				files[name] = text
			}
		}
		return true, nil
	})
	return func(name string) ([]byte, error) {
		for range 10 {
			if text, there := files[name]; there {
				return text, nil
			}
			name = links[name]
		}
		return nil, fmt.Errorf("%w: %s", dig.ErrNotFound, name)
	}, err
}

// Place returns where a task of an attempt is defined. It uses the task's full name and the message of its error, if
// any. found is false if the place is no longer known.
func (c *Console) Place(ctx context.Context, a host.Attempt, task, message string) (place dig.Place, found bool, err error) {
	w, err := c.Catalogue.Workflow(ctx, a.Site, a.Workflow.ID)
	if err == nil {
		var read dig.Source
		if read, err = c.source(ctx, host.Revision{Archive: w.Archive}); err == nil {
			place, found = dig.Find(read, w.Name+".dig", task, message)
			return place, found, nil
		}
	}
	if errors.Is(err, host.ErrNotFound) {
		return dig.Place{}, false, nil
	}
	return dig.Place{}, false, err
}
