package rest_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

type object = map[string]any

// comparison compares responses with recorded ones: every key and type, and every value that does not depend on the
// time and place of the recording.
type comparison struct {
	ids   ids
	loose bool // values that change over time do not count
	task  string
	diffs []string
}

// recordedToday is the day of the recording, with which all of its times begin.
const recordedToday = "2026-11-21"

var (
	uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	// foreign matches text that names Digdag's classes and files.
	foreign = regexp.MustCompile(`RESTEASY|io\.digdag|io\.undertow|java\.|@PUSHDIR@|Optional\.of|\{\}|Bad zip entry|Invalid prefix|not in the \.gz format|already deleted at`)
	// passing lists fields that change while an attempt runs.
	passing = []string{"status", "done", "success", "cancelRequested", "finishedAt", "params", "state", "retryAt"}
)

func (c *comparison) differ(path, format string, args ...any) {
	c.diffs = append(c.diffs, path+": "+fmt.Sprintf(format, args...))
}

// key returns the last part of a path.
func key(path string) string { return path[strings.LastIndex(path, ".")+1:] }

func (c *comparison) same(want, got any, path, kind string) {
	key := key(path)
	switch w := want.(type) {
	case object:
		g, ok := got.(object)
		if !ok {
			c.differ(path, "%v, want an object", got)
			return
		}
		c.objects(w, g, path, kind)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			c.differ(path, "%v, want %d items", got, len(w))
			return
		}
		byName(w)
		byName(g)
		for i := range w {
			c.same(w[i], g[i], fmt.Sprintf("%s.%d", path, i), kind)
		}
	case string:
		c.texts(w, got, path, key, kind)
	default:
		if c.loose && slices.Contains(passing, key) || key == "fileSize" {
			return
		}
		if !reflect.DeepEqual(want, got) {
			c.differ(path, "%v, want %v", got, want)
		}
	}
}

// kindOf returns the kind of an object's ids below key.
func kindOf(key, above string) string {
	switch key = strings.TrimSuffix(key, "s"); key {
	case "project", "workflow", "session", "attempt", "schedule", "task", "file":
		return key
	case "lastAttempt":
		return "attempt"
	}
	return above
}

func (c *comparison) objects(w, g object, path, kind string) {
	if a, b := slices.Sorted(maps.Keys(w)), slices.Sorted(maps.Keys(g)); !slices.Equal(a, b) && !strings.HasSuffix(path, ".params") {
		if !c.loose || key(path) != "stateParams" {
			c.differ(path, "keys %v, want %v", b, a)
		}
		return
	}
	for _, k := range slices.Sorted(maps.Keys(w)) {
		if c.loose && slices.Contains(passing, k) {
			continue
		}
		c.same(w[k], g[k], path+"."+k, kindOf(k, kind))
	}
}

func (c *comparison) texts(want string, got any, path, key, kind string) {
	text, ok := got.(string)
	if !ok {
		c.differ(path, "%v, want a string like %q", got, want)
		return
	}
	if k := idKind(path, key, kind); k != "" {
		if k == "task" {
			k += c.task
		}
		if want == "0" || text == "0" {
			if want != text {
				c.differ(path, "id %s, want %s", text, want)
			}
		} else if !c.ids.learn(k, want, text) {
			c.differ(path, "%s %s, want %s", k, text, c.ids[k][want])
		}
		return
	}
	switch {
	case strings.HasPrefix(want, recordedToday):
		if shape(want) != shape(text) {
			c.differ(path, "%q, want the form of %q", text, want)
		}
	case uuid.MatchString(want):
		if !uuid.MatchString(text) {
			c.differ(path, "%q is no uuid", text)
		}
	case key == "message" && !foreign.MatchString(want):
		// Our message may contain more: file, line and what to do.
		if w := c.ids.message(want); !strings.Contains(revisionID.ReplaceAllString(text, "revision id=N"), w) {
			c.differ(path, "%q, want %q", text, w)
		}
	case key == "archiveMd5", key == "agentId", key == "fileName", key == "message":
		if text == "" {
			c.differ(path, "empty, want a text like %q", want)
		}
	case want != text:
		c.differ(path, "%q, want %q", text, want)
	}
}

// idKind returns the kind of ID at a path, or "" for none.
func idKind(path, key, kind string) string {
	switch {
	case key == "id", strings.Contains(path, ".upstreams.") || key == "parentId":
		return kind
	case key == "sessionId":
		return "session"
	case key == "fileName":
		return "file"
	}
	return ""
}

// shape replaces digits, so that only the form of a time remains.
func shape(time string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, time)
}

// byName sorts definitions and schedules, because the server determines their IDs and therefore their order.
func byName(list []any) {
	name := func(v any) string {
		o, _ := v.(object)
		if o["nextScheduleTime"] != nil {
			return fmt.Sprint(o["project"].(object)["name"])
		}
		if o["config"] == nil || o["timezone"] == nil {
			return ""
		}
		return fmt.Sprint(o["project"].(object)["name"], "/", o["revision"], "/", o["name"])
	}
	slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(name(a), name(b)) })
}
