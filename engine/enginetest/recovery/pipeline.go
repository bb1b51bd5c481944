// Package recovery predicts the outcome of a random workflow that fails, is killed or loses its process, and is then
// resumed in any of the possible ways.
//
// Tests of hosts and of `zerodag run` compare it with the actual outcome. It must not share any code with the engine.
package recovery

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"zerodag/engine/enginetest/draw"
	"zerodag/engine/param"
)

// Pipeline is a random workflow whose tasks store, export and fail in a predetermined way, so that a test can run it
// with any host and compare the outcome with a prediction. Its commands are `work>`, and `make>`, which also returns
// subtasks.
type Pipeline struct {
	Root  *Piece
	Gated bool                  // its files have `zerodag: 1`
	Files map[string]*param.Map // the files that call> runs, by name
	seed  uint64
}

// Piece is a task or group of a Pipeline.
type Piece struct {
	Name     string // "+t0"
	Kind     string // work, group, loop, each, call, if, make
	Rounds   int    // of a loop or each
	Below    []*Piece
	Parallel bool
	Keys     []string // keys that work and make store
	Resets   []string
	Export   *param.Map
	Retry    int
	Ignore   bool

	Error, Check, Finally, Cancel []*Piece
}

// Draw draws a pipeline; parallel allows parallel tasks.
func Draw(c draw.Choose, gated, parallel bool) *Pipeline {
	p := &Pipeline{Gated: gated, Files: map[string]*param.Map{}, seed: uint64(c("seed", 1<<30))}
	d := drawing{Choose: c, gated: gated, parallel: parallel, left: 14}
	p.Root = &Piece{Name: "+main", Kind: "group", Below: d.pieces(2, true), Parallel: d.side()}
	d.handlers(p.Root)
	p.Root.Ignore = false
	return p
}

type drawing struct {
	draw.Choose
	gated, parallel bool
	left            int
}

func (d *drawing) side() bool { return d.parallel && d.One("parallel", 4) }

func (d *drawing) pieces(depth int, mayRetry bool) []*Piece {
	var list []*Piece
	for i := range 1 + d.Choose("pieces", 3) {
		if d.left--; d.left < 0 && i > 0 {
			break
		}
		list = append(list, d.piece(fmt.Sprintf("+t%d", i), depth, mayRetry))
	}
	return list
}

func (d *drawing) piece(name string, depth int, mayRetry bool) *Piece {
	p := &Piece{Name: name, Kind: "work"}
	if depth > 0 {
		p.Kind = []string{"work", "work", "work", "group", "loop", "each", "call", "if", "make"}[d.Choose("kind", 9)]
	}
	if p.Kind == "loop" || p.Kind == "each" {
		p.Rounds = 1 + d.Choose("rounds", 2)
	}
	if p.Kind == "work" || p.Kind == "make" {
		d.results(p)
	}
	if d.One("export", 5) {
		p.Export = param.New("k1", "export of "+name)
	}
	// A group inside a retried group has nothing to copy in its second iteration. That is left to other tests.
	retries := mayRetry && d.One("retry", 4)
	if retries || p.Kind == "work" && d.One("retry of work", 5) {
		p.Retry = 1 + d.Choose("retries", 2)
	}
	if p.Kind != "work" {
		p.Below = d.pieces(depth-1, mayRetry && !retries)
		p.Parallel = slices.Contains([]string{"group", "loop", "each"}, p.Kind) && d.side()
	}
	d.handlers(p)
	return p
}

// results draws the values that a command stores and resets.
func (d *drawing) results(p *Piece) {
	for _, k := range []string{"k0", "k1", "m"} {
		if d.One("key", 3) {
			p.Keys = append(p.Keys, k)
		}
	}
	if d.One("reset", 6) {
		p.Resets = []string{"k0", "k1", "m"}[d.Choose("which", 3):][:1]
	}
}

