package notice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"zerodag/engine/param"
)

// Shell runs a command with the notice as JSON on its stdin; its output is discarded. When its time is up, the command
// is killed with the processes that it has started.
type Shell struct {
	Command string
	Timeout time.Duration // 0 is 30 s; at most LongestShell
}

const (
	shellTime = 30 * time.Second
	// LongestShell is the time limit for one try to deliver a notice.
	LongestShell = tryTime
)

// Send implements Sender.
func (s Shell) Send(ctx context.Context, fields *param.Map) (string, error) {
	limit := s.Timeout
	if limit == 0 {
		limit = shellTime
	}
	limit = min(limit, LongestShell)
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	c := exec.CommandContext(ctx, "/bin/sh", "-c", s.Command)
	c.Stdin = bytes.NewReader(param.AppendJSON(nil, fields))
	withGroup(c)
	c.WaitDelay = time.Second // a process that left the group may keep the pipe
	err := c.Run()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", fmt.Errorf("run notification command: it did not finish within %v", limit)
	}
	if err != nil {
		return "", fmt.Errorf("run notification command: %w", err)
	}
	return "the command succeeded", nil
}
