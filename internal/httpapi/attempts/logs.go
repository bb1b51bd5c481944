package attempts

import (
	"errors"
	"slices"
	"strings"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func getLogFiles(c *endpoint.Call) (any, error) {
	links, given := c.Arg("links")
	if given && links != "text" {
		return nil, wire.Invalid("links= must be text, not %q", wire.Beginning(links))
	}
	a, err := c.AttemptOf("attempt_id")
	if err != nil {
		return nil, err
	}
	list, err := c.Node.LogFiles(c.Ctx(), a, c.Text("task"))
	if err != nil {
		return nil, err
	}
	// Digdag omits logs of tasks with "@" in their names from a list: existing clients cannot parse such names. A
	// client that requests that task or all logs gets them.
	if c.Text("task") == "" && !c.Flag("every") {
		list = slices.DeleteFunc(slices.Clone(list), func(f host.LogFile) bool { return strings.Contains(f.TaskName, "@") })
	}
	if given && c.Links() {
		list = slices.Clone(list)
		if err := c.Node.LinkAsText(c.Ctx(), a, list); err != nil {
			return nil, err
		}
	}
	return map[string]any{"files": logFiles(c, list)}, nil
}

// logFiles shows log files; never null.
func logFiles(c *endpoint.Call, list []host.LogFile) []wire.LogFile {
	direct := c.Links()
	return wire.Each(list, func(f host.LogFile) wire.LogFile {
		r := wire.LogFile{FileName: f.Name, FileSize: f.Size, TaskName: f.TaskName, FileTime: wire.Moment(f.Time), AgentID: f.AgentID, Direct: nil}
		if direct {
			r.Direct = wire.TextOrNull(f.Direct)
		}
		return r
	})
}

func getLogFile(c *endpoint.Call) (any, error) {
	a, err := c.AttemptOf("attempt_id")
	if err != nil {
		return nil, err
	}
	return openLog(c, a)
}

// openLog opens the log file that the path names.
func openLog(c *endpoint.Call, a host.Attempt) (endpoint.Download, error) {
	name := c.Vars["file_name"]
	if strings.ContainsAny(name, "/\\\x00") || name == "." || name == ".." || name == "" {
		return endpoint.Download{}, wire.Invalid("Invalid log file name: %q", name)
	}
	body, size, err := c.Node.LogFile(c.Ctx(), a, name)
	if errors.Is(err, host.ErrNotFound) {
		return endpoint.Download{}, wire.Missing("log file name=%s of session attempt id=%d", name, a.ID)
	}
	if err != nil {
		return endpoint.Download{}, err
	}
	return endpoint.Download{Type: wire.GzipType, ReadCloser: body, Size: size}, nil
}
