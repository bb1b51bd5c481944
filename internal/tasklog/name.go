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

// Suffix is how the names of log files end: they are gzip.
const Suffix = ".log.gz"

// LongestName is the limit of file systems; longestTask is what remains of it for the task and the agent.
const (
	LongestName = 255
	longestTask = LongestName - len("@0123456789abcdef.") - len(Suffix)
)

// Within keeps a name inside its folder.
func Within(name string) string { return within().Replace(name) }

// within is made once: to make one costs ten kilobytes.
var within = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("/", "%2F", "\\", "%5C", "\x00", "%00")
})

// Name names the file of a run that began at a time, as Digdag does (engine.md
// 2.13): <task>@<8 hex digits of seconds><8 hex digits of nanoseconds>.<agent>.log.gz.
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

// Prefix is how the names of the files of a task begin; those of other tasks may begin the same way: see IsOf.
func Prefix(task string) string {
	task = Within(task)
	if most := longestTask - longestTask/2; len(task) > most { // long ones are cut, the sooner the longer the agent's name
		return strings.ToValidUTF8(task[:most-len("~0123456789ab")], "")
	}
	return task + "@"
}

// IsOf reports whether a file is of a task.
func IsOf(f host.LogFile, task string) bool {
	return f.TaskName == Shortened(Within(task), longestTask-len(f.AgentID))
}

// ParseName splits a name into its parts. Other files are not ours. A task may have an "@" in its name, so may the
// agent: the first "@" followed by a time counts.
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
