package dig

import (
	"fmt"
	"strings"

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
	m, ok := v.(*param.Map)
	if !ok {
		return // read as in any other file
	}
	const form = "write `_parallel: {limit: 4, sliding: true}`"
	for key, v := range m.All() {
		fault := ""
		text, _ := v.(string)
		_, err := param.AsBool(slidingKey, v)
		switch {
		case key == "limit":
		case key != slidingKey:
			fault = fmt.Sprintf("'%s' of _parallel is not read by anybody", key)
		case v == nil, err != nil && (!strings.Contains(text, "${") || c.place(index) != AtTask):
			fault = "'sliding' must be true or false: " + sample(v)
		}
		if fault != "" {
			c.fail(index, []string{"_parallel", key}, form, "%s", fault)
		}
	}
}
