package dig

import (
	"fmt"
	"slices"

	"zerodag/engine/param"
)

// slidingKey is the key of `_parallel` by which one task makes room for the next one, in place of a whole chunk.
const slidingKey = "sliding"

// Sliding is how many children of a group or a loop may be under way at once where `_parallel` has `sliding: true`; 0: it
// has not, or there is no limit. Only files with `zerodag: 1` have it.
func Sliding(config *param.Map) int {
	v, _ := config.Get("_parallel")
	m, ok := v.(*param.Map)
	if !ok {
		return 0
	}
	on, there := m.Get(slidingKey)
	if !there {
		return 0
	}
	slides, err := param.AsBool(slidingKey, on)
	mode, fault := parallelOf(config)
	if err != nil || fault != nil || !slides {
		return 0
	}
	return int(max(0, min(mode.limit, 1<<30)))
}

// checkParallel wants keys of `_parallel` that mean something, in a file with `zerodag: 1`. What loops have there is evaluated.
func (c *compiler) checkParallel(index int, v param.Value) {
	const form = "write `_parallel: {limit: 4, sliding: true}`"
	loop := c.place(index) == AtTask
	m, ok := v.(*param.Map)
	if !ok {
		text, _ := v.(string)
		if _, err := param.AsYes("_parallel", v); loop && err != nil && !computed(text) { // at a group it was told before
			c.fail(index, []string{"_parallel"}, "write true, false or {limit: N}", "Invalid _parallel format: %s", sample(v))
		}
		return
	}
	if loop && !m.Has("limit") && !slices.ContainsFunc(m.Keys(), func(key string) bool { return key != slidingKey }) { // another one may have meant it
		c.fail(index, []string{"_parallel"}, form, "_parallel has no limit, and the task would fail")
	}
	for key, v := range m.All() {
		fault := ""
		text, _ := v.(string)
		_, noNumber := param.AsInt(key, v)
		_, noWhole := param.AsWhole(key, v)
		_, noYes := param.AsYes(key, v)
		switch {
		case !slices.Contains(ParallelKeys(), key):
			fault = fmt.Sprintf("'%s' of _parallel is not read by anybody", key)
		case loop && computed(text):
		case key == "limit" && noWhole != nil && (loop || noNumber == nil): // what a group cannot read at all was told before
			fault = "limit of _parallel must be a whole number: " + sample(v)
		case key == slidingKey && noYes != nil:
			fault = "'sliding' must be true or false: " + sample(v)
		}
		if fault != "" {
			c.fail(index, []string{"_parallel", key}, form, "%s", fault)
		}
	}
}
