package lint

import (
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// repeats checks the operators and keys that run tasks more than once: loops and retries.
type repeats struct{ *critic }

// retry checks a _retry. With `zerodag: 1`, the only mistakes that a push does not refuse are those below an operator
// that generates the task.
func (c repeats) retry(place []string, task, operator string, v param.Value) {
	if c.level > 0 {
		keys.CheckRetry(operator, v, c.reporter(place, task))
		return
	}
	switch x := v.(type) {
	case *param.Map:
		c.retryKeys(place, task, x)
		if keys.LacksLimit(x) {
			c.warn(place, task, keys.RetryForm, "_retry has no limit, so the task will fail")
		}
		for _, key := range keys.RetryNumbers() {
			c.whole(place, task, v, key, 0, keys.RetryForm)
		}
		if kind, ok := x.Value("interval_type").(string); ok && !strings.Contains(kind, "${") && !keys.IsIntervalType(kind, false) {
			c.warn(append(slices.Clone(place), "interval_type"), task, "write constant or exponential", "interval_type of _retry is unknown, so the task will fail: %s", kind)
		}
	case nil:
	case string:
		if !strings.Contains(x, "${") {
			c.tries(place, task, v)
		}
	default:
		c.tries(place, task, v)
	}
}

// retryKeys checks the keys of a _retry.
func (c repeats) retryKeys(place []string, task string, m *param.Map) {
	for _, key := range keys.AddedRetryKeys() {
		if m.Has(key) {
			c.warn(append(slices.Clone(place), key), task, keys.GateHint(key), "%s of _retry has no effect here", key)
		}
	}
	c.unknownKeys(place, task, m.Without(keys.AddedRetryKeys()...), keys.RetryKeys())
}

// tries checks a _retry that is a number.
func (c repeats) tries(place []string, task string, v param.Value) {
	c.decimals(place, task, "_retry", v)
	n, err := param.AsInt("_retry", v)
	switch {
	case err != nil:
		c.noNumber(place, task, v)
	case n < 0:
		c.warn(place, task, "write the number of retries, such as `_retry: 3`", "_retry is %d: nothing is retried", n)
	}
}

// noList warns about a value of for_each> that is not a list, and will not become one.
func (c repeats) noList(place []string, task string, v param.Value) {
	text := param.Text(v)
	if !strings.Contains(text, "${") && !strings.HasPrefix(strings.Trim(text, `" `), "[") {
		c.warn(place, task, "write a list, as in `{name: [a, b]}`", "for_each> cannot read %s as a list, so the task will fail", param.Sample(v))
	}
}

// rounds warns about a loop without any iterations.
func (c repeats) rounds(place []string, task, operator string, command param.Value, config *param.Map) {
	m, _ := command.(*param.Map)
	nothing := false
	switch operator {
	case "loop":
		n, isNumber := command.(int64)
		nothing = isNumber && n < 1
		c.counter(place, task, config)
		c.decimals(place, task, "loop>", command)
	case "for_each":
		nothing = m != nil && c.noElement(place, task, m)
	case "for_range":
		nothing = c.emptyRange(place, task, m)
	}
	if nothing {
		c.warn(place, task, "give it something to iterate over, or disable it with `_disable: true`", "%s> runs nothing: %s", operator, param.Sample(command))
	}
}

// noElement checks the lists of for_each>, and reports whether they yield no tasks.
func (c repeats) noElement(place []string, task string, m *param.Map) bool {
	nothing := m.Len() == 0
	for name, v := range m.All() {
		c.fixed(place, task, name)
		list, isList := v.([]param.Value)
		nothing = nothing || isList && len(list) == 0
		if !isList {
			c.noList(place, task, v)
		}
	}
	return nothing
}

// emptyRange checks the numbers of for_range>, and reports whether they yield no tasks.
func (c repeats) emptyRange(place []string, task string, m *param.Map) bool {
	from, hasFrom := m.Value("from").(int64)
	to, hasTo := m.Value("to").(int64)
	if step, isNumber := m.Value("step").(int64); isNumber && step < 1 || hasFrom && hasTo && !m.Has("step") && !m.Has("slices") {
		c.warn(place, task, "write `step: 1`, or the number of slices, such as `slices: 4`", "for_range> has no step of 1 or more, so it will fail")
	}
	return hasFrom && hasTo && from >= to
}

// counter warns about a name for the counter of loop>, which is always i.
func (c repeats) counter(place []string, task string, config *param.Map) {
	for _, key := range []string{"var", "as", "variable", "index", "name", "counter", "loop_var", "iterator"} {
		name, isText := config.Value(key).(string)
		if isText && keys.EnvName().MatchString(name) && !c.reads(key, config) && c.named()[name] && name != "i" && !c.variable(name) {
			c.warn(append(slices.Clone(place[:len(place)-1]), key), task, "write ${i} in its tasks", "loop> counts in ${i}: %s is ignored", key)
		}
	}
}
