package keys

import (
	"zerodag/engine/param"
)

// ParallelForm describes where to write _parallel.
const ParallelForm = "write it in the group whose tasks run at the same time, or next to the `_do` of a loop"

// ParallelFault returns the message about `_parallel` at an operator that generates no tasks.
func ParallelFault(operator string) string {
	return "'_parallel' runs the tasks below it at the same time, but " + operator + "> has none"
}

// parallelMode is a group's `_parallel`. A limit of 0 or less means no limit.
type parallelMode struct {
	On    bool
	Limit int64
}

// ParallelOf reads `_parallel` (language.md 1.8). Loop operators use the same
// forms, but there the value may be a template and is read when the operator runs.
func ParallelOf(config *param.Map) (parallelMode, error) {
	v, ok := config.Get("_parallel")
	if !ok {
		return parallelMode{}, nil
	}
	switch x := v.(type) {
	case bool:
		return parallelMode{On: x}, nil
	case string:
		on, err := param.AsBool("_parallel", x)
		return parallelMode{On: on}, err
	case *param.Map:
		limit, ok := x.Get("limit")
		if !ok {
			return parallelMode{}, param.Errorf("Parameter 'limit' is required but not set")
		}
		if limit == nil {
			return parallelMode{}, param.Errorf("Parameter 'limit' is required but null")
		}
		n, err := param.AsInt("limit", limit)
		return parallelMode{On: true, Limit: n}, err
	}
	return parallelMode{}, param.Errorf("Invalid _parallel format: %s", param.Sample(v))
}

// ParallelKeys returns the keys of `_parallel` if it is a mapping.
func ParallelKeys() []string { return []string{"limit", SlidingKey} }

// SlidingKey is the key of `_parallel` that lets the next task start as soon as any task ends, instead of when a whole
// chunk has ended.
const SlidingKey = "sliding"

// Sliding returns how many children of a group or a loop may be under way at once if `_parallel` has `sliding: true`; 0
// if it does not, or if there is no limit. Only files with `zerodag: 1` have it.
func Sliding(config *param.Map) int {
	v, _ := config.Get("_parallel")
	m, ok := v.(*param.Map)
	if !ok {
		return 0
	}
	on, there := m.Get(SlidingKey)
	if !there {
		return 0
	}
	slides, err := param.AsBool(SlidingKey, on)
	mode, fault := ParallelOf(config)
	if err != nil || fault != nil || !slides {
		return 0
	}
	return int(max(0, min(mode.Limit, 1<<30)))
}
