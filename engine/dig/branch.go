package dig

import "zerodag/engine/param"

// BranchKeys are the keys of `switch>` that hold tasks: those of each case, and those of none.
func BranchKeys() []string { return []string{"_cases", "_default"} }

// branches compiles the tasks of a `switch>` only to find their mistakes now: which of them run is known when it does.
func (c *compiler) branches(index int, config *param.Map) {
	if OperatorOf(config) != "switch" {
		return
	}
	const form = "write the tasks of each case below it: `_cases: {JP: {+a: {...}}, /^U/: {+b: {...}}}`"
	cases, ok := valueOf(config, "_cases").(*param.Map)
	if !ok && c.language.Level == 0 {
		return // an old file may mean an operator of a plugin, which is missing when it runs
	}
	if !ok {
		key := []string{"_cases"}
		if !config.Has("_cases") {
			key = []string{"switch>"}
		}
		c.fail(index, key, form, "switch> needs the tasks of its cases below '_cases'")
		return
	}
	for name, v := range cases.All() {
		if _, err := param.ParsePattern(name); err != nil {
			c.fail(index, []string{"_cases", name}, expressionHint, "The case '%s' is no regular expression: %v", name, err)
		}
		c.branch(index, []string{"_cases", name}, v, form)
	}
	if v, ok := config.Get("_default"); ok {
		c.branch(index, []string{"_default"}, v, "write tasks: `_default: {+c: {...}}`")
	}
}

func (c *compiler) branch(index int, key []string, v param.Value, form string) {
	m, ok := v.(*param.Map)
	switch {
	case v == nil, ok && m.Len() == 0:
	case !ok:
		c.fail(index, key, form, "Parameter '%s' must be an object", key[len(key)-1])
	default:
		c.inner(index, key, "^sub", m)
	}
}
