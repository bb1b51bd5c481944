package keys

import (
	"slices"
	"strings"

	"zerodag/engine/param"
)

// ExportsExpression reports whether an exported value is an expression. If none is, no task needs to be checked.
func ExportsExpression(exports *param.Map) bool {
	for _, v := range exports.All() {
		if text, _ := v.(string); Computed(text) {
			return true
		}
	}
	return false
}

// NestedUses finds text within mappings of a task that uses an exported parameter that is itself an expression: there,
// the text of that expression is inserted. A string or list directly in the task gets the expression's value instead.
type NestedUses struct {
	Exports *param.Scope           // the exports that the task sees
	Skip    func(name string) bool // names that are set elsewhere; may be nil
	Report  func(below []string, message, hint string)
}

// Task checks a task's keys, but not the tasks below it.
func (u NestedUses) Task(config *param.Map) {
	for key, v := range config.All() {
		if strings.HasPrefix(key, "+") || HoldsTasks(config, key) || key == "schedule" || key == "sla" {
			continue
		}
		if export, isMap := v.(*param.Map); isMap && key == "_export" {
			for name, inner := range export.All() {
				u.value([]string{key, name}, inner, nil, false)
			}
			continue
		}
		u.value([]string{key}, v, nil, false)
	}
}

// value checks a value; siblings are the keys before it in its mapping, whose values it sees.
func (u NestedUses) value(below []string, v param.Value, siblings map[string]bool, inside bool) {
	switch x := v.(type) {
	case *param.Map:
		before := map[string]bool{}
		for key, e := range x.All() {
			u.value(append(slices.Clone(below), key), e, before, true)
			before[key] = true
		}
	case []param.Value:
		for _, e := range x {
			u.value(below, e, siblings, inside)
		}
	case string:
		if inside {
			u.text(below, x, siblings)
		}
	}
}

func (u NestedUses) text(below []string, text string, siblings map[string]bool) {
	for _, name := range NamesIn(text) {
		raw, _ := u.Exports.Value(name).(string)
		if !Computed(raw) || siblings[name] || strings.Contains(raw, "${secret:") || u.Skip != nil && u.Skip(name) {
			continue
		}
		hint := "write the expression of " + name + " here, instead of " + name
		if strings.Contains(text, "${"+name+"}") && len(raw) < 200 {
			hint = "write " + raw + " here, instead of ${" + name + "}"
		}
		u.Report(below, name+" contains an expression, which is not expanded within a mapping", hint)
		return
	}
}
