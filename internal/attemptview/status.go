package attemptview

import "zerodag/internal/term"

// StatusInk returns the color for an attempt's status or a task's state.
func StatusInk(ink term.Palette, status string) string {
	switch status {
	case "success":
		return ink.Green
	case "error", "group_error":
		return ink.Red
	case "running", "ready":
		return ink.Cyan
	case "killed", "canceled", "retry_waiting", "group_retry_waiting", "pending", successIgnored:
		return ink.Yellow
	}
	return ink.Dim
}

// successIgnored is the status of an attempt that succeeded although tasks failed.
const successIgnored = "success, errors ignored"

// OfIgnored returns a status as users see it. Digdag has no status for an attempt that succeeded with ignored errors.
func OfIgnored(status string, ignored bool) string {
	if ignored {
		return successIgnored
	}
	return status
}
