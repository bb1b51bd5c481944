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

// Limits on a notice about a failed task: the number of lines, and of bytes per line. A log file larger than
// longestRead is not read for it.
const (
	mostLines   = 10
	longestLine = 500
	longestRead = 1 << 20
	mostRead    = 4 // files of the task, newest first
)

// lastLines reads the last lines that a task printed. A group prints nothing, so lastLines reads the lines of the last
// task below it. It returns none if they cannot be read quickly, because users are notified of the failure anyway.
func lastLines(ctx context.Context, logs host.Logs, a host.Attempt, task string) []string {
	files, err := taskLogs(ctx, logs, a, task)
	if err == nil && len(files) == 0 {
		files, err = logsBelow(ctx, logs, a, task)
	}
	if err != nil || len(files) == 0 {
		return nil
	}
	slices.SortFunc(files, func(a, b host.LogFile) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Name, a.Name)) })
	// The output of a remote command is in the file of the run that started it; the run that found its end has another
	// file, with only the server's messages.
	for _, file := range files[:min(len(files), mostRead)] {
		if lines := linesOf(ctx, logs, a, file); len(lines) > 0 {
			return lines
		}
	}
	return nil
}

// linesOf returns the last lines of one log file of a task.
func linesOf(ctx context.Context, logs host.Logs, a host.Attempt, f host.LogFile) []string {
	if f.Size > longestRead {
		return nil
	}
	file, _, err := logs.File(ctx, a, f.Name)
	if err != nil {
		return nil
	}
	defer file.Close()
	lines, _ := tasklog.Last(file, mostLines) // a file that is not a log has no lines
	for i, l := range lines {
		lines[i] = strings.ToValidUTF8(l[:min(len(l), longestLine)], "")
	}
	return lines
}

// LastLines returns the last lines that a task printed, as notices show them, or none if the log is large or missing.
func (n *Node) LastLines(ctx context.Context, a host.Attempt, task string) []string {
	return lastLines(ctx, n.logs, a, task)
}

// TaskLogs lists a task's log files, by name, which is the order in which they were begun.
func (n *Node) TaskLogs(ctx context.Context, a host.Attempt, task string) ([]host.LogFile, error) {
	return taskLogs(ctx, n.logs, a, task)
}

func taskLogs(ctx context.Context, logs host.Logs, a host.Attempt, task string) ([]host.LogFile, error) {
	files, err := logs.Files(ctx, a, tasklog.Prefix(task))
	return slices.DeleteFunc(slices.Clone(files), func(f host.LogFile) bool { return !tasklog.IsOf(f, task) }), err
}

// logsBelow lists the log files of the tasks below a group, except tasks that its failure has generated.
func logsBelow(ctx context.Context, logs host.Logs, a host.Attempt, group string) ([]host.LogFile, error) {
	begin := tasklog.Within(group)
	files, err := logs.Files(ctx, a, begin)
	return slices.DeleteFunc(slices.Clone(files), func(f host.LogFile) bool {
		return !engine.WorksBelow(f.TaskName, begin)
	}), err
}
