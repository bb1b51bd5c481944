package dig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// place returns the kind of place a node is in.
func (c *compiler) place(index int) keys.Where {
	switch {
	case index == 0 && c.language.Whole:
		return keys.AtTop
	case c.nodes[index].Group:
		return keys.AtGroup
	}
	return keys.AtTask
}

// unknownHint returns the hint for an unused key of a task.
func (c *compiler) unknownHint(key string) string {
	known := append(keys.TaskKeys(), keys.Added(keys.AtTask)...)
	if near := param.Nearest(key, known); near != "" {
		return param.Asked(near)
	}
	return cmp.Or(keys.SteeringHint(key, c.language.Level), param.DidYouMean(key, known),
		"the task keys that begin with _ are "+strings.Join(known, ", "))
}

// added checks a task's keys that zerodag adds to Digdag's language, and that no other key begins with "_": a
// misspelled key would become an unused parameter.
func (c *compiler) added(index int, config *param.Map) {
	if c.language.Level == 0 {
		return
	}
	at := c.place(index)
	for key, v := range config.All() {
		a, isAdded := keys.Find(key)
		switch {
		case key == "_parallel":
			c.checkParallel(index, v)
		case key == "_retry":
			keys.CheckRetry(keys.OperatorOf(config), v, func(below []string, message, hint string) {
				c.fail(index, append([]string{key}, below...), hint, "%s", message)
			})
		case isAdded && a.Where&at == 0:
			if at == keys.AtTask && isUnknown(key) { // otherwise it is reported with other unknown keys of a group, or it is a key that Digdag or an operator here reads
				c.fail(index, []string{key}, "it is allowed "+a.Where.String(), "'%s' is not allowed here", key)
			}
		case isAdded:
			a.Check(key, v, func(below []string, message, hint string) {
				c.fail(index, append([]string{key}, below...), hint, "%s", message)
			})
		case isBranch(key, config):
		case at == keys.AtTask && isUnknown(key):
			c.fail(index, []string{key}, c.unknownHint(key), "unknown key '%s'", key)
		}
	}
	if at == keys.AtTop && keys.ComputedPriority(config) != "" {
		c.fail(index, []string{keys.PriorityKey}, "write it at groups or tasks, or give it to a start: `zerodag start --priority high`",
			"'%s' at the top of a file also applies to the attempt, before any expression is evaluated", keys.PriorityKey)
	}
	keys.OperatorFaults(keys.OperatorOf(config), config, func(path []string, message, hint string) {
		c.fail(index, path, hint, "%s", message)
	})
}

// isBranch reports whether a key holds tasks of a switch>.
func isBranch(key string, config *param.Map) bool {
	return slices.Contains(keys.BranchKeys(), key) && keys.OperatorOf(config) == "switch"
}

// isUnknown reports whether a key looks like a key of Digdag's language but is not one.
func isUnknown(key string) bool {
	return strings.HasPrefix(key, "_") && !slices.Contains(keys.TaskKeys(), key)
}

// closings compiles the cleanup tasks of a task to find their mistakes now: it would be too late when the tasks are
// needed.
func (c *compiler) closings(index int, config *param.Map) {
	if c.language.Level == 0 {
		return
	}
	for _, key := range keys.Closing() {
		if m := config.Map(key); m.Len() > 0 {
			c.inner(index, []string{key}, "^"+key[1:], m)
		}
	}
}

// branches compiles the tasks of a `switch>` only to find their mistakes: it is not known yet which tasks will run.
func (c *compiler) branches(index int, config *param.Map) {
	if keys.OperatorOf(config) != "switch" {
		return
	}
	cases, ok := config.Value("_cases").(*param.Map)
	if !ok && c.language.Level == 0 {
		return // an existing file may mean a plugin's operator; if there is none, the task fails when it runs
	}
	keys.CaseFaults(config, func(path []string, message, hint string) {
		c.fail(index, path, hint, "%s", message)
	})
	if !keys.CanBeTasks(config.Value("_default")) {
		c.fail(index, []string{"_default"}, "write tasks: `_default: {+c: {...}}`", "Parameter '_default' must be an object")
	}
	for name := range cases.All() {
		c.branch(index, []string{"_cases", name}, cases.Map(name))
	}
	c.branch(index, []string{"_default"}, config.Map("_default"))
}

func (c *compiler) branch(index int, key []string, tasks *param.Map) {
	if tasks.Len() > 0 {
		c.inner(index, key, "^sub", tasks)
	}
}

