package engine

import (
	"strings"
)

// OfFailure reports whether a task was created after a failure, a kill or a delay: a new attempt may not create it.
func OfFailure(name string) bool {
	return strings.Contains(name, "^error") || strings.Contains(name, "^cancel") || strings.Contains(name, FailureAlert) || strings.Contains(name, "^sla")
}

// OwnName returns the part that a task adds to the full name of its parent: `+task`, or `^error` and the like.
func OwnName(name string) string {
	if at := strings.LastIndexAny(name, "+^"); at > 0 {
		return name[at:]
	}
	return name
}

// HandlerOf splits the name of a task that the engine runs for its owner, another task, in addition to that task's
// work: part of `_error`, `_check`, `_finally`, `_cancel`, an alert, or what `sla:` adds. handler names the outermost
// of these handlers.
func HandlerOf(name string) (owner, handler string, is bool) {
	first := len(name)
	for _, mark := range []string{"^error", CheckName, "^finally", "^cancel", FailureAlert, "^sla"} {
		if at := strings.Index(name, mark); at >= 0 && at < first {
			first, is = at, true
			handler = name[:at+len(mark)]
		}
	}
	return name[:first], handler, is
}

// WorksBelow reports, judged by name, whether a task is below a group or another task and was not created because of a
// failure.
func WorksBelow(name, above string) bool {
	rest, is := strings.CutPrefix(name, above)
	return is && (strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "^")) && !OfFailure(name)
}
