package engine

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// ignores says whether a failure of the task for good counts as a success: `_ignore_error` is true, or one of its
// conditions fits the failure.
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
	return part != "" && err == nil && pattern.In(message) // files with a wrong expression are refused
}

// OutputKey is the key of an error with the line of a command's output that `_ignore_error: {output}` looks for.
const OutputKey = "output"

var codePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:failed|ended) with code (\d+)`) })

// exitCode returns the exit code of the command whose failure this is. If the message is that of a program, it may contain
// anything, and the operator gives the code in a separate key. Others have it in their message.
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

// ignored is the outcome of a task whose error is ignored: the error stays, and later tasks find it as
// `failed.NAME`, by the last part of the task's name.
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
