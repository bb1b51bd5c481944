// Package param holds ordered parameter trees: the data of .dig files, task configurations, exports, stores and
// `${...}`.
//
// Everything that handles parameters uses it. It must never do I/O, and never change a Map that it was given: trees are
// shared by all tasks of an attempt.
package param

import (
	"iter"
	"math/big"
	"slices"
)

// Value is one node of a tree: nil, bool, int64, *big.Int (only if it does not fit int64), float64, string, Literal,
// []Value or *Map. No other types occur, and a task's evaluated keys contain no Literal.
type Value = any

// Map is an ordered mapping. The order of keys is the order in which they were first set: it decides the order of tasks
// and what an expression can see.
//
// A Map is built with Set and Delete by its only owner; once passed to another package, it is frozen and shared. A nil
// *Map behaves like an empty one.
type Map struct {
	keys  []string
	vals  []Value
	index map[string]int // only above indexFrom keys
}

// indexFrom is the size at which a hash index starts to beat a linear search.
const indexFrom = 12

// New returns an empty Map. The arguments are alternating keys and values.
func New(pairs ...Value) *Map {
	m := &Map{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m.Set(pairs[i].(string), pairs[i+1])
	}
	return m
}

// Len returns the number of keys.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.keys)
}

// At returns the i-th key and its value, in order.
func (m *Map) At(i int) (string, Value) { return m.keys[i], m.vals[i] }

// Keys returns the keys in order. The slice must not be changed.
func (m *Map) Keys() []string {
	if m == nil {
		return nil
	}
	return m.keys
}

// All iterates over keys and values in order.
func (m *Map) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i := range m.Len() {
			if !yield(m.keys[i], m.vals[i]) {
				return
			}
		}
	}
}

// Get returns a key's value and whether the key exists (its value may be nil).
func (m *Map) Get(key string) (Value, bool) {
	if i := m.find(key); i >= 0 {
		return m.vals[i], true
	}
	return nil, false
}

// Value returns a key's value, or nil if the key does not exist.
func (m *Map) Value(key string) Value {
	v, _ := m.Get(key)
	return v
}

// Has reports whether the key exists, with any value.
func (m *Map) Has(key string) bool { return m.find(key) >= 0 }

// Map returns the nested mapping under key, or nil if there is none.
func (m *Map) Map(key string) *Map {
	v, _ := m.Get(key)
	n, _ := v.(*Map)
	return n
}

func (m *Map) find(key string) int {
	if m == nil {
		return -1
	}
	if m.index != nil {
		if i, ok := m.index[key]; ok {
			return i
		}
		return -1
	}
	return slices.Index(m.keys, key)
}

// Set sets a key's value; an existing key keeps its place. Owner only.
func (m *Map) Set(key string, v Value) {
	if i := m.find(key); i >= 0 {
		m.vals[i] = v
		return
	}
	m.keys = append(m.keys, key)
	m.vals = append(m.vals, v)
	switch {
	case m.index != nil:
		m.index[key] = len(m.keys) - 1
	case len(m.keys) > indexFrom:
		m.reindex()
	}
}

// Delete removes a key. Owner only.
func (m *Map) Delete(key string) {
	i := m.find(key)
	if i < 0 {
		return
	}
	m.keys = slices.Delete(m.keys, i, i+1)
	m.vals = slices.Delete(m.vals, i, i+1)
	if m.index != nil {
		m.reindex()
	}
}

func (m *Map) reindex() {
	m.index = make(map[string]int, 2*len(m.keys))
	for i, k := range m.keys {
		m.index[k] = i
	}
}

// Clone returns a Map that its caller owns and that shares all values.
func (m *Map) Clone() *Map { return m.cloneFor(0) }

// cloneFor is Clone with room for extra keys.
func (m *Map) cloneFor(extra int) *Map {
	n := m.Len() + extra
	c := &Map{keys: make([]string, 0, n), vals: make([]Value, 0, n)}
	if m == nil {
		return c
	}
	c.keys = append(c.keys, m.keys...)
	c.vals = append(c.vals, m.vals...)
	if n > indexFrom {
		c.reindex()
	}
	return c
}

// Without returns m without the given keys; m itself if it has none of these keys.
func (m *Map) Without(keys ...string) *Map {
	if !slices.ContainsFunc(keys, m.Has) {
		return m
	}
	c := &Map{}
	for k, v := range m.All() {
		if !slices.Contains(keys, k) {
			c.Set(k, v)
		}
	}
	return c
}

// Merge merges over into base: mappings merge into mappings, and everything else is replaced, including lists and null
// (language.md 1.5). Neither is changed; the result shares unchanged parts.
func Merge(base, over *Map) *Map {
	switch {
	case over.Len() == 0 && base != nil:
		return base
	case base.Len() == 0 && over != nil:
		return over
	}
	out := base.cloneFor(over.Len())
	for k, v := range over.All() {
		if sub, ok := v.(*Map); ok {
			if old, _ := out.Get(k); old != nil {
				if o, ok := old.(*Map); ok {
					v = Merge(o, sub)
				}
			}
		}
		out.Set(k, v)
	}
	return out
}

// Reset returns m without the values at the given paths. A path is a list of keys
// from the root. Neither is changed.
func Reset(m *Map, paths ...[]string) *Map {
	for _, p := range paths {
		m = reset(m, p)
	}
	return m
}

func reset(m *Map, path []string) *Map {
	if len(path) == 0 || !m.Has(path[0]) {
		return m
	}
	if len(path) == 1 {
		return m.Without(path[0])
	}
	sub := m.Map(path[0])
	if sub == nil {
		return m
	}
	c := m.Clone()
	c.Set(path[0], reset(sub, path[1:]))
	return c
}

// Equal compares two values: the order of keys does not count, and 1 and 1.0 differ.
func Equal(a, b Value) bool {
	switch x := a.(type) {
	case *Map:
		y, ok := b.(*Map)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for k, v := range x.All() {
			if w, ok := y.Get(k); !ok || !Equal(v, w) {
				return false
			}
		}
		return true
	case []Value:
		y, ok := b.([]Value)
		return ok && slices.EqualFunc(x, y, Equal)
	case *big.Int:
		y, ok := b.(*big.Int)
		return ok && x.Cmp(y) == 0
	}
	switch b.(type) {
	case *Map, []Value, *big.Int:
		return false
	}
	return a == b
}
