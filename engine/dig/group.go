package dig

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// group adds a group's children and the edges between them.
func (c *compiler) group(index int, config, local *param.Map, s keys.Shape) {
	c.checkGroupKeys(index, local)
	name := c.nodes[index].Name
	children := make([]int, 0, s.Subtasks)
	c.eachSubtask(index, config, func(key string, sub *param.Map) {
		children = append(children, c.task(index, name, key, sub))
	})
	mode, err := keys.ParallelOf(local)
	switch {
	case err != nil:
		c.fail(index, []string{"_parallel"}, "write true, false or {limit: N}; ${...} is not evaluated in a group", "%s", err)
	case mode.On && c.language.Level > 0 && keys.Sliding(local) > 0:
		c.parallel(children, 0)
	case mode.On:
		c.parallel(children, mode.Limit)
	default:
		c.sequence(children)
	}
}

func (c *compiler) checkGroupKeys(index int, local *param.Map) {
	var wrong, faults []string
	known := keys.GroupKeys()
	if c.language.Level > 0 {
		known = append(known, keys.Added(c.place(index))...)
	}
	for _, key := range local.Keys() {
		if slices.Contains(known, key) {
			continue
		}
		fault := "'" + key + "'"
		if s, _ := keys.Misspelling(key, known, c.language.Level, c.place(index)); s != "" && (param.Nearest(key, known) != "" || keys.SteeringHint(key, c.language.Level) == "" && keys.OfElsewhere(key) == "") {
			fault += " (" + s + ")"
		}
		wrong, faults = append(wrong, key), append(faults, fault)
	}
	if len(wrong) == 0 {
		return
	}
	hint := func(key string) string { return c.groupKeyHint(index, key, local.Value(key), known) }
	told := hint(wrong[0])
	c.fail(index, wrong[:1], told, "%s contains invalid keys: %s", c.nodes[index].Name, strings.Join(faults, ", "))
	p := &c.problems[len(c.problems)-1]
	for _, key := range wrong[1:min(len(wrong), MaxListed)] {
		p.also = append(p.also, furtherKey(key, hint(key), told))
	}
}

// groupKeyHint returns how to fix a key that a group cannot have, in addition to the keys that it may have.
func (c *compiler) groupKeyHint(index int, key string, v param.Value, known []string) string {
	gated := c.language.Level > 0
	if key == "_do" || key == "_else_do" {
		return key + " belongs to an operator: write if>, loop>, for_each> or for_range> above it"
	}
	if s := keys.Ungated(key); s != "" && !gated {
		return s
	}
	if a, isAdded := keys.Find(key); isAdded && gated {
		return "it is allowed " + a.Where.String()
	}
	if meant := keys.OfDagu(key); meant != "" && gated {
		return key + " is a key of Dagu: write " + meant
	}
	if operator := keys.OfElsewhere(key); operator != "" {
		return "operators end with >: write `" + operator + ":`"
	}
	if s := c.foreignHint(key, v, known); s != "" {
		return s
	}
	if _, remedy := keys.Misspelling(key, known, c.language.Level, c.place(index)); remedy != "" {
		return remedy
	}
	if near := param.Nearest(key, known); near != "" || slices.Contains(known, "_"+key) {
		return "" // the message suggests that key
	}
	if !strings.HasPrefix(key, "_") {
		return unmarkedHint(key, v)
	}
	return "this is a group: a task that does work has an operator, such as `sh>:`"
}

// foreignHint returns the hint for another tool's key that is neither a typo nor a task; "" if nothing is known about
// it.
func (c *compiler) foreignHint(key string, v param.Value, known []string) string {
	if param.Nearest(key, known) != "" || keys.IsTask(asMap(v)) {
		return ""
	}
	return keys.SteeringHint(key, c.language.Level)
}

// asMap returns a value as a mapping, or nil.
func asMap(v param.Value) *param.Map {
	m, _ := v.(*param.Map)
	return m
}

// unmarkedHint returns how to write a key of a group that is marked neither as a task nor as an operator.
func unmarkedHint(key string, v param.Value) string {
	switch m, isMap := v.(*param.Map); {
	case keys.IsTask(m):
		return "task names begin with +: write `" + keys.TaskName(key) + ":`"
	case isMap || v == nil:
		return "task names begin with +, operators end with >: write `+" + key + ":` or `" + key + ">:`"
	}
	if key == "uses" {
		return "there are no actions: tasks run commands, such as `sh>: make`, with the project files"
	}
	return "operators end with >: write `" + key + ">:` if you mean one"
}

// eachSubtask visits a task's subtasks in order. A list of mappings counts as one mapping in which later keys win.
func (c *compiler) eachSubtask(index int, config *param.Map, visit func(string, *param.Map)) {
	for i := range config.Len() {
		key, v := config.At(i)
		if !strings.HasPrefix(key, "+") {
			continue
		}
		switch x := v.(type) {
		case *param.Map:
			visit(key, x)
			continue
		case []param.Value:
			if !slices.ContainsFunc(x, func(e param.Value) bool { _, ok := e.(*param.Map); return !ok }) {
				visit(key, keys.Overlaid(x))
				continue
			}
		}
		c.problems = append(c.problems, Problem{Path: append(c.path(index), key), Error: Error{
			Task:    c.nodes[index].Name + key,
			Message: fmt.Sprintf("Parameter '%s' must be an object or array of objects", key),
			Hint:    notATaskHint(key, v)}})
	}
}

