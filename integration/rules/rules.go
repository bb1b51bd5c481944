// Package rules runs small workflows, each of which shows one rule of the language, the engine or an operator.
//
// A file TOPIC/NAME.txt is a txtar archive named after what it shows. Its comment gives the rule and where the rule is
// written (docs/reference) or what Digdag answered. It is followed by the files of the project, an optional case.json
// (params, secrets ... as in the recorded cases) and finally "want", the outcome as describe prints it. After `go
// test ./integration/rules -rewrite`, which writes the current outcome, check the differences.
//
// The topics are those of the reference: names, keys and tasks (1.1 to 1.3), yaml and include (1.2), timezone, disable,
// params and stored (1.5), expressions (1.7), parallel (1.8), retry, error and check (1.9), schedule (1.10), sla
// (1.12), control and operators (3).
//
// Only its tests use it. It must not contain special code for a single case.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"zerodag/integration/conformance"
)

const (
	settings = "case.json"
	outcome  = "want"
)

// unpack writes the files of an archive into a folder and returns the case.
func unpack(a *txtar.Archive, dir string) (conformance.Case, error) {
	c := conformance.NewCase(dir)
	for _, f := range a.Files {
		switch f.Name {
		case outcome:
			continue
		case settings:
			if err := json.Unmarshal(f.Data, &c); err != nil {
				return c, fmt.Errorf("%s: %w", settings, err)
			}
			continue
		}
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return c, err
		}
		if err := os.WriteFile(name, f.Data, 0o755); err != nil {
			return c, err
		}
	}
	return c, nil
}

// wanted returns the text of the outcome and its position in the archive.
func wanted(a *txtar.Archive) (string, int, error) {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == outcome })
	if i < 0 {
		return "", 0, errors.New("no file named " + outcome)
	}
	return string(a.Files[i].Data), i, nil
}

type object = map[string]any

// describe returns what happened, one line per fact.
func describe(result object) string {
	var b strings.Builder
	if push := asObject(result["push"]); push["ok"] != true {
		fmt.Fprintf(&b, "push refused: %v\n", push["message"])
	}
	for _, s := range asList(result["steps"]) {
		fmt.Fprintf(&b, "start: %s\n", compact(asObject(s)["result"]))
	}
	for _, name := range slices.Sorted(maps.Keys(asObject(result["attempts"]))) {
		describeAttempt(&b, asObject(asObject(result["attempts"])[name]))
	}
	files := asObject(result["files"])
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "file %s: %s\n", name, compact(files[name]))
	}
	var mails []string // in any order
	for _, m := range asList(result["mails"]) {
		mails = append(mails, fmt.Sprintf("mail %s\n", compact(m)))
	}
	slices.Sort(mails)
	b.WriteString(strings.Join(mails, ""))
	return b.String()
}

func describeAttempt(b *strings.Builder, a object) {
	fmt.Fprintf(b, "%v\n", asObject(a["flags"])["status"])
	logs := withComplaints(conformance.UserLines(a), asObject(a["logs"]))
	tasks := slices.Clone(asList(a["tasks"])) // by name, because parallel tasks may be in any order
	slices.SortStableFunc(tasks, func(x, y any) int {
		return strings.Compare(fmt.Sprint(asObject(x)["fullName"]), fmt.Sprint(asObject(y)["fullName"]))
	})
	for _, t := range tasks {
		task := asObject(t)
		name, _ := task["fullName"].(string)
		describeTask(b, name, task)
		for _, line := range asList(logs[name]) {
			fmt.Fprintf(b, "  | %v\n", line)
		}
		delete(logs, name) // rows of retries share the log
	}
}

func describeTask(b *strings.Builder, name string, t object) {
	fmt.Fprintf(b, "%s %v", name, t["state"])
	if t["isGroup"] == true {
		b.WriteString(" group")
	}
	if up := asList(t["upstreams"]); len(up) > 0 {
		fmt.Fprintf(b, " after %s", strings.ReplaceAll(strings.Trim(fmt.Sprint(up), "[]"), " ", ","))
	}
	b.WriteString("\n")
	if config := asObject(t["config"]); len(config) > 0 {
		fmt.Fprintf(b, "  %s\n", compact(config))
	}
	for _, key := range []string{"exportParams", "storeParams", "error"} {
		if v := asObject(t[key]); len(v) > 0 && (key != "exportParams" || compact(v) != compact(asObject(t["config"])["_export"])) {
			fmt.Fprintf(b, "  %s %s\n", strings.TrimSuffix(key, "Params"), compact(v))
		}
	}
	if n := asObject(t["stateParams"])["retry_count"]; n != nil {
		fmt.Fprintf(b, "  retries %v\n", n)
	}
}

// withComplaints adds to the output of the user's commands the engine's lines about unused keys.
func withComplaints(user, all object) object {
	out := maps.Clone(user)
	for name, lines := range all {
		for _, line := range asList(lines) {
			text, _ := line.(string)
			if strings.HasPrefix(text, "[ERROR] OperatorManager: Parameter ") || strings.HasPrefix(text, "[ERROR] OperatorManager:   > Did") {
				out[name] = append(slices.Clone(asList(out[name])), line)
			}
		}
	}
	return out
}

func compact(v any) string {
	if m, ok := v.(object); ok {
		m = maps.Clone(m)
		delete(m, "stacktrace")
		v = m
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

func asObject(v any) object {
	m, _ := v.(object)
	return m
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}
