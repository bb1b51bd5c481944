package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Step is a step of a case; conform.py describes each.
type Step struct {
	Op string `json:"op"`
	// As is the name of the attempt that the step starts, Attempt the name of the attempt that it uses.
	As               string            `json:"as"`
	Attempt          string            `json:"attempt"`
	Workflow         string            `json:"workflow"`
	Params           json.RawMessage   `json:"params"`
	SessionTime      string            `json:"session_time"`
	RetryAttemptName *string           `json:"retry_attempt_name"`
	Resume           map[string]string `json:"resume"`
	Task             string            `json:"task"`
	State            string            `json:"state"`
	Seconds          float64           `json:"seconds"`
	File             string            `json:"file"`
	Content          string            `json:"content"`
	Dir              string            `json:"dir"`
	Revision         string            `json:"revision"`
	Query            string            `json:"query"`
	Name             string            `json:"name"`
	Action           string            `json:"action"`
	Body             json.RawMessage   `json:"body"`
	Mode             string            `json:"mode"`
	Time             string            `json:"time"`
	Path             string            `json:"path"`
	Method           string            `json:"method"`
	Keep             []string          `json:"keep"`
}

// timeout is the recorded result of a step that waited in vain.
const timeout = "TIMEOUT"

// step carries out a step; the result is nil if there is nothing to report.
func (r *remoteCase) step(s Step) (any, error) {
	switch s.Op {
	case "start":
		return r.startStep(s)
	case "wait_done":
		if r.attempts[s.Attempt] == nil {
			return nil, nil
		}
		return r.until(s.Attempt, "", func(a object) bool { return a["done"] == true })
	case "wait_task":
		return r.until(s.Attempt, "/tasks", func(answer object) bool {
			return slices.ContainsFunc(asList(answer["tasks"]), func(t any) bool {
				task := asObject(t)
				return task["fullName"] == s.Task && task["state"] == s.State
			})
		})
	case "kill":
		status, answer, err := r.call(http.MethodPost, r.attemptPath(s.Attempt)+"/kill", object{})
		if err != nil || status != http.StatusOK {
			return r.refusal(status, answer), err
		}
		return object{"status": 200.0, "flags": picked(answer, "status", "done", "success", "cancelRequested")}, nil
	case "flags":
		_, answer, err := r.call(http.MethodGet, r.attemptPath(s.Attempt), nil)
		return picked(answer, "status", "done", "success", "cancelRequested"), err
	case "sleep":
		return nil, r.pause(time.Duration(s.Seconds * float64(time.Second)))
	case "touch":
		return nil, os.WriteFile(filepath.Join(r.out, s.File), []byte(s.Content), 0o644)
	case "push":
		return r.pushed(r.name(), filepath.Join(r.Dir, s.Dir), cmp.Or(s.Revision, "r2"), s.Query)
	case "push_project":
		if err := r.deleteProject(s.Name); err != nil {
			return nil, err
		}
		return r.pushed(s.Name, filepath.Join(r.Dir, s.Dir), "r1", "")
	}
	return r.look(s)
}

// look carries out steps that read, and steps on schedules.
func (r *remoteCase) look(s Step) (any, error) {
	switch s.Op {
	case "schedules":
		return r.each("/api/projects/"+r.projectID+"/schedules", "schedules", func(row object) any {
			return object{"workflow": asObject(row["workflow"])["name"], "nextRunTime": row["nextRunTime"],
				"nextScheduleTime": row["nextScheduleTime"], "disabled": row["disabledAt"] != nil}
		})
	case "workflows":
		return r.each("/api/projects/"+r.projectID+"/workflows", "workflows", func(row object) any {
			return picked(row, "name", "timezone", "revision", "config")
		})
	case "attempts":
		return r.each("/api/sessions/"+text(r.attempts[s.Attempt]["sessionId"])+"/attempts", "attempts", func(row object) any {
			return r.normValue(picked(row, "index", "retryAttemptName", "status", "params", "sessionTime"))
		})
	case "schedule_op":
		return r.scheduleStep(s)
	case "truncate":
		return r.truncateStep(s)
	case "get", "request":
		return r.requestStep(s)
	}
	return nil, fmt.Errorf("unknown step %q", s.Op)
}

func (r *remoteCase) startStep(s Step) (any, error) {
	name := s.Workflow
	if name == "" {
		name = r.Workflow
	}
	id, err := r.workflowID(name)
	if err != nil {
		return nil, err
	}
	params := s.Params
	if params == nil {
		params = r.Params
	}
	if params == nil {
		params = json.RawMessage("{}")
	}
	session := s.SessionTime
	if session == "" {
		session = r.SessionTime
	}
	body := object{"workflowId": id, "sessionTime": session, "params": json.RawMessage(r.sub(string(params)).(string))}
	if s.RetryAttemptName != nil {
		body["retryAttemptName"] = *s.RetryAttemptName
	}
	if s.Resume != nil {
		resume := object{"attemptId": text(r.attempts[s.Resume["attempt"]]["id"])}
		for k, v := range s.Resume {
			if k != "attempt" {
				resume[k] = v
			}
		}
		body["resume"] = resume
	}
	status, answer, err := r.call(http.MethodPut, "/api/attempts", body)
	a := asObject(answer)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusOK:
		r.attempts[s.As], r.started = a, append(r.started, s.As)
		return nil, nil
	case a["sessionTime"] == nil:
		return r.refusal(status, answer), nil
	}
	same := []any{}
	for _, known := range r.started {
		if r.attempts[known]["id"] == a["id"] {
			same = append(same, known)
		}
	}
	return object{"status": float64(status), "conflicts_with": same}, nil
}