func notATaskHint(key string, v param.Value) string {
	text, _ := v.(string)
	operator, command, found := strings.Cut(text, "> ")
	switch {
	case strings.Contains(text, ">:"):
		return "the space after the colon is missing: `" + text + "`"
	case found && keys.EnvName().MatchString(strings.TrimRight(operator, " :=-")):
		return "the colon is missing: write `" + strings.TrimRight(operator, " :=-") + ">: " + command + "`"
	case v == nil && strings.ContainsAny(key, "<>"):
		return "tasks run in file order; in a group with `_parallel: true`, write `_after: [+NAME]` at the later task"
	}
	return "put an operator below it, such as `echo>: hello`; write an empty task as `" + key + ": {}`"
}

// sequence links children so that each waits for the previous one and for the background tasks between them. A
// background task waits for nothing, not even for earlier background tasks.
func (c *compiler) sequence(children []int) {
	from := 0 // the next foreground child waits for children[from:i]
	for i, child := range children {
		config := c.nodes[child].Config
		if config.Has("_after") {
			c.fail(child, []string{"_after"}, "remove it, or add `_parallel: true` to the group",
				"Setting \"_after\" option is invalid if its parent task doesn't have \"_parallel: true\" option")
		}
		background, ok := c.background(child, config)
		if ok {
			c.nodes[child].Config = config.Without("_background")
		}
		if !background {
			c.nodes[child].Upstreams = c.link(children[from:i])
			from = i
		}
	}
}

// background reads a child's _background; ok reports whether the key exists.
func (c *compiler) background(child int, config *param.Map) (on, ok bool) {
	v, ok := config.Get("_background")
	if v == nil {
		return false, ok
	}
	on, err := param.AsBool("_background", v)
	if err != nil {
		c.fail(child, []string{"_background"}, "write true or false", "%s", err)
	}
	return on, ok
}

// link stores edges in one array for the whole tree.
func (c *compiler) link(to []int) []int {
	if len(to) == 0 {
		return nil
	}
	start := len(c.edges)
	c.edges = append(c.edges, to...)
	return c.edges[start:len(c.edges):len(c.edges)]
}

// parallel links children to the siblings that their _after names. With a limit, they are cut into chunks, and every
// child waits for the whole previous chunk.
func (c *compiler) parallel(children []int, limit int64) {
	var order map[string]int // names of the children so far, built when the first _after needs them
	var barrier []int        // shared by all children of a chunk
	for i, child := range children {
		if limit > 0 && i > 0 && int64(i)%limit == 0 {
			barrier = children[i-int(limit) : i : i]
		}
		c.nodes[child].Upstreams = barrier
		config := c.nodes[child].Config
		if on, _ := c.background(child, config); on {
			c.fail(child, []string{"_background"}, "remove it: the children of this group run in parallel anyway",
				"Setting \"_background: true\" option is invalid (unnecessary) if its parent task has \"_parallel: true\" option")
		}
		if after, ok := config.Get("_after"); ok {
			if order == nil {
				order = c.order(children)
			}
			c.after(child, after, order)
			c.nodes[child].Config = config.Without("_after")
		}
	}
}

func (c *compiler) order(children []int) map[string]int {
	order := make(map[string]int, len(children))
	for _, child := range children {
		order[c.names[child]] = child
	}
	return order
}

// after adds the siblings that `_after` names, which must be defined earlier.
func (c *compiler) after(child int, v param.Value, order map[string]int) {
	if v == nil {
		return
	}
	list, err := param.AsList("_after", v)
	if err != nil {
		c.fail(child, []string{"_after"}, "write a list: `_after: [+x, +y]`", "%s", err)
		return
	}
	ups := slices.Clone(c.nodes[child].Upstreams)
	for _, e := range list {
		name, err := param.AsString("_after", e)
		if err != nil {
			c.fail(child, []string{"_after"}, "write a list of names: `_after: [+x, +y]`", "%s", err)
			continue
		}
		up, ok := order[name]
		switch {
		case !ok || up >= child:
			c.fail(child, []string{"_after"}, afterHint(name, ok, order), "Dependency task '%s' does not exist", name)
		default: // a repeated name is a repeated edge, as in Digdag
			ups = append(ups, up)
		}
	}
	c.nodes[child].Upstreams = ups
}

func afterHint(name string, later bool, order map[string]int) string {
	if later {
		return "_after can only name tasks above this one in the same group"
	}
	if _, ok := order["+"+name]; ok {
		return "did you mean [+" + name + "]?"
	}
	return "write names of tasks in the same group, with the +"
}
