package parameters

import (
	"slices"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Circles returns the cycles of parameters that refer to each other in their expressions, each once. Each begins with
// one of the given keys.
func Circles(all *param.Scope, from []string) (found [][]string) {
	var way []string
	done := map[string]bool{}
	var walk func(key string)
	walk = func(key string) {
		if i := slices.Index(way, key); i >= 0 {
			chain := slices.Clone(way[i:])
			if first := slices.IndexFunc(chain, func(k string) bool { return slices.Contains(from, k) }); first >= 0 {
				found = append(found, slices.Concat(chain[first:], chain[:first]))
			}
			return
		}
		if done[key] || !all.Has(key) || len(way) > dig.MaxDepth {
			return
		}
		way = append(way, key)
		for _, name := range keys.NamesIn(all.Value(key)) {
			if m, isMap := all.Value(key).(*param.Map); name != key || !isMap || refersToItself(key, m) {
				walk(name)
			}
		}
		way = way[:len(way)-1]
		done[key] = true
	}
	for _, key := range from {
		walk(key)
	}
	return found
}

// refersToItself reports whether a part of an exported mapping refers to itself. It may refer to other parts, since the
// mapping is merged over the mapping exported around it.
func refersToItself(name string, m *param.Map) bool {
	for key, v := range m.All() {
		inner, isMap := v.(*param.Map)
		path := name + "." + key
		if isMap && refersToItself(path, inner) {
			return true
		}
		text, _ := v.(string)
		for code := range keys.Expressions(text) {
			if root, _, _ := strings.Cut(name, "."); strings.TrimSpace(code) == path || strings.TrimSpace(code) == root {
				return true
			}
		}
	}
	return false
}
