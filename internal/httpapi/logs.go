package httpapi

import (
	"errors"
	"slices"
	"strings"

	"zerodag/internal/host"
)

type restLogFile struct {
	FileName string  `json:"fileName"`
	FileSize int64   `json:"fileSize"`
	TaskName string  `json:"taskName"`
	FileTime moment  `json:"fileTime"`
	AgentID  string  `json:"agentId"`
	Direct   *string `json:"direct"`
}

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
func (c *call) logFiles(list []host.LogFile) []restLogFile {
	direct := c.direct()
	return each(list, func(f host.LogFile) restLogFile {
		r := restLogFile{f.Name, f.Size, f.TaskName, moment(f.Time), f.AgentID, nil}
		if direct {
			r.Direct = textOrNull(f.Direct)
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
		return download{}, invalid("Invalid log file name: %q", name)
	}
	body, size, err := c.Node.LogFile(c.ctx(), a, name)
	if errors.Is(err, host.ErrNotFound) {
		return download{}, missing("log file name=%s of session attempt id=%d", name, a.ID)
	}
	if err != nil {
		return download{}, err
	}
	return download{gzipType, body, size}, nil
}
