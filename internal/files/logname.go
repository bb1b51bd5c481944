package files

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/schedule"
	"zerodag/internal/host"
	"zerodag/operators"
)

// The names of task logs are the original's (spec engine.md 2.13): a folder for each day,
// in it one for each attempt, in it
// <task>@<8 hex digits of seconds><8 hex digits of nanoseconds>.<agent>.log.gz.
const (
	sessionForm = "20060102T150405-0700"
	logSuffix   = ".log.gz"
	// longestName is what file systems take; longestTask is what is left of it for the
	// task and the agent.
	longestName = 255
	longestTask = longestName - len("@0123456789abcdef.") - len(logSuffix)
)

// within keeps a name inside its folder.
func within(name string) string {
	return strings.NewReplacer("/", "%2F", "\\", "%5C", "\x00", "%00").Replace(name)
}

// attemptFolder is where the logs of an attempt lie; session is in the attempt's zone.
func attemptFolder(created time.Time, site, project int64, workflow string, session time.Time, retryName string) string {
	name := fmt.Sprintf("%d.%d%s@%s", site, project, within(workflow), session.Format(sessionForm))
	if retryName != "" {
		name += "_" + within(retryName)
	}
	return filepath.Join(created.UTC().Format("2006-01-02"), shortened(name, longestName-len(shortSuffix)))
}

func folderOfRun(id operators.Identity, created time.Time) string {
	return attemptFolder(created, id.SiteID, id.ProjectID, id.Workflow, id.SessionTime, id.RetryAttemptName)
}

func folderOfAttempt(a host.Attempt) (string, error) {
	zone, err := schedule.Zone(a.Zone)
	if err != nil {
		return "", fmt.Errorf("find logs of attempt %d: %w", a.ID, err)
	}
	return attemptFolder(a.CreatedAt, a.Site, a.Project.ID, a.Workflow.Name, a.SessionTime.In(zone), a.RetryName), nil
}

// logName names the file of a run that began at a time.
func logName(task, agent string, at time.Time) string {
	agent = shortened(within(agent), longestTask/2)
	task = shortened(within(task), longestTask-len(agent))
	return fmt.Sprintf("%s@%08x%08x.%s%s", task, at.Unix(), at.Nanosecond(), agent, logSuffix)
}

// shortened cuts a name that no file system would take; a hash tells it from others.
func shortened(name string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := fmt.Sprintf("~%x", sum[:6])
	return strings.ToValidUTF8(name[:most-len(tail)], "") + tail
}

// parseLogName takes a name apart. Other files are none of ours. A task may have an "@" in
// its name, so may the agent: the first one that a time follows counts.
func parseLogName(name string) (host.LogFile, bool) {
	if strings.ContainsAny(name, "/\\\x00") || !strings.HasSuffix(name, logSuffix) {
		return host.LogFile{}, false
	}
	for i, c := range name {
		rest := name[i:]
		if c != '@' || len(rest) < len("@0123456789abcdef.")+len(logSuffix) || rest[17] != '.' {
			continue
		}
		seconds, err := strconv.ParseUint(rest[1:9], 16, 32)
		nanos, err2 := strconv.ParseUint(rest[9:17], 16, 32)
		if err == nil && err2 == nil {
			return host.LogFile{Name: name, TaskName: name[:i], Time: time.Unix(int64(seconds), int64(nanos)).UTC(),
				AgentID: strings.TrimSuffix(rest[18:], logSuffix)}, true
		}
	}
	return host.LogFile{}, false
}
