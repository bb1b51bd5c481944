package lint

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// exported warns of parameters of an _export that are made of themselves, by others or at once: such a ${...} stays
// as text. above is what tasks around this one export. It returns what is exported to the tasks below.
func (c *critic) exported(at []string, task string, above, export *param.Map) *param.Map {
	if export.Len() == 0 {
		return above
	}
	all := param.New()
	for key, v := range above.All() {
		all.Set(key, v)
	}
	for key, v := range export.All() {
		all.Set(key, v)
	}
	for _, chain := range circles(all, export.Keys()) {
		key := chain[0]
		c.warn(append(slices.Clone(at), "_export", key), task, "give one of them a value, or another name: a name that is exported again hides the one above",
			"%s is made of itself (%s), so that ${%s} stays as text", key, strings.Join(append(chain, key), " -> "), append(chain, key)[1])
	}
	return all
}

// circles are the ways from parameters by the names in their expressions back to themselves, each told once. Each
// begins with one of the given keys.
func circles(all *param.Map, from []string) (found [][]string) {
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

// refersToItself reports whether a part of an exported mapping is made of itself: of other parts it may be made, as the mapping is laid over
// the one that is exported around it.
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

// calls follows call> from file to file, and reads each file once.
type calls struct {
	read  dig.Source
	files map[string][]string // the files that a file calls
	back  map[string][]string // the way from a file back to itself
}

// itself is the way from a file that call> names back to it by tasks that run whatever happens; nil where there
// is none. What stands below an if>, a loop or an _error may end the circle.
func (c *calls) itself(start string) []string {
	if way, known := c.back[start]; known {
		return way
	}
	seen := map[string]bool{}
	var walk func(file string) []string
	walk = func(file string) []string {
		if seen[file] || len(seen) >= dig.MostCalls {
			return nil
		}
		seen[file] = true
		for _, next := range c.of(file) {
			if next == start {
				return []string{file, start}
			}
			if rest := walk(next); rest != nil {
				return append([]string{file}, rest...)
			}
		}
		return nil
	}
	c.back[start] = walk(start)
	return c.back[start]
}

// of are the files that a file calls; none of one that cannot be read, which is told where it is looked at.
func (c *calls) of(file string) []string {
	list, known := c.files[file]
	if !known {
		if raw, err := dig.LoadFile(c.read, file); err == nil {
			list = dig.Callees(dig.FolderOf(file), raw)
		}
		c.files[file] = list
	}
	return list
}

// requiring warns of a workflow that waits for itself, and notes the places that were told.
func (c *critic) requiring(w dig.Workflow) {
	c.circles = map[string]bool{}
	for _, p := range c.required.Faults(w.Name, w.Config) {
		c.circles[fmt.Sprint(p.Path)] = true
		if c.level == 0 {
			c.warn(p.Path, dig.TaskOf(w.Name, p.Path), p.Hint, "%s", p.Message)
		}
	}
}
