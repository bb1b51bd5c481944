package operators

import (
	"maps"
	"math"
	"slices"
	"time"

	"zerodag/engine/param"
)

// Params are the evaluated parameters of one run. Reading a top-level key marks it as used: keys of a task that no
// operator reads are reported in its log.
type Params struct {
	tree *param.Map
	used *usage
}

type usage struct {
	keys map[string]bool
	all  bool
}

// NewParams wraps a tree.
func NewParams(tree *param.Map) *Params {
	return &Params{tree: tree, used: &usage{keys: map[string]bool{}}}
}

// All returns the whole tree and marks every key as used.
func (p *Params) All() *param.Map {
	p.used.all = true
	return p.tree
}

// Used reports whether a key was read.
func (p *Params) Used(key string) bool { return p.used.all || p.used.keys[key] }

// UsedKeys returns the keys that were read.
func (p *Params) UsedKeys() []string {
	var keys []string
	for _, k := range p.tree.Keys() {
		if p.used.keys[k] {
			keys = append(keys, k)
		}
	}
	return keys
}

// Asked returns every key that was looked up by name, whether it exists or not, in order.
func (p *Params) Asked() []string { return slices.Sorted(maps.Keys(p.used.keys)) }

// WithDefaults returns Params in which missing top-level keys come from the mapping under group, so that `_export: {sh:
// {shell: [...]}}` works; mappings merge. It returns an error if group exists and is not a mapping.
func (p *Params) WithDefaults(group string) (*Params, error) {
	v, ok := p.Get(group)
	if !ok {
		return p, nil
	}
	defaults, err := param.AsMap(group, v)
	if err != nil {
		return nil, err
	}
	return p.Defaulted(defaults), nil
}

// Defaulted returns Params in which missing keys come from defaults; mappings merge.
func (p *Params) Defaulted(defaults *param.Map) *Params {
	return &Params{tree: fill(p.tree, defaults), used: p.used}
}

func fill(m, defaults *param.Map) *param.Map {
	out := m.Clone()
	for k, d := range defaults.All() {
		v, ok := out.Get(k)
		if !ok {
			out.Set(k, d)
			continue
		}
		vm, isMap := v.(*param.Map)
		dm, bothMaps := d.(*param.Map)
		if isMap && bothMaps {
			out.Set(k, fill(vm, dm))
		}
	}
	return out
}

// Get returns a value unchanged and marks it as used.
func (p *Params) Get(key string) (param.Value, bool) {
	p.used.keys[key] = true
	return p.tree.Get(key)
}

// Has reports whether the key exists with a value other than null.
func (p *Params) Has(key string) bool {
	v, ok := p.Get(key)
	return ok && v != nil
}

// Read reads a key as a type with one of param's As or Parse functions; missing and null are errors.
func Read[T any](p *Params, key string, as func(string, param.Value) (T, error)) (T, error) {
	v, ok := p.Get(key)
	var zero T
	switch {
	case !ok:
		return zero, param.Errorf("Parameter '%s' is required but not set", key)
	case v == nil:
		return zero, param.Errorf("Parameter '%s' is required but null", key)
	}
	return as(key, v)
}

// ReadOr is Read with a default for missing and null.
func ReadOr[T any](p *Params, key string, as func(string, param.Value) (T, error), otherwise T) (T, error) {
	if v, ok := p.Get(key); ok && v != nil {
		return as(key, v)
	}
	return otherwise, nil
}

// String reads required text.
func (p *Params) String(key string) (string, error) { return Read(p, key, param.AsString) }

// StringOr reads text with a default.
func (p *Params) StringOr(key, otherwise string) (string, error) {
	return ReadOr(p, key, param.AsString, otherwise)
}

// Int reads a required whole number.
func (p *Params) Int(key string) (int64, error) { return Read(p, key, param.AsInt) }

// IntOr reads a whole number with a default.
func (p *Params) IntOr(key string, otherwise int64) (int64, error) {
	return ReadOr(p, key, param.AsInt, otherwise)
}

// Int32 reads a required whole number for services that take 32 bits: a larger one would be truncated.
func (p *Params) Int32(key string) (int32, error) { return Read(p, key, asInt32) }

// Int32Or reads such a number with a default.
func (p *Params) Int32Or(key string, otherwise int32) (int32, error) {
	return ReadOr(p, key, asInt32, otherwise)
}

func asInt32(key string, v param.Value) (int32, error) {
	n, err := param.AsInt(key, v)
	if err == nil && int64(int32(n)) != n {
		err = param.Errorf("Parameter '%s' must be a number from %d to %d: %d", key, math.MinInt32, math.MaxInt32, n)
	}
	return int32(n), err
}

// BoolOr reads a boolean with a default.
func (p *Params) BoolOr(key string, otherwise bool) (bool, error) {
	return ReadOr(p, key, param.AsBool, otherwise)
}

// DurationOr reads a duration ("1d 2h 3m 4s") with a default.
func (p *Params) DurationOr(key string, otherwise time.Duration) (time.Duration, error) {
	return ReadOr(p, key, param.AsDuration, otherwise)
}
