package attemptview

import (
	"strconv"

	"zerodag/engine/param"
	"zerodag/internal/client"
	"zerodag/internal/taskview"
)

// RetriesOf returns how often a task was retried. It reports false if nothing counts that.
func RetriesOf(t client.Task) (int, bool) {
	again, there := t.StateParams.Get("retry_count")
	n, err := strconv.Atoi(param.Text(again))
	return n, there && err == nil
}

// ErrorOf returns what failed in a task, or why it was skipped; "" if nothing did, or only tasks below it.
func ErrorOf(t client.Task) string {
	if t.Skipped != "" {
		return "skipped: " + t.Skipped
	}
	text, _ := t.Error.Get("message")
	message, _ := text.(string)
	return taskview.Briefly(message)
}
