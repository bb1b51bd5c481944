package td

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"zerodag/operators"
)

// Where a command goes into a query, as in the original. A dot of its language ends at every
// end of line there is.
var (
	insertLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\A|\r?\n)--\s*DIGDAG_INSERT_LINE` + restOfLine) })
	headComment = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A([\r\n\t]*(?:(?:\A|\n)--[^\n]*)+)\n?(` + restOfLine + `)\z`)
	})
)

const restOfLine = `[^\n\r\x{85}\x{2028}\x{2029}]*`

// withCommand puts a command such as INSERT before a query: at the line that asks for it, or
// after comments at its head when one line follows, or else in front.
func withCommand(command, query string) string {
	if m := insertLine().FindStringSubmatchIndex(query); m != nil {
		return query[:m[0]] + query[m[2]:m[3]] + command + query[m[1]:]
	}
	if m := headComment().FindStringSubmatch(query); m != nil {
		return m[1] + "\n" + command + "\n" + m[2]
	}
	return command + "\n" + query
}

// withOrigin puts comments before a statement that say which task it is of.
func withOrigin(t *operators.Task, statement string) string {
	var b strings.Builder
	for _, line := range []struct {
		key   string
		value any
	}{{"project_id", t.ProjectID}, {"project_name", t.ProjectName}, {"workflow_name", t.Workflow}, {"session_id", t.SessionID},
		{"attempt_id", t.AttemptID}, {"task_name", t.TaskName}} {
		fmt.Fprintf(&b, "-- %s: %v\n", line.key, line.value)
	}
	return b.String() + statement
}
