package lint

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig"

	"zerodag/engine/dig/lint/parameters"
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
	for _, chain := range parameters.Circles(all, export.Keys()) {
		key := chain[0]
		c.warn(append(slices.Clone(at), "_export", key), task, "give one of them a value, or another name: a name that is exported again hides the one above",
			"%s is made of itself (%s), so that ${%s} stays as text", key, strings.Join(append(chain, key), " -> "), append(chain, key)[1])
	}
	return all
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
