package dig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/param"
)

// GroupKeys are the keys of a group besides its subtasks.
func GroupKeys() []string {
	return []string{"timezone", "schedule", "sla", "_parallel", "_background", "_after",
		"_error", "_check", "_retry", "_export", "_secrets"}
}

// group adds the children of a group and the edges between them.
func (c *compiler) group(index int, config, local *param.Map, s shape) {
	c.checkGroupKeys(index, local)
	name := c.nodes[index].Name
	children := make([]int, 0, s.subtasks)
	c.eachSubtask(index, config, func(key string, sub *param.Map) {
		children = append(children, c.task(index, name, key, sub))
	})
	mode, err := parallelOf(local)
	switch {
	case err != nil:
		c.fail(index, []string{"_parallel"}, "write true, false or {limit: N}; ${...} is not evaluated in a group", "%s", err)
	case mode.on && c.language.Level > 0 && Sliding(local) > 0:
		c.parallel(children, 0)
	case mode.on:
		c.parallel(children, mode.limit)
	default:
		c.sequence(children)
	}
}

func (c *compiler) checkGroupKeys(index int, local *param.Map) {
	var wrong, faults []string
	known := GroupKeys()
	if c.language.Level > 0 {
		known = append(known, AddedKeys(c.place(index))...)
	}
	for _, key := range local.Keys() {
		if slices.Contains(known, key) {
			continue
		}
		fault := "'" + key + "'"
		if s, _ := slip(key, known, c.language.Level, c.place(index)); s != "" {
			fault += " (" + s + ")"
		}
		wrong, faults = append(wrong, key), append(faults, fault)
	}
	if len(wrong) == 0 {
		return
	}
	hint := func(key string) string { return c.groupKeyHint(index, key, valueOf(local, key), known) }
	told := hint(wrong[0])
	c.fail(index, wrong[:1], told, "%s contains invalid keys: %s", c.nodes[index].Name, strings.Join(faults, ", "))
	p := &c.problems[len(c.problems)-1]
	for _, key := range wrong[1:min(len(wrong), maxListed)] {
		p.also = append(p.also, furtherKey(key, hint(key), told))
	}
}

// groupKeyHint says what to do about a key that a group cannot have, beside those that it may have.
func (c *compiler) groupKeyHint(index int, key string, v param.Value, known []string) string {
	gated := c.language.Level > 0
	if key == "_do" || key == "_else_do" {
		return key + " holds the tasks of an operator: write if>, loop>, for_each> or for_range> above it"
	}
	if s := ungated(key); s != "" && !gated {
		return s
	}
	if a, isAdded := additionOf(key); isAdded && gated {
		return "it may stand " + a.where.String()
	}
	if meant := ofDagu(key); meant != "" && gated {
		return key + " is Dagu's: write " + meant
	}
	if _, remedy := slip(key, known, c.language.Level, c.place(index)); remedy != "" {
		return remedy
	}
	if near := param.Nearest(key, known); near != "" || slices.Contains(known, "_"+key) {
		return "" // the message asks whether that one is meant
	}
	if !strings.HasPrefix(key, "_") {
		return unmarkedHint(key, v)
	}
	return "this is a group: a task that runs something has an operator, such as `sh>:`"
}

// unmarkedHint says how a key of a group is written that is neither marked as a task nor as an operator.
func unmarkedHint(key string, v param.Value) string {
	switch m, isMap := v.(*param.Map); {
	case isTask(m):
		return "the name of a task begins with +: write `" + marked(key) + ":`"
	case isMap || v == nil:
		return "the name of a task begins with +, that of an operator ends with >: write `+" + key + ":` or `" + key + ">:`"
	}
	return "an operator ends with >: write `" + key + ">:` if it is meant to be one"
}

// marked is a key as the name of a task. ^ is for generated tasks, and +1 is a number.
func marked(key string) string {
	key = "+" + strings.TrimLeft(key, "^")
	if _, err := strconv.ParseFloat(key, 64); err == nil {
		return `"` + key + `"`
	}
	return key
}

// isTask says whether a mapping reads like a task: it has an operator or subtasks.
func isTask(m *param.Map) bool {
	s := shapeOf(m)
	return s.operators+s.subtasks > 0
}

// eachSubtask visits the subtasks of a task in order. A list of mappings counts as one
// mapping in which later keys win.
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
				visit(key, merged(x))
				continue
			}
		}
		c.problems = append(c.problems, problem{path: append(c.path(index), key), Error: Error{
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
		return "a blank is missing after the colon of `" + text + "`"
	case found && operator != "" && !strings.ContainsAny(operator, " \n"):
		return "a colon is missing: write `" + operator + ">: " + command + "`"
	}
	return "put an operator below it, such as `echo>: hello`; an empty task is `" + key + ": {}`"
}

// parallelMode is a group's `_parallel`. A limit of 0 or less is none.
type parallelMode struct {
	on    bool
	limit int64
}

// parallelOf reads `_parallel` (language.md 1.8). Loop operators use the same
// forms, but there the value may be a template and is read when the operator runs.
func parallelOf(config *param.Map) (parallelMode, error) {
	v, ok := config.Get("_parallel")
	if !ok {
		return parallelMode{}, nil
	}
	switch x := v.(type) {
	case bool:
		return parallelMode{on: x}, nil
	case string:
		on, err := param.AsBool("_parallel", x)
		return parallelMode{on: on}, err
	case *param.Map:
		limit, ok := x.Get("limit")
		if !ok {
			return parallelMode{}, param.Errorf("Parameter 'limit' is required but not set")
		}
		if limit == nil {
			return parallelMode{}, param.Errorf("Parameter 'limit' is required but null")
		}
		n, err := param.AsInt("limit", limit)
		return parallelMode{on: true, limit: n}, err
	}
	return parallelMode{}, param.Errorf("Invalid _parallel format: %s", sample(v))
}

// sequence: a child waits for the one before it and for the background tasks between
// them. A background task waits for nothing, not even for earlier ones.
func (c *compiler) sequence(children []int) {
	from := 0 // children[from:i] are what the next foreground child waits for
	for i, child := range children {
		config := c.nodes[child].Config
		if config.Has("_after") {
			c.fail(child, []string{"_after"}, "remove it, or write `_parallel: true` into the group",
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

// background reads a child's _background; ok says whether the key is there.
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

// link keeps edges in one array of the whole tree.
func (c *compiler) link(to []int) []int {
	if len(to) == 0 {
		return nil
	}
	start := len(c.edges)
	c.edges = append(c.edges, to...)
	return c.edges[start:len(c.edges):len(c.edges)]
}

// parallel: children depend on what their _after names. With a limit they are cut into
// chunks, and every child waits for the whole chunk before its own.
func (c *compiler) parallel(children []int, limit int64) {
	var order map[string]int // names of the children so far, made when _after asks
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

// after adds the siblings that `_after` names; they must be defined earlier.
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
		default: // a name that stands twice is an edge twice, as in the original
			ups = append(ups, up)
		}
	}
	c.nodes[child].Upstreams = ups
}

func afterHint(name string, later bool, order map[string]int) string {
	if later {
		return "it does not stand above: _after can only name tasks that stand above it in the same group"
	}
	if _, ok := order["+"+name]; ok {
		return "did you mean [+" + name + "]?"
	}
	return "_after names tasks of the same group, with their +"
}
