// Package conformance runs recorded workflows through the engine and the operators of this repository and compares the
// results with Digdag's.
//
// cases/NAME holds a project, case.json (how it is run) and expected.json (what was recorded). Only tests use it. It
// must not contain special code for a single case: intended differences are listed in allowed.go.
package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Levels at which a case is compared. Differences in error messages are reported but allowed.
const (
	Outcome = "outcome" // push, steps, flags, states
	Tree    = "tree"    // isGroup, parent, upstreams, config
	Data    = "data"    // params, exports, stores, files, mails
	Logs    = "logs"    // the output of commands and echo>
	Errors  = "errors"
)

type object = map[string]any

const varying = "$varies" // a value that differed between two recordings

func varies(v any) bool {
	m, isMap := v.(object)
	_, marked := m[varying]
	return v == varying || isMap && marked
}

// Differences holds lines of text by level.
type Differences map[string][]string

func (d Differences) add(level string, lines ...string) { d[level] = append(d[level], lines...) }

// Required returns the differences at the levels that must agree.
func (d Differences) Required() []string {
	var lines []string
	for _, level := range []string{Outcome, Tree, Data, Logs} {
		for _, l := range d[level] {
			lines = append(lines, level+": "+l)
		}
	}
	return lines
}

// Compare lists how got differs from the recording.
func Compare(want, got object) Differences {
	d := Differences{}
	wp, gp := asObject(want["push"]), asObject(got["push"])
	pick := func(m object) object { return object{"ok": m["ok"], "status": m["status"]} }
	d.add(Outcome, same(better(pick(wp), pick(gp)), pick(gp), "push")...)
	if wp["ok"] != true && !textsAgree(wp["message"], gp["message"]) {
		d.add(Errors, fmt.Sprintf("push: %s, want %s", short(gp["message"]), short(wp["message"])))
	}
	compareSteps(d, asList(want["steps"]), asList(got["steps"]))
	was, are := asObject(want["attempts"]), asObject(got["attempts"])
	for _, name := range sortedKeys(was, are) {
		w, g := was[name], are[name]
		if w == nil || g == nil {
			d.add(Outcome, fmt.Sprintf("attempt %s: recorded %t, here %t", name, w != nil, g != nil))
			continue
		}
		compareAttempt(d, name, asObject(w), asObject(g))
	}
	d.add(Data, same(orEmpty(want["files"], object{}), orEmpty(got["files"], object{}), "files")...)
	d.add(Data, same(orEmpty(want["mails"], []any{}), orEmpty(got["mails"], []any{}), "mails")...)
	return d
}

func compareSteps(d Differences, want, got []any) {
	status := func(steps []any) []any {
		var out []any
		for _, s := range steps {
			r := asObject(s)["result"]
			if m, ok := r.(object); ok {
				out = append(out, object{"status": m["status"]})
			} else {
				out = append(out, r)
			}
		}
		return out
	}
	w, g := status(want), status(got)
	d.add(Outcome, same(better(w, g), g, "steps")...)
	w, g = nil, nil
	for i := range min(len(want), len(got)) {
		if result := asObject(want[i])["result"]; asObject(result)["status"] != 500.0 {
			w, g = append(w, withoutTexts(result)), append(g, withoutTexts(asObject(got[i])["result"]))
		}
	}
	d.add(Data, same(w, g, "steps")...)
	for i := range min(len(want), len(got)) {
		m, n := asObject(asObject(want[i])["result"])["message"], asObject(asObject(got[i])["result"])["message"]
		if m != nil && !textsAgree(m, n) {
			d.add(Errors, fmt.Sprintf("step %v: %s, want %s", asObject(want[i])["op"], short(n), short(m)))
		}
	}
}

// withoutTexts removes error messages from the result of a step.
func withoutTexts(v any) any {
	switch x := v.(type) {
	case object:
		out := object{}
		for k, e := range x {
			if k != "message" && k != "error" {
				out[k] = withoutTexts(e)
			}
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = withoutTexts(e)
		}
		return out
	}
	return v
}

func compareAttempt(d Differences, name string, w, g object) {
	d.add(Outcome, same(w["flags"], g["flags"], name)...)
	d.add(Outcome, same(statesOf(w), statesOf(g), name+" tasks")...)
	tree := []string{"isGroup", "parent", "upstreams", "config"}
	d.add(Tree, same(tasksByName(w, tree), tasksByName(g, tree), name)...)
	data := func(a object) object {
		return object{"params": a["params"], "sessionTime": a["sessionTime"],
			"tasks": tasksByName(a, []string{"exportParams", "storeParams", "stateParams"})}
	}
	d.add(Data, same(data(w), data(g), name)...)
	d.add(Logs, same(userLines(w), userLines(g), name+" logs")...)
	we, ge := tasksByName(w, []string{"error"}), tasksByName(g, []string{"error"})
	for _, k := range sortedKeys(we) {
		rows, others := asList(we[k]), asList(ge[k])
		for i := range min(len(rows), len(others)) {
			compareError(d, name+" "+k, asObject(rows[i])["error"], asObject(others[i])["error"])
		}
	}
}

func compareError(d Differences, where string, want, got any) {
	if varies(want) {
		return
	}
	m, n := asObject(want)["message"], asObject(got)["message"]
	switch {
	case (m == nil) != (n == nil):
		d.add(Outcome, fmt.Sprintf("%s: error %s, want %s", where, short(n), short(m)))
	case m != nil && !textsAgree(m, n):
		d.add(Errors, fmt.Sprintf("%s: %s, want %s", where, short(n), short(m)))
	}
}

