package conformance

import (
	"encoding/json"
	"strconv"
	"strings"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/local"
	"zerodag/operators"
)

// describe returns an attempt in the form in which conform.py collects it over REST.
func (w *world) describe(a *local.Attempt) object {
	root := a.State.Task(engine.Root)
	status := "error"
	if root.State == engine.Success {
		status = "success"
	}
	result := object{
		"flags": object{"status": status, "done": true, "success": status == "success", "cancelRequested": a.State.Canceled(),
			"retryAttemptName": nil, "index": 1.0},
		"params":      w.normValue(plain(a.State.Params())),
		"sessionTime": operators.FormatTime(a.SessionTime()),
		"start":       object{"status": 200.0},
	}
	if p := asObject(result["params"]); p["smtp_port"] == strconv.Itoa(w.mail.port) {
		p["smtp_port"] = "@SMTP_PORT@"
	}
	var tasks []any
	for i, task := range a.State.Tasks() {
		tasks = append(tasks, w.normValue(row(a.State, i, task)))
	}
	result["tasks"] = tasks
	result["logs"] = w.describeLogs()
	return result
}

func row(s *engine.State, i int, t *engine.Task) object {
	config := t.Config
	if t.Export.Len() > 0 {
		config = config.Clone()
		config.Set("_export", t.Export)
	}
	r := object{"index": float64(i), "fullName": t.Name, "isGroup": t.Group, "state": t.State.String(),
		"config": plain(config), "started": !t.StartedAt.IsZero(), "parent": nil}
	if t.Parent != 0 {
		r["parent"] = s.Task(t.Parent).Name
	}
	upstreams := []any{}
	for _, u := range t.Upstreams {
		upstreams = append(upstreams, s.Task(u).Name)
	}
	r["upstreams"] = upstreams
	put := func(key string, m *param.Map) {
		if m.Len() > 0 {
			r[key] = plain(m)
		}
	}
	exports := t.Export
	if t.Outcome != nil {
		exports = param.Merge(t.Export, t.Exports)
		put("storeParams", t.Stores)
		put("error", t.Error.Without("stacktrace"))
	}
	put("exportParams", exports)
	put("stateParams", t.Progress.Params)
	return r
}

func plain(m *param.Map) any {
	if m == nil {
		return object{}
	}
	var v any
	if err := json.Unmarshal([]byte(param.Text(m)), &v); err != nil {
		panic(err)
	}
	return v
}

func (w *world) describeLogs() object {
	w.logs.mu.Lock()
	defer w.logs.mu.Unlock()
	out := object{}
	for task, texts := range w.logs.lines {
		if strings.Contains(task, "@") {
			continue // Digdag's list of log files cuts names at the first "@"
		}
		all := strings.ToValidUTF8(strings.Join(texts, ""), "\uFFFD")
		all = strings.ReplaceAll(all, engineMark, "\n")
		lines := []any{}
		for line := range strings.SplitSeq(all, "\n") {
			if line != "" {
				lines = append(lines, w.norm(line))
			}
		}
		out[task] = lines
	}
	return out
}
