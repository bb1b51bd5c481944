package keys

import (
	"slices"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// PriorityKey is the key of tasks, groups and files that says how important they are among those that wait.
const PriorityKey = "_priority"

func priorityKey() Key {
	return Key{
		Name: PriorityKey, Where: AtTop | AtGroup | AtTask,
		Doc:   "which waiting attempts and tasks go first",
		Check: checkPriority,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{}
		},
	}
}

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
	v, _ := config.Get(PriorityKey)
	word, _ := v.(string)
	return ParsePriority(word)
}

// ComputedPriority is what `_priority` of a task's config comes to when the task asks for slots; "" where it says nothing, or a word.
func ComputedPriority(config *param.Map) string {
	v, _ := config.Get(PriorityKey)
	if text, _ := v.(string); Computed(text) {
		return text
	}
	return ""
}

// checkPriority wants a word, or what may come to one.
func checkPriority(key string, v param.Value, report rule.Report) {
	word, _ := v.(string)
	if _, known := ParsePriority(word); known || Computed(word) {
		return
	}
	report(nil, "'"+key+"' cannot be "+param.Sample(v), PriorityForm)
}
