package gcpfake

import (
	"encoding/json"
	"strings"
)

// Script is the behavior of a job. It is JSON behind "-- bq: " in a line of the query; a job without one succeeds at
// the first poll.
type Script struct {
	// Looks is how often the job still runs when it is looked at.
	Looks int64 `json:"looks"`
	// Fail is what the job fails with, and Reason the word for it.
	Fail   string `json:"fail"`
	Reason string `json:"reason"`
	// State is that of the job in place of any that BigQuery has.
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
