package td

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"zerodag/operators"
)

// Places for a command in a query, as in Digdag. In Digdag's regular expressions, a dot does not match any kind of line
// break.
var (
	insertLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\A|\r?\n)--\s*DIGDAG_INSERT_LINE` + restOfLine) })
	headComment = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A([\r\n\t]*(?:(?:\A|\n)--[^\n]*)+)\n?(` + restOfLine + `)\z`)
	})
)

const restOfLine = `[^\n\r\x{85}\x{2028}\x{2029}]*`

// withCommand inserts a command such as INSERT into a query: at the marked line, or after leading comments if one line
// follows, or otherwise at the start.
func withCommand(command, query string) string {
	if m := insertLine().FindStringSubmatchIndex(query); m != nil {
		return query[:m[0]] + query[m[2]:m[3]] + command + query[m[1]:]
	}
	if m := headComment().FindStringSubmatch(query); m != nil {
		return m[1] + "\n" + command + "\n" + m[2]
	}
	return command + "\n" + query
}

// withOrigin puts comments that name the task before its statement.
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