func (d *drawing) handlers(p *Piece) {
	handler := func() []*Piece {
		h := []*Piece{{Name: "+h0", Kind: "work", Keys: []string{"h"}}}
		if d.One("second", 3) {
			h = append(h, &Piece{Name: "+h1", Kind: "work", Keys: []string{"k0"}})
		}
		return h
	}
	if d.One("error", 4) {
		p.Error = handler()
	}
	if (d.gated || p.Kind != "group") && d.One("check", 5) {
		p.Check = handler()
	}
	if !d.gated {
		return
	}
	if d.One("finally", 4) {
		p.Finally = handler()
	}
	if d.One("cancel", 4) {
		p.Cancel = handler()
	}
	p.Ignore = d.One("ignore", 6)
}

// Config returns the main file of the pipeline, and adds the files that it calls to Files.
func (p *Pipeline) Config() *param.Map {
	return p.file(p.Root)
}

// file returns the file whose top level is the given piece.
func (p *Pipeline) file(x *Piece) *param.Map {
	m := p.config(x)
	if p.Gated {
		m = param.Merge(param.New("zerodag", int64(1)), m)
	}
	return m
}

func (p *Pipeline) config(x *Piece) *param.Map {
	m := param.New()
	group := func() *param.Map {
		g := param.New()
		for _, b := range x.Below {
			g.Set(b.Name, p.config(b))
		}
		return g
	}
	switch x.Kind {
	case "work", "make":
		m.Set(x.Kind+">", "x")
		m.Set("keys", texts(x.Keys))
		m.Set("resets", texts(x.Resets))
		if x.Kind == "make" {
			m.Set("subtasks", group())
		}
	case "group":
		m = group()
	case "loop":
		m.Set("loop>", int64(x.Rounds))
		m.Set("_do", group())
	case "each":
		m.Set("for_each>", param.New("v", texts([]string{"a", "b"}[:x.Rounds])))
		m.Set("_do", group())
	case "if":
		m.Set("if>", true)
		m.Set("_do", group())
	case "call":
		name := fmt.Sprintf("f%d.dig", len(p.Files))
		p.Files[name] = param.New() // reserves its place
		m.Set("call>", name)
		p.Files[name] = p.file(&Piece{Kind: "group", Below: x.Below})
	}
	if x.Parallel {
		m.Set("_parallel", true)
	}
	if x.Export != nil {
		m.Set("_export", x.Export)
	}
	if x.Retry > 0 {
		m.Set("_retry", int64(x.Retry))
	}
	if x.Ignore {
		m.Set("_ignore_error", true)
	}
	for _, h := range []struct {
		key  string
		list []*Piece
	}{{"_error", x.Error}, {"_check", x.Check}, {"_finally", x.Finally}, {"_cancel", x.Cancel}} {
		if len(h.list) > 0 {
			m.Set(h.key, p.config(&Piece{Kind: "group", Below: h.list}))
		}
	}
	return m
}

func texts(list []string) []param.Value {
	values := []param.Value{}
	for _, s := range list {
		values = append(values, s)
	}
	return values
}

// Fails reports whether the nth run of a task fails in an attempt; attempts are numbered from 0. Fewer runs fail in
// later attempts.
func (p *Pipeline) Fails(attempt int, name string, nth int) bool {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d/%s/%d", p.seed, attempt, name, nth)
	return h.Sum64()>>7%100 < uint64(max(0, 24-8*attempt))
}

// Stores returns the stores and resets of the nth run of a task in an attempt.
func Stores(keys, resets []string, attempt int, name string, nth int) (stores *param.Map, reset [][]string) {
	value := fmt.Sprintf("%s#%d.%d", name, attempt, nth)
	for _, k := range keys {
		if stores == nil {
			stores = param.New()
		}
		if k == "m" {
			stores.Set(k, param.New(name[strings.LastIndexAny(name, "+^")+1:], value))
		} else {
			stores.Set(k, value)
		}
	}
	for _, k := range resets {
		reset = append(reset, []string{k})
	}
	return stores, reset
}

// Shown returns the parameters that pipelines use, as text. Ignored errors are shown as the names of their tasks.
func Shown(params *param.Map) string {
	m := param.New()
	for _, k := range []string{"k0", "k1", "m", "h"} {
		if v, there := params.Get(k); there {
			m.Set(k, v)
		}
	}
	if failed := params.Map("failed"); failed.Len() > 0 {
		names := param.New()
		for k := range failed.All() {
			names.Set(k, true)
		}
		m.Set("failed", names)
	}
	return param.Text(m)
}
