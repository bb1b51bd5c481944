package rest_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// ids maps IDs of the recording to IDs of this server, by kind, because each server assigns its own numbers.
type ids map[string]map[string]string

func (m ids) learn(kind, recorded, here string) bool {
	if m[kind] == nil {
		m[kind] = map[string]string{}
	}
	if known, ok := m[kind][recorded]; ok {
		return known == here
	}
	m[kind][recorded] = here
	return true
}

func (m ids) translate(kind, recorded string) string {
	if here, ok := m[kind][recorded]; ok {
		return here
	}
	return recorded
}

var pathID = regexp.MustCompile(`^/api/(projects|workflows|sessions|attempts|logs|schedules|admin/attempts)/([0-9]+)`)

var kinds = map[string]string{"projects": "project", "workflows": "workflow", "sessions": "session", "attempts": "attempt",
	"logs": "attempt", "schedules": "schedule", "admin/attempts": "attempt"}

// path translates the ids of a recorded path, and the names of log files.
func (m ids) path(recorded string) string {
	path, query, asked := strings.Cut(recorded, "?")
	if p := pathID.FindStringSubmatch(path); p != nil {
		path = "/api/" + p[1] + "/" + m.translate(kinds[p[1]], p[2]) + path[len(p[0]):]
	}
	if at := strings.Index(path, "/files/"); at >= 0 {
		at += len("/files/")
		name, _ := url.PathUnescape(path[at:])
		path = path[:at] + url.PathEscape(m.translate("file", name))
	}
	if !asked {
		return path
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if value, ok := strings.CutPrefix(part, "last_id="); ok {
			list := path[strings.LastIndex(path, "/")+1:]
			parts[i] = "last_id=" + m.translate(kinds[list], value)
		}
	}
	return path + "?" + strings.Join(parts, "&")
}

// body translates the ids of a recorded body.
func (m ids) body(recorded json.RawMessage) []byte {
	var v map[string]any
	if json.Unmarshal(recorded, &v) != nil {
		return recorded
	}
	switch n := v["workflowId"].(type) {
	case string:
		v["workflowId"] = m.translate("workflow", n)
	case float64:
		here := m.translate("workflow", string(must(json.Marshal(n))))
		v["workflowId"] = json.Number(here)
	}
	if resume, ok := v["resume"].(map[string]any); ok {
		resume["attemptId"] = m.translate("attempt", resume["attemptId"].(string))
	}
	return must(json.Marshal(v))
}

var (
	messageID  = regexp.MustCompile(`\b(project|workflow|schedule) id=([0-9]+)`)
	revisionID = regexp.MustCompile(`revision id=[0-9]+`) // shown nowhere else
)

// message translates the ids of a recorded message.
func (m ids) message(recorded string) string {
	recorded = revisionID.ReplaceAllString(recorded, "revision id=N")
	return messageID.ReplaceAllStringFunc(recorded, func(s string) string {
		p := messageID.FindStringSubmatch(s)
		return p[1] + " id=" + m.translate(p[1], p[2])
	})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