// nestedFaults reports as errors, for the tasks of a file with `zerodag: 1`, the uses that package lint warns about.
func (c *compiler) nestedFaults() {
	if c.language.Level == 0 {
		return
	}
	seen, computed := make([]*param.Scope, len(c.nodes)), make([]bool, len(c.nodes)) // each task's exports, and whether one is an expression
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.Parent != noParent {
			seen[i], computed[i] = seen[n.Parent], computed[n.Parent]
		}
		seen[i], computed[i] = seen[i].Within(n.Export), computed[i] || keys.ExportsExpression(n.Export)
		if !computed[i] {
			continue
		}
		uses := keys.NestedUses{Exports: seen[i], Report: func(below []string, message, hint string) { c.fail(i, below, hint, "%s", message) }}
		uses.Task(n.Config)
		uses.Task(param.New("_export", n.Export))
	}
}

// pooledAbove returns the nearest group with slots, from here upward.
func (c *compiler) pooledAbove(up int) int {
	for up != noParent && !(c.nodes[up].Group && c.nodes[up].Config.Has("_pool")) {
		up = c.nodes[up].Parent
	}
	return up
}

// poolsInside reports tasks that must not request slots because a group above them has slots, and groups that must not
// have slots, judging by the text alone.
func (c *compiler) poolsInside() {
	if c.language.Level == 0 {
		return
	}
	var whole keys.Concurrency
	if v, there := c.nodes[0].Config.Get(keys.ConcurrencyKey); there && c.language.Whole {
		keys.ReadConcurrency(v, &whole, func([]string, string, string) {})
	}
	for i, n := range c.nodes {
		if !n.Config.Has("_pool") {
			continue
		}
		if n.Group && i > 0 && whole.Tasks > 0 {
			c.fail(i, []string{"_pool"}, keys.NoGroupPoolHint, "%s", keys.NoGroupPool)
		}
		up := c.pooledAbove(n.Parent)
		asks := keys.PoolKeys(n.Config)
		if up == noParent || len(asks) == 0 {
			continue
		}
		if has := keys.PoolKeys(c.nodes[up].Config); len(has) > 0 {
			if message, hint := keys.PoolOrder(asks[0], has, c.nodes[up].Name); message != "" {
				c.fail(i, []string{"_pool"}, hint, "%s", message)
			}
		}
	}
}

// checkParallel requires valid keys of `_parallel` in a file with `zerodag: 1`. Loops may use expressions there.
func (c *compiler) checkParallel(index int, v param.Value) {
	const form = "write `_parallel: {limit: 4, sliding: true}`"
	loop := c.place(index) == keys.AtTask
	m, ok := v.(*param.Map)
	if !ok {
		text, _ := v.(string)
		if _, err := param.AsYes("_parallel", v); loop && err != nil && !keys.Computed(text) { // already reported for a group
			c.fail(index, []string{"_parallel"}, "write true, false or {limit: N}", "Invalid _parallel format: %s", param.Sample(v))
		}
		return
	}
	if loop && !m.Has("limit") && !slices.ContainsFunc(m.Keys(), func(key string) bool { return key != keys.SlidingKey }) { // an unknown key may be a misspelling of it
		c.fail(index, []string{"_parallel"}, form, "_parallel has no limit, so the task would fail")
	}
	for key, v := range m.All() {
		if fault := parallelFault(key, v, loop); fault != "" {
			c.fail(index, []string{"_parallel", key}, form, "%s", fault)
		}
	}
}

// parallelFault returns what is wrong with a key of a loop's or a group's `_parallel`.
func parallelFault(key string, v param.Value, loop bool) string {
	if !slices.Contains(keys.ParallelKeys(), key) {
		return fmt.Sprintf("unknown key '%s' of _parallel", key)
	}
	if text, _ := v.(string); loop && keys.Computed(text) {
		return ""
	}
	_, noNumber := param.AsInt(key, v)
	_, noWhole := param.AsWhole(key, v)
	_, noYes := param.AsYes(key, v)
	switch {
	case key == "limit" && noWhole != nil && (loop || noNumber == nil): // other values of a group were reported before
		return "limit of _parallel must be a whole number: " + param.Sample(v)
	case key == keys.SlidingKey && noYes != nil:
		return "'sliding' must be true or false: " + param.Sample(v)
	}
	return ""
}
