package dig

import (
	"slices"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// Compile builds the tree of a task and its static subtasks, in pre-order, from config in the given language. The name
// of the first node is parentFullName + name; the caller places it in its parent. An error has type Errors and also
// matches *param.ConfigError.
//
// The engine compiles the body of a loop once per iteration: sub-mappings are shared with config, and copied only if
// keys must be removed.
func Compile(parentFullName, name string, l keys.Language, config *param.Map) ([]Node, error) {
	c := &compiler{language: l, patterns: &keys.Patterns{}}
	c.tree(parentFullName, name, config)
	if len(c.problems) > 0 {
		return nil, unplaced(c.problems)
	}
	return c.nodes, nil
}

// Tree compiles all tasks of a stored workflow.
func Tree(name string, stored *param.Map) ([]Node, error) {
	l, config := keys.Gate(stored)
	return Compile("", "+"+name, l, config)
}

// tree adds a task without a parent and everything below it, and runs the checks that need the whole tree.
func (c *compiler) tree(parentName, name string, config *param.Map) {
	c.task(noParent, parentName, name, config)
	c.poolsInside()
	c.nestedFaults()
}

// task adds a task and everything below it and returns its index.
func (c *compiler) task(parent int, parentName, name string, config *param.Map) int {
	s := keys.ShapeOf(config)
	index := c.add(parent, parentName, name)
	if fault := TaskNameFault(name); fault != "" {
		hint := "use letters, digits and _ - . =; [ ] { } % & @ ` and , are also allowed"
		if strings.Contains(fault, "longer") {
			hint = "use a shorter name"
		}
		if parent == noParent {
			hint += "; a workflow is named after its file"
		}
		c.fail(index, nil, hint, "task name %s: %q", fault, name)
	}
	if c.disabled(index, config) {
		c.nodes[index].Group = true
		c.nodes[index].Config = param.New("_disable", true)
		return index
	}
	local := c.split(index, config, s)
	if !s.Typed && s.Operators == 0 {
		c.nodes[index].Group = true
		c.group(index, config, local, s)
	} else if s.Subtasks > 0 {
		hint := "move the subtasks or the operator into a separate task"
		if operator, _, _ := keys.Operator(config); slices.Contains(keys.WithBodies, operator) {
			hint = "put the subtasks of " + operator + "> below `_do:`"
		}
		c.fail(index, nil, hint, "A task can't have subtasks: %s", param.Sample(rest(config)))
	} else if s.Operators > 1 {
		c.fail(index, nil, "give each operator a separate task", "A task can't have more than one operator: %s", param.Sample(rest(config)))
	}
	c.patterns.Afford(local, func(below []string, message, hint string) { c.fail(index, below, hint, "%s", message) })
	if !c.patterns.Over() {
		c.added(index, local)
		c.branches(index, local)
	}
	c.handlers(index, config)
	c.closings(index, config)
	return index
}

// disabled reads _disable. A disabled task has no children, but its subtask keys must still hold tasks.
func (c *compiler) disabled(index int, config *param.Map) bool {
	v, _ := config.Get("_disable")
	if v == nil {
		return false
	}
	off, err := param.AsBool("_disable", v)
	if err != nil {
		c.fail(index, []string{"_disable"}, "write true or false; ${...} is not evaluated here", "%s", err)
	}
	if off {
		c.eachSubtask(index, config, func(string, *param.Map) {})
	}
	return off
}

// split sets the node's export and returns its local config.
func (c *compiler) split(index int, config *param.Map, s keys.Shape) *param.Map {
	local := config
	if s.Export || s.Subtasks > 0 {
		local = c.rest(config, s)
	}
	c.nodes[index].Config = local
	if s.Export {
		v, _ := config.Get("_export")
		export, ok := v.(*param.Map)
		if v != nil && !ok {
			c.fail(index, []string{"_export"}, "write it as keys and values", "Parameter '_export' must be an object")
		}
		c.nodes[index].Export = export
		if c.language.Level > 0 {
			c.exportsOfItself(index, export)
			if v, there := export.Get("_retry"); there { // it may be the _retry for all tasks below
				keys.CheckRetry(keys.AnyOperator, v, func(below []string, message, hint string) {
					c.fail(index, append([]string{"_export", "_retry"}, below...), hint, "%s", message)
				})
			}
		}
	}
	return local
}

// exportsOfItself refuses parameters that are exported as themselves. An export hides an outer parameter of the same
// name, so the name would evaluate to its own text, and a task would run with that text without an error.
func (c *compiler) exportsOfItself(index int, export *param.Map) {
	for key, v := range export.All() {
		if text, ok := v.(string); ok && strings.Contains(strings.ReplaceAll(text, " ", ""), "${"+key+"}") {
			c.fail(index, []string{"_export", key}, "remove it: tasks, and files that `call>` runs, inherit parameters; or export it under a different name",
				"%s is exported as itself, so ${%s} would not be expanded", key, key)
		}
	}
}

// rest returns config without its subtasks and its export.
func (c *compiler) rest(config *param.Map, s keys.Shape) *param.Map {
	left := config.Len() - s.Subtasks
	if s.Export {
		left--
	}
	if left == 0 {
		if c.empty == nil {
			c.empty = param.New()
		}
		return c.empty
	}
	out := param.New()
	for k, v := range config.All() {
		if k != "_export" && (k == "" || k[0] != '+') {
			out.Set(k, v)
		}
	}
	return out
}

// rest returns the part of a task that messages show: everything except its subtasks.
func rest(config *param.Map) *param.Map {
	out := param.New()
	for k, v := range config.All() {
		if !strings.HasPrefix(k, "+") {
			out.Set(k, v)
		}
	}
	return out
}

// handlers compiles _error only to find its mistakes now: it would be too late once the task has failed. _check and _do
// are not compiled; their mistakes fail the task when it runs. With `zerodag: 1`, _check is also compiled, since that
// cannot break existing files.
func (c *compiler) handlers(index int, config *param.Map) {
	keys := []string{"_error"}
	if c.language.Level > 0 {
		keys = append(keys, "_check")
	}
	for _, key := range keys {
		v := config.Value(key)
		m, ok := v.(*param.Map)
		switch {
		case v == nil:
		case !ok:
			c.fail(index, []string{key}, "write it as a task: an operator, or subtasks", "Parameter '%s' must be an object", key)
		case m.Len() > 0:
			c.inner(index, []string{key}, "^"+key[1:], m)
		}
	}
}

// inner compiles tasks that may be generated below a task, from one of its keys, to find their mistakes.
func (c *compiler) inner(index int, key []string, name string, config *param.Map) {
	sub := &compiler{language: keys.Language{Level: c.language.Level}, patterns: c.patterns}
	sub.tree(c.nodes[index].Name, name, config)
	for _, among := range []string{"_after", "_background"} {
		if c.language.Level > 0 && config.Has(among) {
			sub.fail(0, []string{among}, "remove it; it is allowed at tasks below this one", "'%s' is not allowed here: this task has no siblings", among)
		}
	}
	for _, p := range sub.problems {
		p.Path = slices.Concat(c.path(index), key, p.Path)
		c.problems = append(c.problems, p)
	}
}