// same lists the differences between two JSON values, except variable ones.
func same(want, got any, path string) []string {
	if varies(want) {
		return nil
	}
	if w, ok := want.(object); ok {
		if g, ok := got.(object); ok {
			return sameObjects(w, g, path)
		}
	}
	w, wList := want.([]any)
	g, gList := got.([]any)
	switch {
	case wList && gList && len(w) != len(g):
		return []string{fmt.Sprintf("%s: %d items, want %d: %s, want %s", path, len(g), len(w), short(g), short(w))}
	case wList && gList:
		var out []string
		for i := range w {
			out = append(out, same(w[i], g[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return out
	case reflect.DeepEqual(want, got):
		return nil
	}
	return []string{fmt.Sprintf("%s: %s, want %s", path, short(got), short(want))}
}

func sameObjects(w, g object, path string) []string {
	var out []string
	for _, k := range sortedKeys(w, g) {
		wv, inWant := w[k]
		gv, inGot := g[k]
		switch {
		case !inGot && varies(wv):
		case !inGot:
			out = append(out, fmt.Sprintf("%s/%s: missing, want %s", path, k, short(wv)))
		case !inWant:
			out = append(out, fmt.Sprintf("%s/%s: unexpected %s", path, k, short(gv)))
		default:
			out = append(out, same(wv, gv, path+"/"+k)...)
		}
	}
	return out
}

// better accepts a clear 4xx as an improvement if Digdag answered 500.
func better(want, got any) any {
	if w, ok := want.([]any); ok {
		g, _ := got.([]any)
		if len(w) != len(g) {
			return want
		}
		out := make([]any, len(w))
		for i := range w {
			out[i] = better(w[i], g[i])
		}
		return out
	}
	w, isObject := want.(object)
	status, _ := asObject(got)["status"].(float64)
	if isObject && w["status"] == 500.0 && status >= 400 && status < 500 {
		out := maps.Clone(w)
		out["status"] = status
		return out
	}
	return want
}

func statesOf(a object) object {
	out := object{}
	for name, rows := range tasksByName(a, []string{"state"}) {
		var states []string
		for _, r := range asList(rows) {
			s := asObject(r)["state"]
			if varies(s) {
				s = varying
			}
			states = append(states, s.(string))
		}
		slices.Sort(states)
		list := make([]any, len(states))
		for i, s := range states {
			list[i] = s
		}
		out[name] = list
	}
	return out
}

// tasksByName groups the rows of tasks by full name; rows with the same name (retries) are in the order of their
// creation.
func tasksByName(a object, fields []string) object {
	rows := slices.Clone(asList(a["tasks"]))
	slices.SortStableFunc(rows, func(x, y any) int { return int(number(asObject(x)["index"]) - number(asObject(y)["index"])) })
	out := object{}
	for _, r := range rows {
		t, row := asObject(r), object{}
		for _, f := range fields {
			if v, ok := t[f]; ok {
				row[f] = v
			}
		}
		name := t["fullName"].(string)
		list, _ := out[name].([]any)
		out[name] = append(list, masked(row))
	}
	return out
}

func number(v any) float64 {
	n, _ := v.(float64)
	return n
}

// masked hides error messages that were passed on, sorts upstreams and removes parts of state params that do not belong
// to the operator.
func masked(row object) object {
	row = clone(row).(object)
	if up, ok := row["upstreams"].([]any); ok {
		slices.SortFunc(up, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	}
	config, _ := row["config"].(object)
	for _, place := range []any{config["_export"], row["exportParams"]} {
		if e, ok := asObject(place)["error"].(object); ok && e["message"] != nil {
			e["message"] = "$text"
		}
	}
	if state, ok := row["stateParams"].(object); ok {
		delete(row, "stateParams")
		if n, ok := state["retry_count"]; ok {
			row["stateParams"] = object{"retry_count": n}
		}
	}
	return row
}

var (
	kindSuffix = regexp.MustCompile(`(?i)\s*\([a-z0-9 ]+\)\s*$`)
	quoting    = regexp.MustCompile("[\"'`\\s]+")
)

// textsAgree compares two messages loosely: kind, quoting and case do not count.
func textsAgree(want, got any) bool {
	if varies(want) || reflect.DeepEqual(want, got) {
		return true
	}
	loose := func(v any) string {
		return strings.TrimSpace(strings.ToLower(quoting.ReplaceAllString(kindSuffix.ReplaceAllString(fmt.Sprint(v), ""), " ")))
	}
	a, b := loose(want), loose(got)
	return a == b || a != "" && b != "" && (strings.Contains(b, a) || strings.Contains(a, b))
}

func asObject(v any) object {
	m, _ := v.(object)
	return m
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

func orEmpty(v, empty any) any {
	if v == nil {
		return empty
	}
	return v
}

func sortedKeys(maps ...object) []string {
	var keys []string
	for _, m := range maps {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func short(v any) string {
	b, _ := json.Marshal(v)
	if len(b) > 200 {
		b = append(b[:197], "..."...)
	}
	return string(b)
}

func clone(v any) any {
	switch x := v.(type) {
	case object:
		out := object{}
		for k, e := range x {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = clone(e)
		}
		return out
	}
	return v
}
