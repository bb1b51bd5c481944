package dig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// project is the state shared by one Load: the source of files, the errors so far, and the file and place of each key.
// Keeping the places separate keeps param.Map simple.
type project struct {
	read   Source // nil: !include is unavailable
	errs   Errors
	lost   bool                      // a value could not be read: errors that follow from that are not reported
	places map[*param.Map][]position // parallel to the map's keys; nil if not needed
	seen   *amount                   // the amount read by this load
	doubts *Errors                   // scalars that probably do not mean what their author expects; nil if not needed
	budget int                       // what aliases and includes may still add, see maxExpansion

	weight  int // values plus bytes of text created so far
	deepest int // level of the deepest value since the innermost open anchor
}

// position is where a key was written.
type position struct {
	file         string
	line, column int
}

// maxExpansion limits what aliases and included files may add to one project, in values plus bytes of text: without it,
// a few lines expand to gigabytes.
const maxExpansion = 4 << 20

// reader converts one file's nodes into values.
type reader struct {
	*project
	file    string
	text    []byte
	lines   [][]byte // of text, once needed
	above   []string // the files that include this one, outermost first
	anchors map[*yaml.Node]*anchor
}

// anchor is a node that aliases point to: it is converted once and shared.
type anchor struct {
	value  param.Value
	weight int
	height int  // levels below it: aliases of aliases also nest
	open   bool // still being converted: an alias to it would contain itself
}

// fail reports that a node cannot be read.
func (r *reader) fail(n *yaml.Node, hint, format string, args ...any) {
	r.lost = true
	r.report(n, hint, format, args...)
}

