package dig

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

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
func circles(all *param.Map, keys []string) (found [][]string) {
	var way []string
	done := map[string]bool{}
	var walk func(key string)
	walk = func(key string) {
		if i := slices.Index(way, key); i >= 0 {
			chain := slices.Clone(way[i:])
			if first := slices.IndexFunc(chain, func(k string) bool { return slices.Contains(keys, k) }); first >= 0 {
				found = append(found, slices.Concat(chain[first:], chain[:first]))
			}
			return
		}
		if done[key] || !all.Has(key) || len(way) > maxDepth {
			return
		}
		way = append(way, key)
		for _, name := range namesIn(valueOf(all, key)) {
			walk(name)
		}
		way = way[:len(way)-1]
		done[key] = true
	}
	for _, key := range keys {
		walk(key)
	}
	return found
}

// nameInCode is a name in JavaScript that is no property of something else; texts in quotes are taken out before.
var (
	nameInCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[^.\w$])([A-Za-z_$][\w$]*)`) })
	quoted     = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'")
	})
)

// namesIn are the names in the expressions of a value.
func namesIn(v param.Value) (names []string) {
	switch x := v.(type) {
	case string:
		for rest := x; ; {
			_, code, found := strings.Cut(rest, "${")
			if !found {
				return names
			}
			end := closingBrace(code)
			if end < 0 {
				return names
			}
			for _, m := range nameInCode().FindAllStringSubmatch(quoted().ReplaceAllString(code[:end], "''"), -1) {
				names = append(names, m[1])
			}
			rest = code[end:]
		}
	case []param.Value:
		for _, e := range x {
			names = append(names, namesIn(e)...)
		}
	case *param.Map:
		for _, e := range x.All() {
			names = append(names, namesIn(e)...)
		}
	}
	return names
}

// mostCalls bounds how many files are followed from one call>.
const mostCalls = 50

// calls follows call> from file to file, and reads each file once.
type calls struct {
	read  Source
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
		if seen[file] || len(seen) >= mostCalls {
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
		if raw, err := LoadFile(c.read, file); err == nil {
			list = callees(folderOf(file), raw)
		}
		c.files[file] = list
	}
	return list
}

// callees are the files that static tasks call.
func callees(folder string, config *param.Map) (files []string) {
	if off, err := param.AsBool("_disable", valueOf(config, "_disable")); err == nil && off {
		return nil
	}
	operator, _, command := operatorOf(config)
	if name, ok := command.(string); ok && operator == "call" && !strings.Contains(name, "${") {
		return []string{calledFile(folder, name)}
	}
	for key, v := range config.All() {
		if !strings.HasPrefix(key, "+") {
			continue
		}
		if list, isList := v.([]param.Value); isList {
			v = merged(list)
		}
		if sub, ok := v.(*param.Map); ok {
			files = append(files, callees(folder, sub)...)
		}
	}
	return files
}

// calledFile is the file that call> names in a workflow of a folder.
func calledFile(folder, name string) string {
	return strings.TrimSuffix(path.Join(folder, name), suffix) + suffix
}
