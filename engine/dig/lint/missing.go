package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig"

	"zerodag/engine/dig/letters"
	"zerodag/engine/param"
)

// maxMissing limits how many tasks of one file are counted.
const maxMissing = 10_000

// missing collects the tasks whose operator does not exist, by operator: a project for another engine may have hundreds
// of them, and one line per operator is enough.
type missing struct {
	order []string
	tasks map[string]dig.Errors
}

// add adds tasks whose message is their operator's name.
func (m *missing) add(tasks dig.Errors) {
	if m.tasks == nil {
		m.tasks = map[string]dig.Errors{}
	}
	for _, one := range tasks {
		if m.tasks[one.Message] == nil {
			m.order = append(m.order, one.Message)
		}
		m.tasks[one.Message] = append(m.tasks[one.Message], one)
	}
}

// warnings returns one warning per operator, in the order of their first tasks.
func (m *missing) warnings(known Known) (list dig.Errors) {
	for _, name := range m.order {
		tasks := m.tasks[name]
		first := slices.MinFunc(tasks, func(a, b dig.Error) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		hint := missingHint(name, known)
		if len(tasks) == 1 {
			first.Message, first.Hint = "unknown operator "+name+">", hint
			list = append(list, first)
			continue
		}
		list = append(list, dig.Error{Message: fmt.Sprintf("unknown operator %s> (%d tasks, first in %s:%d); %s", name, len(tasks), first.File, first.Line, hint)})
	}
	return list
}

func missingHint(name string, known Known) string {
	if known.Missing != nil {
		if text := known.Missing(name); text != "" {
			return text
		}
	}
	plain := strings.ToLower(strings.Trim(letters.Visible(name), " \u00a0:-=>"))
	if plain != name && slices.Contains(known.Operators, plain) {
		return "write " + plain + ">"
	}
	near := slices.Compact(slices.Sorted(slices.Values(param.Suggest(name, known.Operators))))
	if best := param.Nearest(name, known.Operators); best != "" {
		near = []string{best}
	} else if len(name) > 3 {
		near = nil // a word that only half matches is a different word
	}
	if len(near) > 0 {
		return "did you mean " + strings.Join(near, ", ") + "?"
	}
	return "operators are either built in, such as sh>, py>, echo>, http>, or executables in operators/ of the project"
}
