package attemptview

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"zerodag/internal/client"
	"zerodag/internal/tasklog"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
)

// mostHeld is the maximum number of lines that are sorted together.
const mostHeld = 50_000

// LogOptions are the settings for showing an attempt's logs.
type LogOptions struct {
	Out     io.Writer
	Verbose bool         // also debug messages
	Follow  bool         // until the attempt, or each of its tasks with the prefix, has ended
	Plain   bool         // unchanged lines, as Digdag shows them; otherwise, with task names
	Ink     term.Palette // for lines that are not plain
}

// LogReader shows one attempt's logs.
type LogReader struct {
	*client.Client
	LogOptions
	files map[string]*logRead // by name
	view  *logView            // nil for plain lines
	held  []heldLine
}

// NewLogReader returns a reader that reads logs through a client.
func NewLogReader(c *client.Client, o LogOptions) *LogReader {
	r := &LogReader{Client: c, LogOptions: o, files: map[string]*logRead{}}
	if !o.Plain {
		r.view = &logView{Lines: taskview.Lines{Out: o.Out, Ink: o.Ink}, verbose: o.Verbose, runs: map[string]int{}}
	}
	return r
}

// Empty reports whether Read has found no log.
func (c *LogReader) Empty() bool { return len(c.files) == 0 }

// heldLine is a line that a poll found. It is shown with the other lines of that poll, in order of their times.
type heldLine struct {
	at   time.Time
	file client.LogFile
	line tasklog.Text
}

// Read shows the logs of all tasks whose names begin with a prefix; "" selects every task.
func (c *LogReader) Read(ctx context.Context, id client.ID, prefix string) error {
	for pause := FollowFirst; ; pause = min(2*pause, FollowLast) {
		over := true
		if c.Follow {
			var err error // checked before reading, so that everything written until then is read
			if over, err = c.isOver(ctx, id, prefix); err != nil {
				return err
			}
		}
		news, err := c.update(ctx, id, prefix, over)
		if err != nil || over {
			return err
		}
		if news {
			pause = FollowFirst
		}
		if err := c.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// isOver reports whether no more lines can follow.
func (c *LogReader) isOver(ctx context.Context, id client.ID, prefix string) (bool, error) {
	a, err := c.Attempt(ctx, id)
	if err != nil || a.Done || prefix == "" {
		return a.Done, err
	}
	tasks, err := c.Tasks(ctx, id)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(tasks, func(t client.Task) bool {
		return strings.HasPrefix(t.FullName, prefix) &&
			slices.Contains([]string{"blocked", "ready", "retry_waiting", "group_retry_waiting", "running"}, t.State)
	}), nil
}

// update shows new lines, run by run in the order in which they began; it reports whether there were any. An unfinished
// line is shown once the rest of it arrives; the last line is also shown if nothing was added to it by the next poll.
func (c *LogReader) update(ctx context.Context, id client.ID, prefix string, last bool) (news bool, err error) {
	handles, err := c.LogFiles(ctx, id, prefix)
	if err != nil {
		return false, err
	}
	if c.view != nil {
		c.view.fit(handles)
	}
	for _, h := range inOrder(handles) {
		at := c.files[h.FileName]
		if at == nil {
			at = &logRead{size: -1}
			c.files[h.FileName] = at
		}
		settled := at.size == h.FileSize
		if settled && (!at.torn || !last && c.view == nil) {
			continue
		}
		more, err := c.showFile(ctx, id, h, last || settled)
		if err != nil {
			return false, err
		}
		at.size = h.FileSize
		news = news || more
	}
	return news, c.showHeld()
}

// showHeld shows the lines that a poll found, in order of their times.
func (c *LogReader) showHeld() error {
	slices.SortStableFunc(c.held, func(a, b heldLine) int { return a.at.Compare(b.at) })
	for _, l := range c.held {
		if err := c.view.show(l.file, c.files[l.file.FileName], l.line); err != nil {
			return err
		}
	}
	c.held = c.held[:0]
	return nil
}