func (r *reader) report(n *yaml.Node, hint, format string, args ...any) {
	if len(r.errs) < maxReported {
		r.errs = append(r.errs, Error{File: r.file, Line: n.Line, Column: n.Column,
			Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

// value converts one node. After a failure it returns nil and continues, so that one load reports everything.
func (r *reader) value(n *yaml.Node, depth int) param.Value {
	if n.Kind == yaml.AliasNode {
		return r.alias(n, depth)
	}
	if !r.descend(n, depth) {
		return nil
	}
	if n.Anchor == "" {
		return r.collection(n, depth)
	}
	a := &anchor{open: true}
	r.anchors[n] = a
	weight, deepest := r.weight, r.deepest
	r.deepest = depth
	a.value = r.collection(n, depth)
	a.weight, a.height, a.open = r.weight-weight, r.deepest-depth, false
	r.deepest = max(deepest, r.deepest)
	return a.value
}

// descend records that a value reaches a level; false if that is too deep.
func (r *reader) descend(n *yaml.Node, level int) bool {
	if level > MaxDepth {
		r.fail(n, "flatten it, or move parts to separate files", "nested deeper than %d levels", MaxDepth)
		return false
	}
	r.deepest = max(r.deepest, level)
	return true
}

func (r *reader) alias(n *yaml.Node, depth int) param.Value {
	a := r.anchors[n.Alias]
	if a == nil || a.open {
		r.fail(n, "remove the alias", "anchor &%s contains itself", n.Value)
		return nil
	}
	r.weight += a.weight
	if !r.spend(n, a.weight) || !r.descend(n, depth+a.height) {
		return nil
	}
	return a.value
}

// spend takes weight from the budget; it fails once, when the budget runs out.
func (r *reader) spend(n *yaml.Node, weight int) bool {
	if r.budget < 0 {
		return false
	}
	if r.budget -= weight; r.budget < 0 {
		r.fail(n, "use fewer aliases or includes", "aliases and included files add more than %d values and bytes", maxExpansion)
		return false
	}
	return true
}

func (r *reader) collection(n *yaml.Node, depth int) param.Value {
	r.weight += 1 + len(n.Value)
	switch n.Kind {
	case yaml.MappingNode:
		return r.mapping(n, depth)
	case yaml.SequenceNode:
		return r.sequence(n, depth)
	}
	if n.Tag == "!include" && r.read != nil {
		r.fail(n, "write it as a key on a separate line: `!include : file`", "!include cannot be a value")
		return nil
	}
	v, err := scalar(n)
	if err != nil {
		r.fail(n, scalarHint(err), "%s", err)
	}
	r.doubt(n)
	return v
}

func scalarHint(err error) string {
	if strings.Contains(err.Error(), "tag !include:") {
		return "the space before the colon is missing: write `!include : file`"
	}
	if strings.Contains(err.Error(), "constructor") {
		return "quote text that starts with !; in a condition, write the ! inside the expression: ${!name}"
	}
	return "quote the text"
}

func (r *reader) sequence(n *yaml.Node, depth int) param.Value {
	list := make([]param.Value, 0, len(n.Content))
	for _, c := range n.Content {
		list = append(list, r.value(c, depth+1))
	}
	switch n.Tag {
	case "!!seq":
		return list
	case "!!omap":
		m := keys.Overlaid(list)
		if r.places != nil {
			r.places[m] = make([]position, m.Len()) // unknown, but one for each key
		}
		return m
	case "!!pairs":
		for i, v := range list {
			if m, ok := v.(*param.Map); ok && m.Len() == 1 {
				key, value := m.At(0)
				list[i] = []param.Value{key, value}
			}
		}
		return list
	}
	r.fail(n, "remove the tag", "%s", unknownTag(n))
	return nil
}

func (r *reader) mapping(n *yaml.Node, depth int) param.Value {
	b := &mappingBuilder{reader: r, out: param.New()}
	b.checkDuplicates(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		b.entry(n.Content[i], n.Content[i+1], depth)
	}
	if r.places != nil {
		r.places[b.out] = b.at
	}
	switch n.Tag {
	case "!!map":
		return b.out
	case "!!set":
		keys := make([]param.Value, 0, b.out.Len())
		for _, k := range b.out.Keys() {
			keys = append(keys, k)
		}
		return keys
	}
	r.fail(n, "remove the tag", "%s", unknownTag(n))
	return nil
}

// mappingBuilder builds one mapping from its own entries, merges and includes.
type mappingBuilder struct {
	*reader
	out   *param.Map
	at    []position
	index map[string]int // of out's keys, built when needed
}

func (b *mappingBuilder) entry(key, value *yaml.Node, depth int) {
	switch {
	case key.Tag == "!!merge":
		b.merge(value, depth)
	case key.Tag == "!include" && b.read != nil:
		b.include(key, value, depth)
	default:
		text, err := b.key(key, depth+1)
		if err != nil {
			b.fail(key, `quote the key, as in "null":`, "%s", err)
			return
		}
		if b.doubts != nil {
			b.folded(text, value)
			b.cut(text, value)
			b.joined(key, value)
		}
		b.set(text, b.value(value, depth+1), position{b.file, key.Line, key.Column})
	}
}

// set sets a value; an existing key keeps its place in the order.
func (b *mappingBuilder) set(key string, v param.Value, at position) {
	switch {
	case b.places == nil:
	case b.out.Has(key):
		b.at[b.indexOf(key)] = at
	default:
		b.at = append(b.at, at)
	}
	b.out.Set(key, v)
}

// indexOf finds an existing key. Many overrides in one mapping are rare, but each must not require a search.
func (b *mappingBuilder) indexOf(key string) int {
	for i := len(b.index); i < b.out.Len(); i++ {
		if b.index == nil {
			b.index = make(map[string]int, b.out.Len())
		}
		k, _ := b.out.At(i)
		b.index[k] = i
	}
	return b.index[key]
}

// key converts a key to text, like JSON: 1 is "1", true is "true". A list or a mapping becomes the same text as in
// Digdag.
func (b *mappingBuilder) key(n *yaml.Node, depth int) (string, error) {
	written := n
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		v := b.value(written, depth)
		if v == nil {
			return "", errors.New("an unreadable list or mapping cannot be a key")
		}
		text := javaText(v)
		b.weight += len(text)
		if !b.spend(n, len(text)) {
			return "", errors.New("the key is too long")
		}
		return text, nil
	}
	v, err := scalar(n)
	if err != nil {
		return "", err
	}
	if n.Anchor != "" {
		b.anchors[n] = &anchor{value: v, weight: 1 + len(n.Value)}
	}
	switch x := v.(type) {
	case nil:
		return "", errors.New("a key cannot be empty or null")
	case string:
		b.weight += len(x)
		return x, nil
	}
	return strings.Trim(param.Text(v), `"`), nil
}

// checkDuplicates compares the keys as they are written; !include may be repeated.
func (b *mappingBuilder) checkDuplicates(n *yaml.Node) {
	if len(n.Content) < 4 {
		return
	}
	lines := make(map[string]int, len(n.Content)/2)
	var again []string
	var at *yaml.Node
	first := 0
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Tag == "!include" {
			continue
		}
		if line, ok := lines[k.Value]; ok {
			if at == nil {
				at, first = k, line
			}
			if !slices.Contains(again, k.Value) {
				again = append(again, k.Value)
			}
			continue
		}
		lines[k.Value] = k.Line
	}
	if at != nil {
		b.report(at, fmt.Sprintf("rename or remove one; the first %s is on line %d", at.Value, first),
			"Duplicated keys: [%s]", strings.Join(again, ", "))
	}
}

// merge adds the mappings that "<<" names: a key that already exists, from above or from an earlier merge, is kept; a
// key that comes later overrides it in place.
func (b *mappingBuilder) merge(value *yaml.Node, depth int) {
	switch v := b.value(value, depth+1).(type) {
	case *param.Map:
		b.mergeMap(v)
	case []param.Value:
		for _, e := range v {
			m, ok := e.(*param.Map)
			if !ok {
				b.fail(value, "use aliases of mappings: `<<: [*a, *b]`", "expected a mapping for merging, but found %s", param.KindOf(e))
				return
			}
			b.mergeMap(m)
		}
	default:
		if v == nil && b.lost {
			return // the lost value has been reported
		}
		b.fail(value, "use an alias of a mapping: `<<: *a`", "expected a mapping or list of mappings for merging, but found %s", param.KindOf(v))
	}
}

func (b *mappingBuilder) mergeMap(m *param.Map) {
	at := b.places[m]
	for i := range m.Len() {
		key, v := m.At(i)
		if b.out.Has(key) {
			continue
		}
		b.out.Set(key, v)
		if b.places != nil {
			b.at = append(b.at, at[i])
		}
	}
}
