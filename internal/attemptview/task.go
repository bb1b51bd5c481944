package attemptview

import (
	"strconv"

	"zerodag/engine/param"
	"zerodag/internal/client"
	"zerodag/internal/taskview"
)

// RetriesOf returns how many times a task was retried. It returns false if the server does not count retries.
func RetriesOf(t client.Task) (int, bool) {
	again, there := t.StateParams.Get("retry_count")
	n, err := strconv.Atoi(param.Text(again))
	return n, there && err == nil
}

// ErrorOf returns a task's error, or why it was skipped; "" if nothing failed, or if only tasks below it failed.
func ErrorOf(t client.Task) string {
	if t.Skipped != "" {
		return "skipped: " + t.Skipped
	}
	text, _ := t.Error.Get("message")
	message, _ := text.(string)
	return taskview.Briefly(message)
}