func (r *remoteCase) scheduleStep(s Step) (any, error) {
	_, found, err := r.call(http.MethodGet, "/api/projects/"+r.projectID+"/schedules", nil)
	list := asList(asObject(found)["schedules"])
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("no schedule: %w", err)
	}
	body := s.Body
	if body == nil {
		body = json.RawMessage("{}")
	}
	status, answer, err := r.send(http.MethodPost, "/api/schedules/"+text(asObject(list[0])["id"])+"/"+s.Action, "application/json", []byte(r.sub(string(body)).(string)))
	if err != nil || status != http.StatusOK {
		return r.refusal(status, answer), err
	}
	row := asObject(answer)
	if attempts, ok := row["attempts"].([]any); ok {
		shown := []any{}
		for _, a := range attempts {
			shown = append(shown, picked(a, "sessionTime", "retryAttemptName", "status", "params"))
		}
		return object{"status": 200.0, "attempts": shown}, nil
	}
	return object{"status": 200.0, "nextRunTime": row["nextRunTime"], "nextScheduleTime": row["nextScheduleTime"], "disabled": row["disabledAt"] != nil}, nil
}

func (r *remoteCase) truncateStep(s Step) (any, error) {
	name := s.Workflow
	if name == "" {
		name = "main"
	}
	id, err := r.workflowID(name)
	if err != nil {
		return nil, err
	}
	status, answer, err := r.call(http.MethodGet, "/api/workflows/"+id+"/truncated_session_time?session_time="+url.QueryEscape(s.Time)+"&mode="+s.Mode, nil)
	if err != nil || status != http.StatusOK {
		return r.refusal(status, answer), err
	}
	row, keys := asObject(answer), []any{}
	zone := row["timeZone"]
	if zone == nil {
		zone = row["timezone"]
	}
	for _, k := range sortedKeys(row) {
		keys = append(keys, k)
	}
	return object{"sessionTime": row["sessionTime"], "timeZone": zone, "keys": keys}, nil
}

func (r *remoteCase) requestStep(s Step) (any, error) {
	path, err := r.named(s.Path)
	if err != nil {
		return nil, err
	}
	var body []byte
	if s.Body != nil {
		filled, err := r.named(string(s.Body))
		if err != nil {
			return nil, err
		}
		body = []byte(filled)
	}
	method := s.Method
	if method == "" {
		method = http.MethodGet
	}
	status, answer, err := r.send(method, path, "application/json", body)
	if row, isObject := answer.(object); isObject && s.Keep != nil {
		answer = picked(row, s.Keep...)
	}
	return object{"status": float64(status), "body": r.normValue(answer)}, err
}

var mark = regexp.MustCompile(`@(PROJECT|PROJECT_NAME|WF:[\w/.-]+|ATTEMPT:\w+|SESSION:\w+)@`)

// named replaces the placeholders of a path or body with IDs.
func (r *remoteCase) named(s string) (string, error) {
	var failed error
	s = mark.ReplaceAllStringFunc(r.sub(s).(string), func(m string) string {
		kind, name, _ := strings.Cut(strings.Trim(m, "@"), ":")
		switch kind {
		case "PROJECT":
			return r.projectID
		case "PROJECT_NAME":
			return r.name()
		case "ATTEMPT":
			return text(r.attempts[name]["id"])
		case "SESSION":
			return text(r.attempts[name]["sessionId"])
		}
		id, err := r.workflowID(name)
		if err != nil {
			failed = err
		}
		return id
	})
	return s, failed
}

func (r *remoteCase) workflowID(name string) (string, error) {
	_, answer, err := r.call(http.MethodGet, "/api/projects/"+r.projectID+"/workflows?name="+url.QueryEscape(name), nil)
	if list := asList(asObject(answer)["workflows"]); len(list) > 0 {
		return text(asObject(list[0])["id"]), err
	}
	return "-1", err
}

func (r *remoteCase) attemptPath(name string) string {
	return "/api/attempts/" + text(r.attempts[name]["id"])
}

// each reads a list and returns its rows as show describes them, or the error status.
func (r *remoteCase) each(path, key string, show func(object) any) (any, error) {
	status, answer, err := r.call(http.MethodGet, path, nil)
	if err != nil || status != http.StatusOK {
		return r.refusal(status, answer), err
	}
	rows := []any{}
	for _, row := range asList(asObject(answer)[key]) {
		rows = append(rows, show(asObject(row)))
	}
	return rows, nil
}

// until waits until a response about an attempt meets a condition. It polls less often the longer it has waited, so
// that polling does not slow down the work.
func (r *remoteCase) until(attempt, part string, reached func(object) bool) (any, error) {
	for begin := time.Now(); ; {
		_, answer, err := r.call(http.MethodGet, r.attemptPath(attempt)+part, nil)
		if err != nil || reached(asObject(answer)) {
			return nil, err
		}
		if r.pause(min(max(20*time.Millisecond, time.Since(begin)/10), 500*time.Millisecond)) != nil {
			return timeout, nil
		}
	}
}

func (r *remoteCase) pause(d time.Duration) error {
	ctx, cancel := context.WithTimeout(r.ctx, d)
	defer cancel()
	<-ctx.Done()
	return r.ctx.Err()
}

func picked(v any, keys ...string) object {
	out, row := object{}, asObject(v)
	for _, k := range keys {
		out[k] = row[k]
	}
	return out
}
