package lint

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig"

	"zerodag/engine/dig/lint/parameters"
	"zerodag/engine/param"
)

// exported warns about parameters of an _export that refer to themselves, directly or through others: such a ${...}
// is not expanded. above holds the exports of the tasks around this one. It returns the exports that the tasks below see.
func (c *critic) exported(at []string, task string, above *param.Scope, export *param.Map) *param.Scope {
	if export.Len() == 0 {
		return above
	}
	all := above.Within(export)
	for _, chain := range parameters.Circles(all, export.Keys()) {
		key := chain[0]
		c.warn(append(slices.Clone(at), "_export", key), task, "give one of them a value or a different name: a second export of a name hides the first",
			"%s refers to itself (%s), so ${%s} is not expanded", key, strings.Join(append(chain, key), " -> "), append(chain, key)[1])
	}
	return all
}

// calls follows call> from file to file, and reads each file once.
type calls struct {
	read  dig.Source
	files map[string][]string // the files that a file calls
	back  map[string][]string // the path from a file back to itself
}

// itself returns the path from a file that call> names back to that file, through tasks that always run; nil if there
// is none. Tasks below an if>, a loop or an _error may end the cycle.
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

// of returns the files that a file calls; none if it cannot be read, which is reported when that file is checked.
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

// requiring warns about a workflow that waits for itself, and records the places that were reported.
func (c *critic) requiring(w dig.Workflow) {
	c.circles = map[string]bool{}
	for _, p := range c.required.Faults(w.Name, w.Config) {
		c.circles[fmt.Sprint(p.Path)] = true
		if c.level == 0 {
			c.warn(p.Path, dig.TaskOf(w.Name, p.Path), p.Hint, "%s", p.Message)
		}
	}
}
