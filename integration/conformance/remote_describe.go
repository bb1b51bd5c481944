package conformance

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// describe reads an attempt with its tasks and logs.
func (r *remoteCase) describe(started object) (object, error) {
	path := "/api/attempts/" + text(started["id"])
	_, answer, err := r.call(http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	a := asObject(answer)
	result := object{"start": object{"status": 200.0}, "sessionTime": a["sessionTime"], "params": r.normValue(a["params"]),
		"flags": picked(a, "status", "done", "success", "cancelRequested", "retryAttemptName", "index")}
	if p := asObject(result["params"]); fmt.Sprint(p["smtp_port"]) == strconv.Itoa(r.mail.port) {
		p["smtp_port"] = "@SMTP_PORT@"
	}
	if _, answer, err = r.call(http.MethodGet, path+"/tasks", nil); err != nil {
		return nil, err
	}
	result["tasks"] = r.rows(asList(asObject(answer)["tasks"]))
	result["logs"], err = r.taskLogs(text(started["id"]))
	return result, err
}

// rows returns tasks by name instead of by ID.
func (r *remoteCase) rows(tasks []any) []any {
	slices.SortFunc(tasks, func(x, y any) int { return number64(asObject(x)["id"]) - number64(asObject(y)["id"]) })
	names := map[string]any{}
	for _, t := range tasks {
		names[text(asObject(t)["id"])] = asObject(t)["fullName"]
	}
	var rows []any
	for i, v := range tasks {
		t := asObject(v)
		upstreams := []any{}
		for _, u := range asList(t["upstreams"]) {
			upstreams = append(upstreams, names[text(u)])
		}
		row := object{"index": float64(i), "fullName": t["fullName"], "parent": names[text(t["parentId"])], "upstreams": upstreams,
			"isGroup": t["isGroup"], "state": t["state"], "config": t["config"], "started": t["startedAt"] != nil}
		for _, key := range []string{"exportParams", "storeParams", "stateParams", "error"} {
			m := asObject(t[key])
			if key == "error" {
				delete(m, "stacktrace")
			}
			if len(m) > 0 {
				row[key] = m
			}
		}
		rows = append(rows, r.normValue(row))
	}
	return rows
}

func number64(id any) int {
	n, _ := strconv.Atoi(text(id))
	return n
}

var (
	logStamp = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d{4} \[\w+\] [(+]`)
	logLine  = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d{4} \[(\w+)\] (?:\(.*?\) ([\w.$]+)|\+.*?): (.*)$`)
)

// taskLogs reads the lines that the tasks of an attempt logged.
func (r *remoteCase) taskLogs(attempt string) (object, error) {
	path := "/api/logs/" + attempt + "/files"
	_, answer, err := r.call(http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	list := asList(asObject(answer)["files"])
	slices.SortFunc(list, func(x, y any) int {
		return strings.Compare(asObject(x)["fileName"].(string), asObject(y)["fileName"].(string))
	})
	logs := object{}
	for _, f := range list {
		file := asObject(f)
		_, content, err := r.fetch(http.MethodGet, path+"/"+url.PathEscape(file["fileName"].(string)), "", nil)
		if err != nil {
			return nil, err
		}
		name := file["taskName"].(string)
		lines, _ := logs[name].([]any)
		if lines == nil {
			lines = []any{}
		}
		logs[name] = append(lines, r.logLines(plainText(content))...)
	}
	return logs, nil
}

// plainText unpacks a log file; an uncompressed one is returned unchanged.
func plainText(content []byte) string {
	if z, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
		if plain, err := io.ReadAll(z); err == nil {
			content = plain
		}
	}
	return strings.ToValidUTF8(string(content), "\uFFFD")
}

// logLines removes the engine's timestamps. A timestamp begins a line even if echo> wrote no line break before it.
func (r *remoteCase) logLines(content string) []any {
	var split strings.Builder
	from := 0
	for _, at := range logStamp.FindAllStringIndex(content, -1) {
		split.WriteString(content[from:at[0]])
		if at[0] > 0 && content[at[0]-1] != '\n' {
			split.WriteByte('\n')
		}
		from = at[0]
	}
	split.WriteString(content[from:])
	var lines []any
	for line := range strings.SplitSeq(split.String(), "\n") {
		if m := logLine.FindStringSubmatch(line); m != nil {
			// The server started here writes Digdag's form; a stack deployed by others may use the short form.
			line = fmt.Sprintf("[%s] %s: %s", m[1], m[2][strings.LastIndex(m[2], ".")+1:], m[3])
		} else if line == "" {
			continue
		}
		lines = append(lines, r.norm(line))
	}
	return lines
}
