package fargate

import (
	"strings"
	"testing"

	"zerodag/internal/sandbox"
)

// TestEvents checks which reason is reported for the end of a machine, and when another machine would have the same
// problem.
func TestEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		why    string
		ending sandbox.Ending
	}{
		"no image":      {`"stopCode":"TaskFailedToStart","stoppedReason":"CannotPullContainerError: x: not found"`, "The image cannot be pulled: CannotPullContainerError: x: not found", sandbox.Final},
		"busy registry": {`"stopCode":"TaskFailedToStart","stoppedReason":"CannotPullContainerError: toomanyrequests: slow down"`, "toomanyrequests", sandbox.Lost},
		"memory":        {`"stopCode":"EssentialContainerExited","stoppedReason":"Essential container in task exited","containers":[{"name":"command","exitCode":137,"reason":"OutOfMemoryError: Container killed due to memory usage"}]`, "the machine ran out of memory", sandbox.Lost},
		"Spot":          {`"stopCode":"SpotInterruption","stoppedReason":"Your Spot Task was interrupted."`, "AWS reclaimed the machine (Spot)", sandbox.Lost},
		"no program":    {`"stopCode":"TaskFailedToStart","stoppedReason":"dependency graph: …","containers":[{"name":"fetch","exitCode":1}]`, "could not download its runner (code 1)", sandbox.Lost},
		"no API":        {`"stopCode":"TaskFailedToStart","containers":[{"name":"fetch","exitCode":75}]`, "could not download its runner (code 75)", sandbox.NoRoom},
		"no room":       {`"stopCode":"TaskFailedToStart","stoppedReason":"Capacity is unavailable at this time. Please try again later or in a different availability zone"`, "Capacity is unavailable", sandbox.NoRoom},
		"its host":      {`"stopCode":"TerminationNotice"`, "the machine has ended: TerminationNotice", sandbox.Lost},
	} {
		s, ended, err := ParseEvent([]byte(`{"startedBy":"1-k-0-x","lastStatus":"STOPPED",` + c.text + `}`))
		if err != nil || !ended || s.Runner != "1-k-0-x" || !strings.Contains(s.Why, c.why) || s.Ending != c.ending {
			t.Errorf("%s: %+v, %v, %v", name, s, ended, err)
		}
	}
	for _, text := range []string{`{"startedBy":"1-k-0-x","lastStatus":"RUNNING"}`, `{"lastStatus":"STOPPED"}`} {
		if s, ended, err := ParseEvent([]byte(text)); ended || err != nil {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"startedBy":"1-k-0-x","lastStatus":"STOPPED","containers":[{"name":"fetch","exitCode":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, ended, err := ParseEvent(text); ended && (err != nil || s.Runner == "" || s.Why == "") {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	})
}
