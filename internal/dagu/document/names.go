package document

import (
	"path"
	"strconv"
	"strings"
)

// Latin keeps letters, digits, `_`, `-`, `.` and `=`, and replaces each run of other characters with `_`.
func Latin(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range text {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.=", r) {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
		} else {
			gap = true
		}
	}
	return b.String()
}

// longestName limits the length of a name so that it fits a task below others.
const longestName = 100

// TaskName derives a task name from a step name. A name written mostly in other alphabets is unusable: in that case,
// TaskName returns other.
func TaskName(name, other string) string {
	letters, foreign := 0, 0
	for _, r := range name {
		switch {
		case r > '\x7f':
			foreign++
		case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9':
			letters++
		}
	}
	if out := Latin(name); out != "" && letters > 0 && foreign <= letters {
		return out[:min(len(out), longestName)]
	}
	return other
}

// Unique returns a name that is not taken yet, and marks it as taken.
func Unique(taken map[string]bool, name string) string {
	out := name
	for i := 2; taken[out]; i++ {
		out = name + "_" + strconv.Itoa(i)
	}
	taken[out] = true
	return out
}

// FileName converts a name to a workflow file name.
func FileName(name string) string {
	name = path.Base(name)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml")
	switch out := Latin(name); {
	case out == "" || out == ".":
		return "workflow"
	case '0' <= out[0] && out[0] <= '9': // workflow names cannot begin with a digit
		return "dag_" + out
	default:
		return out
	}
}

// Variable converts a name to one that is valid in expressions and in commands' environments.
func Variable(name string) string {
	name = strings.NewReplacer("-", "_", ".", "_", "=", "_").Replace(Latin(name))
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "p" + name
	}
	return name
}
