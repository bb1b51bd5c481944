package batch

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"zerodag/engine/param"
	"zerodag/operators"
)

// last returns the facts about a job that are stored, and added to an error object.
func (j *job) last(found types.JobDetail) *param.Map {
	m := param.New("id", j.id, "name", j.name)
	if c := found.Container; c != nil {
		if c.ExitCode != nil {
			m.Set("exit_code", int64(*c.ExitCode))
		}
		if c.LogStreamName != nil {
			m.Set("log_stream", *c.LogStreamName)
		}
	}
	if a := found.ArrayProperties; a != nil && deref(a.Size) > 0 {
		m.Set("succeeded", int64(a.StatusSummary["SUCCEEDED"]))
		m.Set("failed", int64(a.StatusSummary["FAILED"]))
	}
	return m
}

func (j *job) result(found types.JobDetail) operators.Result {
	return operators.Result{Store: param.New("batch", param.New("last_job", j.last(found))), ResetStore: [][]string{{"batch", "last_job"}}}
}

func (j *job) failure(found types.JobDetail) error {
	var why []string
	if a := found.ArrayProperties; a != nil && deref(a.Size) > 0 {
		why = append(why, fmt.Sprintf("%d of its %d jobs failed", a.StatusSummary["FAILED"], *a.Size))
	}
	if reason := deref(found.StatusReason); reason != "" && reason != "Essential container in task exited" {
		why = append(why, reason)
	}
	output := ""
	if c := found.Container; c != nil {
		if c.ExitCode != nil && *c.ExitCode != 0 {
			why = append(why, fmt.Sprintf("exit code %d", *c.ExitCode))
		}
		if reason := deref(c.Reason); reason != "" && reason != deref(found.StatusReason) {
			why = append(why, reason)
		}
		output = place(c)
	}
	if n := len(found.Attempts); n > 1 {
		why = append(why, fmt.Sprintf("%d attempts", n))
	}
	message := "batch>: job " + j.id + " failed"
	if len(why) > 0 {
		message += ": " + strings.Join(why, ", ")
	}
	return &operators.Failure{Message: message + output, Properties: param.New("job", j.last(found))}
}

// place returns where a container's output is.
func place(c *types.ContainerDetail) string {
	if deref(c.LogStreamName) == "" {
		return ""
	}
	group := "/aws/batch/job"
	if l := c.LogConfiguration; l != nil && l.Options["awslogs-group"] != "" {
		group = l.Options["awslogs-group"]
	}
	return "; its output is in " + group + " " + *c.LogStreamName
}
