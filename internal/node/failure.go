package node

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/tasklog"
)

// What people are told of a task that failed: so many lines, and so many bytes of each. A file of a log that
// is larger than longestRead is not read for them.
const (
	mostLines   = 10
	longestLine = 500
	longestRead = 1 << 20
	mostRead    = 4 // files of the task, the newest first
)

// lastLines reads the last lines that a task printed, or where it is a group, which prints nothing, those of the last task below it;
// none where they cannot be had soon, since people are
// told of the failure all the same.
func lastLines(ctx context.Context, logs host.Logs, a host.Attempt, task string) []string {
	files, err := taskLogs(ctx, logs, a, task)
	if err == nil && len(files) == 0 {
		files, err = logsBelow(ctx, logs, a, task)
	}
	if err != nil || len(files) == 0 {
		return nil
	}
	slices.SortFunc(files, func(a, b host.LogFile) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Name, a.Name)) })
	// A command that runs elsewhere has its output in the file of the run that started it; the one that found its end has
	// another, in which only the server says something.
	for _, file := range files[:min(len(files), mostRead)] {
		if lines := linesOf(ctx, logs, a, file); len(lines) > 0 {
			return lines
		}
	}
	return nil
}

// linesOf are the last lines of one file of a task.
func linesOf(ctx context.Context, logs host.Logs, a host.Attempt, f host.LogFile) []string {
	if f.Size > longestRead {
		return nil
	}
	file, _, err := logs.File(ctx, a, f.Name)
	if err != nil {
		return nil
	}
	defer file.Close()
	lines, _ := tasklog.Last(file, mostLines) // what is no log has no lines
	for i, l := range lines {
		lines[i] = strings.ToValidUTF8(l[:min(len(l), longestLine)], "")
	}
	return lines
}

// LastLines are the last lines that a task printed, as people are told them; none of a log that is large, or not there.
func (n *Node) LastLines(ctx context.Context, a host.Attempt, task string) []string {
	return lastLines(ctx, n.logs, a, task)
}

// TaskLogs lists the log files of a task, by name: in the order in which they were begun.
func (n *Node) TaskLogs(ctx context.Context, a host.Attempt, task string) ([]host.LogFile, error) {
	return taskLogs(ctx, n.logs, a, task)
}

func taskLogs(ctx context.Context, logs host.Logs, a host.Attempt, task string) ([]host.LogFile, error) {
	files, err := logs.Files(ctx, a, tasklog.Prefix(task))
	return slices.DeleteFunc(slices.Clone(files), func(f host.LogFile) bool { return !tasklog.IsOf(f, task) }), err
}

// logsBelow lists the log files of the tasks below a group, but for those that its failure has made.
func logsBelow(ctx context.Context, logs host.Logs, a host.Attempt, group string) ([]host.LogFile, error) {
	begin := tasklog.Within(group)
	files, err := logs.Files(ctx, a, begin)
	return slices.DeleteFunc(slices.Clone(files), func(f host.LogFile) bool {
		return !engine.WorksBelow(f.TaskName, begin)
	}), err
}
