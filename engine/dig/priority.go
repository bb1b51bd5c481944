package dig

import (
	"slices"

	"zerodag/engine/param"
)

// priorityKey is the key of tasks, groups and files that says how important they are among those that wait.
const priorityKey = "_priority"

// priorities are the words for them, the lowest first.
func priorities() []string { return []string{"lowest", "low", "normal", "high", "highest"} }

// PriorityForm is what is told to who wrote no priority.
const PriorityForm = "write one of lowest, low, normal, high, highest"

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

// ComputedPriority is what `_priority` of a task's config comes to when the task asks for slots; "" where it says nothing, or a word.
func ComputedPriority(config *param.Map) string {
	v, _ := config.Get(priorityKey)
	if text, _ := v.(string); computed(text) {
		return text
	}
	return ""
}

// checkPriority wants a word, or what may come to one.
func checkPriority(key string, v param.Value, report func([]string, string, string)) {
	word, _ := v.(string)
	if _, known := ParsePriority(word); known || computed(word) {
		return
	}
	report(nil, "'"+key+"' cannot be "+sample(v), PriorityForm)
}
