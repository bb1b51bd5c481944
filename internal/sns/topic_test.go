package sns

import (
	"strings"
	"testing"

	"zerodag/engine/param"
)

// TestSubject proves that SNS accepts a subject: one short line of ASCII text.
func TestSubject(t *testing.T) {
	t.Parallel()
	topic := &Topic{Options: Options{Stage: "main"}}
	for want, fields := range map[string]*param.Map{
		"zerodag main: Workflow session attempt failed sales nightly": param.New("message", "Workflow session attempt failed", "project_name", "sales", "workflow_name", "nightly"),
		"zerodag main: a?b ? nightly":                                 param.New("message", "a\nb", "project_name", "ü", "workflow_name", "nightly"),
		"zerodag main: x":                                             param.New("message", "x", "project_name", nil),
		("zerodag main: " + strings.Repeat("y", 200))[:maxSubject]:    param.New("message", strings.Repeat("y", 200)),
	} {
		if got := topic.subject(fields); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
