package console

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"
	"zerodag/engine/expr"
	"zerodag/engine/param"
)

// uses collects the parameters that a workflow's expressions read, and the parameters that its tasks set.
type uses struct {
	list  []Used // in the order of their first use
	known map[string]bool
	set   map[string]bool
}

// newUses returns a collector with the parameters that every task sees; scheduled adds a schedule's parameters.
func newUses(scheduled bool) *uses {
	u := &uses{known: map[string]bool{}, set: map[string]bool{}}
	for _, name := range []string{"timezone", "session_id", "session_uuid", "attempt_id", "project_id", "task_name", "retry_attempt_name", "error", "moment", "i", "range", "true", "false", "null", "undefined"} {
		u.set[name] = true
	}
	prefixes := []string{"session_", "last_executed_session_"}
	if scheduled {
		prefixes = append(prefixes, "last_session_", "next_session_")
	}
	for _, prefix := range prefixes {
		for _, part := range []string{"time", "date", "date_compact", "local_time", "tz_offset", "unixtime"} {
			u.set[prefix+part] = true
		}
	}
	return u
}

// reference matches an expression that consists only of a parameter's path: for any other expression, only running it
// can show whether the parameter may be missing.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)(\.[A-Za-z0-9_]+|\[[0-9]+\])*\s*$`)
})

// task collects the uses of a task and of everything below it.
func (u *uses) task(name string, config *param.Map) {
	for key, v := range config.All() {
		inner, isMap := v.(*param.Map)
		switch {
		case strings.HasPrefix(key, "+") && isMap:
			u.task(name+key, inner)
		case slices.Contains([]string{"_do", "_else_do", "_error", "_check", "_cancel", "_finally"}, key) && isMap:
			u.task(name, inner)
		case slices.Contains(keys.BranchKeys(), key) && isMap && keys.OperatorOf(config) == "switch":
			for _, body := range keys.BodiesOf(config) {
				u.task(name, body)
			}
		case key == "_export" && isMap:
			u.sets(inner)
			u.value(name, inner)
		default:
			u.value(name, v)
		}
	}
	if keys.OperatorOf(config) == "for_each" {
		u.sets(config.Map("for_each>"))
		u.sets(config.Map("_command"))
	}
}

func (u *uses) sets(m *param.Map) {
	for key := range m.All() {
		u.set[key] = true
	}
}

// value searches for expressions in any value.
func (u *uses) value(task string, v param.Value) {
	switch x := v.(type) {
	case string:
		for _, part := range expr.Parse(x, "") {
			if !part.Code {
				continue
			}
			if m := reference().FindStringSubmatch(part.Text); m != nil && !u.known[m[1]] {
				u.known[m[1]] = true
				u.list = append(u.list, Used{m[1], task})
			}
		}
	case *param.Map:
		for _, e := range x.All() {
			u.value(task, e)
		}
	case []param.Value:
		for _, e := range x {
			u.value(task, e)
		}
	}
}

// open returns the parameters that nothing in the workflow sets before it runs: the user who starts it provides them,
// or a task stores them.
func (u *uses) open() []Used {
	list := slices.DeleteFunc(u.list, func(x Used) bool { return u.set[x.Name] })
	return list[:min(len(list), mostUsed)]
}
