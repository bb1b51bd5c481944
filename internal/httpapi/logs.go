package httpapi

import (
	"errors"
	"slices"
	"strings"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

func getLogFiles(c *call) (any, error) {
	a, err := c.attemptOf("attempt_id")
	if err != nil {
		return nil, err
	}
	list, err := c.Node.LogFiles(c.ctx(), a, c.text("task"))
	if err != nil {
		return nil, err
	}
	// The original leaves out of a list what a task with "@" in its name logged: existing
	// clients cannot take such names apart. Who asks for the task gets it, or for all.
	if c.text("task") == "" && !c.flag("every") {
		list = slices.DeleteFunc(slices.Clone(list), func(f host.LogFile) bool { return strings.Contains(f.TaskName, "@") })
	}
	if c.text("links") == "text" && c.direct() {
		list = slices.Clone(list)
		if err := c.Node.LinkAsText(c.ctx(), a, list); err != nil {
			return nil, err
		}
	}
	return map[string]any{"files": c.logFiles(list)}, nil
}

// logFiles shows log files; never null.
func (c *call) logFiles(list []host.LogFile) []wire.LogFile {
	direct := c.direct()
	return wire.Each(list, func(f host.LogFile) wire.LogFile {
		r := wire.LogFile{FileName: f.Name, FileSize: f.Size, TaskName: f.TaskName, FileTime: wire.Moment(f.Time), AgentID: f.AgentID, Direct: nil}
		if direct {
			r.Direct = wire.TextOrNull(f.Direct)
		}
		return r
	})
}

func getLogFile(c *call) (any, error) {
	a, err := c.attemptOf("attempt_id")
	if err != nil {
		return nil, err
	}
	return c.openLog(a)
}

// openLog opens the log file that the path names.
func (c *call) openLog(a host.Attempt) (download, error) {
	name := c.vars["file_name"]
	if strings.ContainsAny(name, "/\\\x00") || name == "." || name == ".." || name == "" {
		return download{}, wire.Invalid("Invalid log file name: %q", name)
	}
	body, size, err := c.Node.LogFile(c.ctx(), a, name)
	if errors.Is(err, host.ErrNotFound) {
		return download{}, wire.Missing("log file name=%s of session attempt id=%d", name, a.ID)
	}
	if err != nil {
		return download{}, err
	}
	return download{gzipType, body, size}, nil
}
