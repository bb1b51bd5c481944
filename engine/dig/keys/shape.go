package keys

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/param"
)

// Shape is a summary of a task's keys.
type Shape struct {
	Subtasks, Operators int
	Typed, Export       bool
}

// ShapeOf summarizes a task's keys.
func ShapeOf(config *param.Map) (s Shape) {
	for _, key := range config.Keys() {
		switch {
		case key == "":
		case key[0] == '+':
			s.Subtasks++
		case key[len(key)-1] == '>':
			s.Operators++
		case key == "_type":
			s.Typed = true
		case key == "_export":
			s.Export = true
		}
	}
	return s
}

// TaskKeys returns the keys that the language has for tasks, other than subtasks and operators.
func TaskKeys() []string {
	return []string{"_export", "_do", "_else_do", "_parallel", "_background", "_after", "_retry", "_error", "_check",
		"_type", "_command", "_env", "_disable", "_workdir", "_secrets"}
}

// BodiesOf returns the tasks that a task's operator may generate, with the keys that hold them.
func BodiesOf(config *param.Map) iter.Seq2[[]string, *param.Map] {
	return func(yield func([]string, *param.Map) bool) {
		for _, key := range []string{"_do", "_else_do"} {
			if body := config.Map(key); body != nil && !yield([]string{key}, body) {
				return
			}
		}
		if OperatorOf(config) != "switch" {
			return
		}
		for name := range config.Map("_cases").All() {
			if body := config.Map("_cases").Map(name); body != nil && !yield([]string{"_cases", name}, body) {
				return
			}
		}
		if body := config.Map("_default"); body != nil {
			yield([]string{"_default"}, body)
		}
	}
}

// OperatorOf returns the name of a task's operator; "" for a group.
func OperatorOf(config *param.Map) string {
	name, _, _ := Operator(config)
	return name
}

// Operator returns a task's operator: its name, the key that names it and that key's value.
func Operator(config *param.Map) (name, key string, command param.Value) {
	if v, ok := config.Get("_type"); ok {
		name, _ = v.(string)
		return name, "_type", config.Value("_command")
	}
	for k, v := range config.All() {
		if strings.HasSuffix(k, ">") {
			return k[:len(k)-1], k, v
		}
	}
	return "", "", nil
}

// WithBodies are the built-in operators with tasks below _do, and for if> also below _else_do.
var WithBodies = []string{"if", "loop", "for_each", "for_range", "td_for_each"}

// IsBody reports whether an unknown key holds tasks.
func IsBody(config *param.Map, key string) bool {
	return !strings.HasPrefix(key, "+") && !strings.HasSuffix(key, ">") && !slices.Contains(TaskKeys(), key) && IsTask(config.Map(key))
}

// TaskBodies are keys that hold tasks, which are checked separately.
var TaskBodies = []string{"_do", "_else_do", "_error", "_check", "_cancel", "_finally"}

// HoldsTasks reports whether a key of a task holds tasks.
func HoldsTasks(config *param.Map, key string) bool {
	return slices.Contains(TaskBodies, key) || slices.Contains(BranchKeys(), key) && OperatorOf(config) == "switch"
}

// LoopNames returns the variables that a loop's tasks see.
func LoopNames(operator string, command param.Value) []string {
	m, _ := command.(*param.Map)
	switch operator {
	case "loop":
		return []string{"i"}
	case "for_each":
		return m.Keys()
	case "for_range":
		return []string{"range"}
	}
	return nil
}

// GroupKeys returns a group's keys without its subtasks.
func GroupKeys() []string {
	return []string{"timezone", "schedule", "sla", "_parallel", "_background", "_after",
		"_error", "_check", "_retry", "_export", "_secrets"}
}

// TaskName turns a key into a task's name. ^ is reserved for generated tasks, and YAML reads +1 as a number.
func TaskName(key string) string {
	key = "+" + strings.TrimLeft(key, "^")
	if _, err := strconv.ParseFloat(key, 64); err == nil {
		return `"` + key + `"`
	}
	return key
}

// IsTask reports whether a mapping looks like a task: it has an operator or subtasks.
func IsTask(m *param.Map) bool {
	s := ShapeOf(m)
	return s.Operators+s.Subtasks > 0
}
