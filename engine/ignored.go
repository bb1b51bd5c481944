package engine

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// ignores reports whether the task succeeds despite a final failure: `_ignore_error` is true, or one of its conditions
// matches the failure.
func (t *Task) ignores(failure *param.Map) bool {
	if t.Level == 0 {
		return false
	}
	v, _ := t.Config.Get("_ignore_error")
	conditions, isMap := v.(*param.Map)
	if !isMap {
		on, err := param.AsBool("_ignore_error", v)
		return v != nil && err == nil && on
	}
	message := messageOf(failure)
	if code, there := exitCode(failure); there {
		wanted, _ := conditions.Get("exit_code")
		list, isList := wanted.([]param.Value)
		if !isList {
			list = []param.Value{wanted}
		}
		if slices.ContainsFunc(list, func(v param.Value) bool {
			n, err := param.AsInt("exit_code", v)
			return v != nil && err == nil && n == code
		}) {
			return true
		}
	}
	if conditions.Has("output") && failure.Has(OutputKey) {
		return true
	}
	wanted, _ := conditions.Get("message")
	part, _ := wanted.(string)
	pattern, err := param.ParsePattern(part)
	return part != "" && err == nil && pattern.In(message) // files with an invalid expression are refused
}

// OutputKey is the key of an error that holds the line of a command's output that `_ignore_error: {output}` matches.
const OutputKey = "output"

var codePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:failed|ended) with code (\d+)`) })

// exitCode returns the exit code of the command that failed. If the message comes from a program, it may contain
// anything, so the operator gives the code in a separate key. Other messages contain the code.
func exitCode(failure *param.Map) (int64, bool) {
	if v, there := failure.Get(ExitCodeKey); there {
		n, err := param.AsInt(ExitCodeKey, v)
		return n, err == nil
	}
	m := codePattern().FindStringSubmatch(messageOf(failure))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return n, err == nil
}

// ignored returns the outcome of a task whose error is ignored: the error is kept, and later tasks see it as
// `failed.NAME`, where NAME is the last part of the task's name.
func (t *Task) ignored(failure *param.Map) *Outcome {
	out := t.withError(failure)
	told := param.New()
	if message, ok := failure.Get("message"); ok {
		told.Set("message", param.Data(message))
		if code, there := exitCode(failure); there {
			told.Set("exit_code", code)
		}
	}
	name := t.Name[strings.LastIndexAny(t.Name, "+^")+1:]
	out.Stores = param.Merge(out.Stores, param.New("failed", param.New(name, told)))
	return out
}
