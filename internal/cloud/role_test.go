package cloud

import (
	"strings"
	"testing"

	"zerodag/operators/all"
	"zerodag/operators/operatortest"
)

// TestRoleIsNotLent proves that no operator calls AWS with the role of the function that runs it, because that role has
// full access to the engine's data.
func TestRoleIsNotLent(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "the engine's")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "the engine's")
	for name, params := range map[string]string{
		"s3_wait":        `{"_command": "b/k"}`,
		"s3_copy":        `{"_command": "b/k", "to": "b/l"}`,
		"s3_move":        `{"_command": "b/k", "to": "b/l"}`,
		"s3_delete":      `{"_command": "b/k"}`,
		"sns":            `{"_command": "arn:aws:sns:us-east-1:0:t", "message": "m"}`,
		"sqs":            `{"_command": "q", "message": "m"}`,
		"lambda":         `{"_command": "f"}`,
		"dynamodb":       `{"_command": "t", "get": {"k": 1}}`,
		"step_functions": `{"_command": "arn:aws:states:us-east-1:0:stateMachine:m"}`,
		"athena":         `{"query": "select 1"}`,
		"glue":           `{"_command": "j"}`,
		"redshift":       `{"query": "select 1", "workgroup": "w", "database": "d"}`,
		"emr":            `{"cluster": "j-1", "steps": [{"type": "command", "command": "c"}]}`,
		"batch":          `{"_command": "d", "queue": "q"}`,
		"ecs":            `{"_command": "d"}`,
	} {
		w := operatortest.New(t, params)
		w.Config = operatorSettings()
		got := operatortest.RunOnce(t, all.Registry()[name], w)
		if !strings.Contains(got.Error, "this host does not share its own role with tasks") {
			t.Errorf("%s> without secrets: %+v", name, got)
		}
	}
}
