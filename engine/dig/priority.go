package dig

import (
	"slices"
	"strings"

	"zerodag/engine/param"
)

// priorityKey is the key of tasks, groups and files that says how important they are among those that wait.
const priorityKey = "_priority"

// priorities are the words for them, the lowest first.
func priorities() []string { return []string{"lowest", "low", "normal", "high", "highest"} }

const priorityForm = "write one of lowest, low, normal, high, highest"

// ParsePriority reads a word for a priority: -2 to 2, the higher one goes first.
func ParsePriority(word string) (int, bool) {
	at := slices.Index(priorities(), word)
	return at - len(priorities())/2, at >= 0
}

// PriorityName is the word for a priority.
func PriorityName(p int) string { return priorities()[p+len(priorities())/2] }

// PriorityOf is what `_priority` of a task's config says; false where it says nothing.
func PriorityOf(config *param.Map) (int, bool) {
	v, _ := config.Get(priorityKey)
	word, _ := v.(string)
	return ParsePriority(word)
}

// checkPriority wants a word, as written.
func checkPriority(key string, v param.Value, report func([]string, string, string)) {
	word, _ := v.(string)
	if _, known := ParsePriority(word); known {
		return
	}
	hint := priorityForm
	if strings.Contains(word, "${") {
		hint += "; ${...} is not evaluated here, but in `_pool: {name: NAME, priority: ...}`"
	}
	report(nil, "'"+key+"' cannot be "+sample(v), hint)
}
