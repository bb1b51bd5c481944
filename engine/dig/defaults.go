package dig

import (
	"slices"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// withDefaults returns a file's tasks with the default keys that they lack, and without `_defaults` itself: each stored
// task has all keys that apply to it. Invalid defaults are kept for Compile to report. config is not changed. read
// reads the project's files, and is nil if there are none.
func withDefaults(config *param.Map, read Source) *param.Map {
	v, there := config.Get(keys.DefaultsKey)
	sound := there
	if there {
		keys.CheckDefaults(keys.DefaultsKey, v, func([]string, string, string) { sound = false })
	}
	if !sound {
		return config
	}
	d := defaulting{config.Map(keys.DefaultsKey), read}
	return d.below(config.Without(keys.DefaultsKey))
}

// defaulting gives tasks the keys that they lack.
type defaulting struct {
	keys *param.Map
	read Source
}

// below returns a task, or a file, with the defaults applied to it and to all tasks in it.
func (d defaulting) below(config *param.Map) *param.Map {
	out := param.New()
	for key, v := range config.All() {
		switch {
		case strings.HasPrefix(key, "+") || slices.Contains(keys.TaskBodies, key):
			v = d.task(v)
		case key == "_cases" && keys.OperatorOf(config) == "switch":
			if cases, ok := v.(*param.Map); ok {
				each := param.New()
				for name, body := range cases.All() {
					each.Set(name, d.task(body))
				}
				v = each
			}
		case key == "_default" && keys.OperatorOf(config) == "switch":
			v = d.task(v)
		}
		out.Set(key, v)
	}
	if s := keys.ShapeOf(config); !s.Typed && s.Operators == 0 {
		return out
	}
	for key, v := range d.keys.All() {
		if v, means := d.fitting(key, v, keys.OperatorOf(config)); means && !out.Has(key) {
			out.Set(key, v)
		}
	}
	return out
}

// fitting adapts a default to a task with an operator to which it may not apply: it omits the parts that could never
// take effect, as they would be refused if the task had them itself.
func (d defaulting) fitting(key string, v param.Value, operator string) (param.Value, bool) {
	m, isMap := v.(*param.Map)
	switch {
	case key == "_retry" && m.Has(keys.ExitCodeKey): // all other failures are final
		return v, keys.FailsWithCode(operator)
	case key == "_retry":
		means := true
		keys.CheckRetry(operator, v, func([]string, string, string) { means = false })
		return v, means
	case key == "_fail_fast":
		return v, !keys.MakesNoTasks(operator)
	case key == "_ignore_error" && isMap:
		m = m.Without(keys.NeverIgnored(operator)...)
		return m, m.Len() > 0
	case key == "_store", key == "_repeat" && m.Has(keys.ExitCodeKey):
		return v, !keys.RunsNoCommand(operator) && !d.unclear(operator)
	case key == "_repeat": // it would repeatedly run such an operator before any of its tasks
		return v, !keys.OnlyRunsTasks(operator) && !keys.AsksForTasks(operator) && !d.unclear(operator)
	}
	return v, true
}

// unclear reports whether an operator may turn out to run only tasks: its name is an expression, or the project has a
// workflow file, and no executable, with that name.
func (d defaulting) unclear(operator string) bool {
	switch {
	case strings.Contains(operator, "${"):
		return true
	case d.read == nil || keys.RunsNoCommand(operator) || slices.Contains(keys.CommandsBuiltIn, operator) || strings.Contains(operator, "/"):
		return false
	}
	_, err := d.read(operatorFile(operator))
	return err == nil
}

// task applies below to a value that may be a task: a mapping, or a list of mappings.
func (d defaulting) task(v param.Value) param.Value {
	switch x := v.(type) {
	case *param.Map:
		return d.below(x)
	case []param.Value:
		if !slices.ContainsFunc(x, func(e param.Value) bool { _, ok := e.(*param.Map); return !ok }) {
			return d.below(keys.Overlaid(x))
		}
	}
	return v
}
