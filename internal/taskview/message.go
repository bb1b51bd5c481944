package taskview

import (
	"fmt"
	"strings"

	"zerodag/engine/param"
)

// LastLines is how many lines of its log are shown for a failed task.
const LastLines = 10

// MostFailures is how many failed tasks are shown with their logs.
const MostFailures = 3

// TriesNote returns a note, to follow a task's name, about how many times the task ran, or "" if it ran once.
func TriesNote(tries int) string {
	if tries < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d tries)", tries)
}

// OutputsText lists an attempt's outputs, one per line, or returns "" if there are none.
func OutputsText(outputs *param.Map) string {
	var b strings.Builder
	for name, v := range outputs.All() {
		fmt.Fprintf(&b, "  %s: %s\n", name, param.Text(v))
	}
	return b.String()
}

// Briefly returns a message without the part that shows its origin in a program.
func Briefly(message string) string {
	message, _, _ = strings.Cut(message, "\n\t")
	return strings.TrimSpace(message)
}

// LongestKept is how many characters of a line are shown again at the end.
const LongestKept = 300

// Plainly returns the engine's line about a failed task in plain words.
func Plainly(task, message string) string {
	for _, x := range []struct{ begin, instead string }{
		{"Task failed with unexpected error: ", "failed: "},
		{"Task failed, retrying: ", "failed, retrying: "},
		{"Task " + task + " failed.\n", "failed: "},
		{"Configuration error at task " + task + ": ", "failed: "},
	} {
		if rest, ok := strings.CutPrefix(message, x.begin); ok {
			return x.instead + Briefly(rest)
		}
	}
	return Briefly(message)
}
