package fargate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"zerodag/internal/sandbox"
)

// Stopped is the part of a task state change that concerns a runner whose machine has ended.
type Stopped struct {
	Runner string // sandbox.Runner.Name
	Why    string // for the user
	Ending sandbox.Ending
}

// detail is the event's format.
type detail struct {
	StartedBy     string      `json:"startedBy"`
	LastStatus    string      `json:"lastStatus"`
	StopCode      string      `json:"stopCode"`
	StoppedReason string      `json:"stoppedReason"`
	Containers    []container `json:"containers"`
}

type container struct {
	Name     string `json:"name"`
	ExitCode *int   `json:"exitCode"`
	Reason   string `json:"reason"`
}

// ParseEvent reads the detail of an "ECS Task State Change". It returns false if the event is not about a machine that
// has ended.
func ParseEvent(text []byte) (Stopped, bool, error) {
	var d detail
	if err := json.Unmarshal(text, &d); err != nil {
		return Stopped{}, false, fmt.Errorf("read task state change: %w", err)
	}
	if d.LastStatus != "STOPPED" || d.StartedBy == "" {
		return Stopped{}, false, nil
	}
	s := Stopped{Runner: d.StartedBy, Why: d.why()}
	switch {
	case isFinal(s.Why):
		s.Ending = sandbox.Final
	case isRefusal(s.Why), d.unreached():
		s.Ending = sandbox.NoRoom
	}
	return s, true, nil
}

// why returns a container's reason if there is one, otherwise the task's reason.
func (d detail) why() string {
	reason := d.StoppedReason
	for _, c := range d.Containers {
		if c.Reason != "" {
			reason = c.Reason
			break
		}
		if c.Name == fetcher && c.ExitCode != nil && *c.ExitCode != 0 {
			reason = fmt.Sprintf("the machine could not download its runner (code %d)", *c.ExitCode)
		}
	}
	switch {
	case strings.Contains(reason, "OutOfMemory"):
		return "the machine ran out of memory"
	case d.StopCode == "SpotInterruption":
		return "AWS reclaimed the machine (Spot)"
	case strings.Contains(reason, "CannotPullContainerError"):
		return "The image cannot be pulled: " + reason
	case reason == "":
		return "the machine has ended: " + d.StopCode
	}
	return reason
}

// unreached reports whether the machine could not fetch its program because the API did not respond.
func (d detail) unreached() bool {
	return slices.ContainsFunc(d.Containers, func(c container) bool {
		return c.Name == fetcher && c.ExitCode != nil && *c.ExitCode == unreached
	})
}

// isFinal reports whether an image does not exist or may not be used. A registry that does not respond or throttles
// requests may respond later.
func isFinal(why string) bool {
	if !strings.Contains(why, "CannotPullContainerError") {
		return false
	}
	text := strings.ToLower(why)
	for _, word := range []string{"timeout", "toomanyrequests", "too many requests", "connection", "temporar", "5xx", "503", "500 internal"} {
		if strings.Contains(text, word) {
			return false
		}
	}
	return true
}
