package tasklog

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"zerodag/internal/host"
)

// Suffix is the extension of log files, which are gzip files.
const Suffix = ".log.gz"

// LongestName is the file systems' limit; longestTask is the part that remains for the task and the agent.
const (
	LongestName = 255
	longestTask = LongestName - len("@0123456789abcdef.") - len(Suffix)
)

// Within changes a name so that it stays inside its folder.
func Within(name string) string { return within().Replace(name) }

// within is created only once because it takes ten kilobytes.
var within = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("/", "%2F", "\\", "%5C", "\x00", "%00")
})

// Name returns the file name for a run that began at the given time, in Digdag's form (engine.md 2.13): <task>@<8 hex
// digits of seconds><8 hex digits of nanoseconds>.<agent>.log.gz.
func Name(task, agent string, at time.Time) string {
	agent = Shortened(Within(agent), longestTask/2)
	task = Shortened(Within(task), longestTask-len(agent))
	return fmt.Sprintf("%s@%08x%08x.%s%s", task, at.Unix(), at.Nanosecond(), agent, Suffix)
}

// Shortened cuts a name that is too long for file systems; a hash distinguishes it from others.
func Shortened(name string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := fmt.Sprintf("~%x", sum[:6])
	return strings.ToValidUTF8(name[:most-len(tail)], "") + tail
}

// Prefix returns the prefix of a task's file names. Other tasks' files may have the same prefix: see IsOf.
func Prefix(task string) string {
	task = Within(task)
	if most := longestTask - longestTask/2; len(task) > most { // long names are cut, at a length that depends on the agent's name
		return strings.ToValidUTF8(task[:most-len("~0123456789ab")], "")
	}
	return task + "@"
}

// IsOf reports whether a file belongs to a task.
func IsOf(f host.LogFile, task string) bool {
	return f.TaskName == Shortened(Within(task), longestTask-len(f.AgentID))
}

// ParseName splits a name into its parts, or returns false if the file is not a task log. A task may have an "@" in its
// name, and so may the agent: the first "@" followed by a time counts.
func ParseName(name string) (host.LogFile, bool) {
	if strings.ContainsAny(name, "/\\\x00") || !strings.HasSuffix(name, Suffix) {
		return host.LogFile{}, false
	}
	for i, c := range name {
		rest := name[i:]
		if c != '@' || len(rest) < len("@0123456789abcdef.")+len(Suffix) || rest[17] != '.' {
			continue
		}
		seconds, err := strconv.ParseUint(rest[1:9], 16, 32)
		nanos, err2 := strconv.ParseUint(rest[9:17], 16, 32)
		if err == nil && err2 == nil {
			return host.LogFile{Name: name, TaskName: name[:i], Time: time.Unix(int64(seconds), int64(nanos)).UTC(),
				AgentID: strings.TrimSuffix(rest[18:], Suffix)}, true
		}
	}
	return host.LogFile{}, false
}
