package gcpfake

import (
	"encoding/json"
	"strings"
)

// Script is the behavior of a job. It is JSON after "-- bq: " in a line of the query; a job without a script succeeds
// at the first poll.
type Script struct {
	// Looks is the number of polls at which the job is still running.
	Looks int64 `json:"looks"`
	// Fail is the message with which the job fails, and Reason its error code.
	Fail   string `json:"fail"`
	Reason string `json:"reason"`
	// State is a state of the job that BigQuery does not have.
	State string `json:"state"`
}

func script(query string) Script {
	var s Script
	for line := range strings.Lines(query) {
		if text, found := strings.CutPrefix(line, "-- bq: "); found && json.Unmarshal([]byte(text), &s) != nil {
			return Script{Fail: "the script of the query is not JSON: " + text, Reason: "invalid"}
		}
	}
	return s
}
