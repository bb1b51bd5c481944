package keys

import (
	"slices"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// PriorityKey is the key of tasks, groups and files for their priority while they wait.
const PriorityKey = "_priority"

func priorityKey() Key {
	return Key{
		Name: PriorityKey, Where: AtTop | AtGroup | AtTask,
		Doc:   "which waiting attempts and tasks start first",
		Check: checkPriority,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{}
		},
	}
}

// priorities returns the priorities by name, lowest first.
func priorities() []string { return []string{"lowest", "low", "normal", "high", "highest"} }

// PriorityForm is the hint for an invalid priority.
const PriorityForm = "write one of lowest, low, normal, high, highest"

// ParsePriority reads the name of a priority: -2 to 2; higher ones go first.
func ParsePriority(word string) (int, bool) {
	at := slices.Index(priorities(), word)
	return at - len(priorities())/2, at >= 0
}

// PriorityName returns the name for a priority.
func PriorityName(p int) string { return priorities()[p+len(priorities())/2] }

// PriorityOf reads `_priority` of a task's config; false if it is not set.
func PriorityOf(config *param.Map) (int, bool) {
	v, _ := config.Get(PriorityKey)
	word, _ := v.(string)
	return ParsePriority(word)
}

// ComputedPriority returns `_priority` of a task's config if it is an expression, evaluated when the task requests
// slots; "" if it is not set or a fixed value.
func ComputedPriority(config *param.Map) string {
	v, _ := config.Get(PriorityKey)
	if text, _ := v.(string); Computed(text) {
		return text
	}
	return ""
}

// checkPriority requires the name of a priority, or an expression that may evaluate to one.
func checkPriority(key string, v param.Value, report rule.Report) {
	word, _ := v.(string)
	if _, known := ParsePriority(word); known || Computed(word) {
		return
	}
	report(nil, "'"+key+"' cannot be "+param.Sample(v), PriorityForm)
}
