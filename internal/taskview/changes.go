package taskview

import (
	"zerodag/engine"
	"zerodag/internal/term"
)

// Changes writes a line when a task that does work starts, waits for a retry, or ends.
type Changes struct {
	lines Lines
	seen  map[string]Row
}

// NewChanges returns a Changes that writes to lines. The progress of the tasks in the first call to Show counts as
// changed.
func NewChanges(lines Lines) *Changes {
	return &Changes{lines: lines, seen: map[string]Row{}}
}

// Show writes the changes of the attempt's tasks since they were last shown.
func (c *Changes) Show(_ any, rows []Row) {
	groups := make([]bool, len(rows)+1)
	for _, r := range rows {
		groups[r.Parent] = groups[r.Parent] || !r.isHandler() && !r.isNotice()
	}
	for i, r := range rows {
		before := c.seen[r.Name]
		c.seen[r.Name] = r
		if text := r.news(before); text != "" && !groups[i+1] && !r.isNotice() {
			c.lines.Show(r.Name, "", text) // the underlying writer keeps the error
		}
	}
}

// Close does nothing because all lines are written.
func (c *Changes) Close() {}

// news returns what has happened to a task since the earlier row, or "" if nothing has.
func (r *Row) news(before Row) string {
	switch {
	case r.State == before.State || r.State == engine.Blocked:
		return ""
	case r.waits():
		return "failed, retrying"
	case !r.State.Done() && before.active() && !before.waits():
		return "" // it is still running
	case !r.State.Done():
		return "started"
	case r.Started.IsZero():
		return r.State.String()
	}
	return r.State.String() + " after " + term.WholeDuration(max(0, r.Ended.Sub(r.Started)))
}
