package dig

import (
	"errors"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"zerodag/engine/param"
)

// maxIncludes limits how long a chain of includes may be.
const maxIncludes = 50

// includeCost is the number of bytes that each include counts against the budget, in addition to its text: opening a
// file costs more than reading a byte.
const includeCost = 4 << 10

// include merges another file into the mapping at this place. If both values are mappings, they are merged deeply and
// the included file wins; otherwise the included value replaces the existing one.
func (b *mappingBuilder) include(key, value *yaml.Node, depth int) {
	name, ok := b.includedName(key, value)
	if !ok {
		return
	}
	sub := b.included(key, name, depth)
	at := b.places[sub]
	for i := range sub.Len() {
		k, v := sub.At(i)
		old, _ := b.out.Get(k)
		if base, ok := old.(*param.Map); ok {
			if over, ok := v.(*param.Map); ok {
				v = b.overlay(base, over)
			}
		}
		b.set(k, v, at[i])
	}
}

// includedName resolves the path relative to the including file's folder, which the path must not leave.
func (b *mappingBuilder) includedName(key, value *yaml.Node) (string, bool) {
	text, isText := b.value(value, 0).(string)
	if !isText || text == "" {
		b.fail(key, "write `!include : file`", "!include needs a file path")
		return "", false
	}
	dir := path.Dir(b.file)
	name := path.Join(dir, text)
	inside := dir == "." && name != ".." && !strings.HasPrefix(name, "../") || strings.HasPrefix(name, dir+"/")
	if !inside || path.IsAbs(text) {
		b.fail(key, "a file may only include files from its own folder and its subfolders", "File name must not include ..: %s", text)
		return "", false
	}
	return name, true
}

// included loads the file that the directive at key names; nil if that failed.
func (r *reader) included(key *yaml.Node, name string, depth int) *param.Map {
	chain := append(slices.Clone(r.above), r.file)
	if slices.Contains(chain, name) || len(chain) > maxIncludes {
		r.fail(key, "remove one of these includes", "files include each other in a cycle: %s", strings.Join(append(chain, name), " -> "))
		return nil
	}
	text, err := r.read(name)
	if errors.Is(err, ErrNotFound) {
		r.fail(key, missingHint(err, "the path is relative to the folder of this file"), "included file does not exist: %s", name)
		return nil
	} else if err != nil {
		r.fail(key, "", "read included file %s: %s", name, err)
		return nil
	}
	if !r.spend(key, includeCost+len(text)) {
		return nil
	}
	v, ok := r.open(name, chain, text, depth)
	m, isMap := v.(*param.Map)
	if ok && !isMap {
		r.fail(key, "an included file must be a mapping", "Expected object to load Config but got %s: %s", param.KindOf(v), name)
	}
	return m
}

// open parses one file into a value; false if it is not YAML, which was reported.
func (p *project) open(name string, above []string, text []byte, depth int) (param.Value, bool) {
	fault := p.seen.admit(name, text)
	var node *yaml.Node
	if fault == nil {
		node, fault = document(name, text)
	}
	if fault != nil {
		p.errs = append(p.errs, *fault)
		return nil, false
	}
	if node == nil {
		return nil, true
	}
	before := len(p.errs)
	r := &reader{project: p, file: name, text: text, above: above, anchors: map[*yaml.Node]*anchor{}}
	v := r.value(node, depth)
	return v, v != nil || len(p.errs) == before
}

// overlay is param.Merge, but keeps the places of the keys.
func (p *project) overlay(base, over *param.Map) *param.Map {
	b := &mappingBuilder{reader: &reader{project: p}, out: base.Clone(), at: slices.Clone(p.places[base])}
	at := p.places[over]
	for i := range over.Len() {
		k, v := over.At(i)
		old, _ := b.out.Get(k)
		if o, ok := old.(*param.Map); ok {
			if sub, ok := v.(*param.Map); ok {
				v = p.overlay(o, sub)
			}
		}
		b.set(k, v, at[i])
	}
	p.places[b.out] = b.at
	return b.out
}
