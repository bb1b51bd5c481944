package docs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/schedule"
	"zerodag/operators"
	"zerodag/operators/all"
)

// object is a part of a JSON Schema.
type object = map[string]any

// TestSchema proves that the schema of workflows for editors is the one generated from the tables of the checks, the
// pages of the operators and the reference of the language.
func TestSchema(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(newSchema(t).workflow()); err != nil {
		t.Fatal(err)
	}
	compareFile(t, "dig.schema.json", b.String(), "TestSchema")
}

// compareFile compares a generated file with its expected content, or rewrites it.
func compareFile(t *testing.T, name, want, test string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("docs/%s is not what it would be made (%v); write it again: go test ./docs -run %s -rewrite", name, err, test)
	}
}

// schema builds a schema of draft 7, which all editors support.
type schema struct {
	t     *testing.T
	pages map[string]string // of the language
}

func newSchema(t *testing.T) schema {
	s := schema{t, map[string]string{}}
	for _, name := range []string{"tasks", "parameters", "schedules", "retries-and-errors", "zerodag-1"} {
		s.pages[name] = pageOfLanguage(t, name)
	}
	return s
}

func (s schema) workflow() object {
	properties := object{}
	for _, key := range slices.Concat(dig.TopKeys(), keys.Added(keys.AtTop)) {
		properties[key] = s.key(key)
	}
	return object{
		"$schema": "http://json-schema.org/draft-07/schema#", "title": "a workflow of zerodag (.dig)",
		"type": "object", "properties": properties, "patternProperties": object{`^\+`: ref("task"), included: object{}}, "additionalProperties": false,
		"definitions": object{
			"task": object{"anyOf": []any{ref("body"), object{"type": "array", "items": object{"type": "object"}}}},
			"body": s.body(), "retry": s.retry(), "parallel": s.parallel(), "schedule": s.schedule(), "sla": s.sla(),
			"yes":    object{"anyOf": []any{object{"type": []any{"boolean", "null"}}, object{"type": "string", "pattern": `^(true|false|)$|\$\{`}}},
			"number": object{"anyOf": []any{object{"type": []any{"integer", "null"}}, object{"type": "string", "pattern": `^-?[0-9]+$|\$\{`}}},
		},
	}
}

// included is how editors see the key of an include, whose name is a tag of YAML.
const included = "^(!include.*)?$"

func ref(name string) object { return object{"$ref": "#/definitions/" + name} }

// key returns the schema of a key of a workflow or a task.
func (s schema) key(name string) object {
	if k, isAdded := keys.Find(name); isAdded {
		o := k.Schema(s.meaning)
		o["description"] = plainText(k.Doc)
		return o
	}
	var o object
	switch name {
	case "_export", "_secrets":
		o = object{"type": []any{"object", "null", "string"}}
	case "_do", "_else_do", "_error", "_check":
		o = object{"allOf": []any{ref("task")}}
	case "_retry", "_parallel", "schedule", "sla":
		o = object{"allOf": []any{ref(strings.TrimPrefix(name, "_"))}}
	case "_background", "_disable":
		o = object{"allOf": []any{ref("yes")}}
	case "_after":
		o = object{"type": []any{"array", "null"}, "items": object{"type": "string", "pattern": `^\+`}}
	default:
		o = object{}
	}
	o["description"] = s.meaning(name)
	return o
}

// body returns the schema of a task: a group, or an operator with its parameters.
func (s schema) body() object {
	properties, own := object{}, []any{}
	for _, key := range slices.Concat(keys.TaskKeys(), keys.GroupKeys(), keys.Added(keys.AtGroup|keys.AtTask)) {
		properties[key] = s.key(key)
	}
	var rules []any
	for _, name := range all.Registry().Names() {
		o := all.Registry()[name]
		properties[name+">"] = object{"description": o.SummaryLine()}
		parameters := object{}
		for key, text := range parametersOf(s.t, name) {
			if strings.HasPrefix(key, "_") && !slices.Contains(keys.TaskKeys(), key) {
				own = append(own, key)
			}
			if !slices.Contains(keys.TaskKeys(), key) && !strings.HasSuffix(key, ">") {
				parameters[key] = object{"description": text}
			}
		}
		if len(parameters) > 0 {
			rules = append(rules, object{"if": object{"required": []any{name + ">"}}, "then": object{"properties": parameters}})
		}
	}
	group := append(strs(append(keys.GroupKeys(), keys.Added(keys.AtGroup)...)), "_disable")
	// The type is for editors that read the key of an include as null, to which no pattern applies.
	noOperator := object{"propertyNames": object{"not": object{"type": "string", "pattern": ">$"}}, "not": object{"required": []any{"_type"}}}
	rules = append(rules,
		object{"if": noOperator, "then": object{"if": object{"not": object{"required": []any{"_disable"}}},
			"then": object{"propertyNames": object{"anyOf": []any{object{"enum": group}, object{"pattern": `^\+`}, object{"pattern": included}}}}}},
		object{"if": object{"not": object{"required": []any{"_disable"}}}, "then": object{"if": noOperator, "else": object{"propertyNames": object{"not": object{"type": "string", "pattern": `^\+`}}}}})
	slices.SortFunc(own, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	words := append(append(strs(keys.TaskKeys()), strs(append(keys.GroupKeys(), keys.Added(keys.AtGroup|keys.AtTask)...))...), own...)
	return object{"type": "object", "properties": properties, "patternProperties": object{`^\+`: ref("task")},
		"propertyNames": object{"anyOf": []any{object{"pattern": "^[^_]", "patternErrorMessage": "unknown key: keys that begin with _ belong to the language (zerodag docs tasks)"},
			object{"pattern": included}, object{"enum": unique(words)}}}, "allOf": rules}
}

func (s schema) retry() object {
	properties := object{}
	for _, key := range keys.RetryKeys() {
		properties[key] = object{"allOf": []any{ref("number")}, "description": s.meaning(key)}
	}
	for _, key := range keys.AddedRetryKeys() {
		properties[key] = object{"type": []any{"number", "string"}, "description": s.meaning(key)}
	}
	properties["exit_code"].(object)["type"] = []any{"integer", "string", "array"}
	properties["exit_code"].(object)["items"] = object{"type": []any{"integer", "string"}}
	properties["jitter"].(object)["type"] = []any{"boolean", "number", "string"}
	properties["interval_type"] = object{"type": []any{"string", "null"}, "description": s.meaning("interval_type"), "pattern": `^(?:[Cc][Oo][Nn][Ss][Tt][Aa][Nn][Tt]|[Ee][Xx][Pp][Oo][Nn][Ee][Nn][Tt][Ii][Aa][Ll])$|\$\{`}
	return object{"anyOf": []any{ref("number"), object{"type": "object", "properties": properties, "required": []any{"limit"}, "additionalProperties": false}}}
}

func (s schema) parallel() object {
	properties := object{}
	for _, key := range keys.ParallelKeys() {
		properties[key] = ref("yes")
	}
	properties["limit"] = ref("number")
	return object{"anyOf": []any{ref("yes"), object{"type": "object", "properties": properties, "required": []any{"limit"}, "additionalProperties": false}}}
}

func (s schema) schedule() object {
	properties, kinds, choice := object{"_type": object{}, "_command": object{}}, []any{}, []any{}
	for _, kind := range slices.Concat(schedule.Kinds(), schedule.AddedKinds()) {
		properties[kind] = object{"description": s.meaning(kind)}
		keys := slices.Concat(schedule.Keys(strings.TrimSuffix(kind, ">")), schedule.AddedKeys())
		for _, key := range keys {
			properties[key] = object{"description": s.meaning(key)}
		}
		kinds = append(kinds, object{"if": object{"required": []any{kind}}, "then": object{"propertyNames": object{"enum": strs(append(keys, kind))}}})
		choice = append(choice, object{"required": []any{kind}})
	}
	for _, key := range []string{"start", "end"} {
		properties[key] = object{"type": []any{"string", "null"}, "pattern": `^\d{4}-\d{2}-\d{2}$`, "description": s.meaning(key)}
	}
	properties["catch_up"] = object{"enum": []any{"all", "latest", "none"}, "description": s.meaning("catch_up")}
	days := object{"type": "array", "items": object{"type": "string", "pattern": `^\d{4}-\d{2}-\d{2}$`}}
	weekend := object{"type": "array", "items": object{"enum": []any{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}}
	properties["calendar"] = object{"description": s.meaning("calendar"), "anyOf": []any{object{"type": "string"}, object{"type": "object",
		"properties": object{"weekend": weekend, "holidays": days, "workdays": days}, "additionalProperties": false}}}
	properties["on_holiday"] = object{"enum": []any{"skip", "next", "previous"}, "description": s.meaning("on_holiday")}
	properties["skip_if_successful"] = object{"type": "boolean", "description": s.meaning("skip_if_successful")}
	return object{"type": "object", "properties": properties, "additionalProperties": false, "anyOf": append(choice, object{"required": []any{"_type"}}), "allOf": kinds}
}

func (s schema) sla() object {
	properties := object{}
	for _, key := range schedule.SLAKeys() {
		properties[key] = object{"description": s.meaning(key)}
	}
	return object{"type": "object", "properties": properties, "patternProperties": object{`^\+`: ref("task")},
		"oneOf": []any{object{"required": []any{"time"}}, object{"required": []any{"duration"}}}}
}

var (
	links  = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	spaces = regexp.MustCompile(`\s+`)
)

// meaning returns the description of a key on the pages of the language: the last cell of its row, the row of a kind of
// schedule, or the first sentence below its heading.
func (s schema) meaning(key string) string {
	for _, page := range []string{"tasks", "retries-and-errors", "schedules", "zerodag-1"} {
		for line := range strings.Lines(s.pages[page]) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			if strings.HasPrefix(line, "|") && slices.Contains(strings.Split(strings.TrimSpace(cells[0]), ", "), "`"+key+"`") {
				text := cells[len(cells)-1]
				if strings.HasSuffix(key, ">") {
					text = strings.TrimSpace(cells[1]) + ": " + text
				}
				return plainText(text)
			}
		}
	}
	for _, page := range []string{"schedules", "tasks", "parameters", "zerodag-1"} {
		for _, section := range strings.Split(s.pages[page], "\n## ") {
			title, text, _ := strings.Cut(section, "\n")
			if slices.Contains(strings.Split(title, " and "), "`"+key+"`") {
				first, _, _ := strings.Cut(strings.TrimSpace(text), ". ")
				return plainText(first)
			}
		}
	}
	if slices.Contains([]string{"at", "_type", "_command"}, key) {
		return "another way to write the value of the kind"
	}
	s.t.Errorf("the pages of the language say nothing short of %s", key)
	return ""
}

func plainText(markdown string) string {
	text := strings.ReplaceAll(links.ReplaceAllString(markdown, "$1"), "`", "")
	return strings.TrimSuffix(strings.TrimSpace(spaces.ReplaceAllString(text, " ")), ".")
}

// parametersOf reads names and meanings from the page of an operator.
func parametersOf(t *testing.T, name string) map[string]string {
	t.Helper()
	page, found := operators.Page(name)
	if !found {
		t.Fatalf("%s> has no page", name)
	}
	list := map[string]string{}
	_, text, _ := strings.Cut(page, "\n## Parameters\n")
	text, _, _ = strings.Cut(text, "\n## ")
	known := operators.ParametersOf(name)
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.ReplaceAll(strings.Trim(strings.TrimSpace(line), "|"), `\|`, "/"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
			if !slices.Contains(known, m[1]) && known != nil {
				continue
			}
			text := plainText(cells[1])
			if more := plainText(cells[3]); more != "" {
				text += ": " + more
			}
			if value := plainText(cells[2]); value != "" && value != "–" {
				text += " (" + value + ")"
			}
			list[m[1]] = text
		}
	}
	return list
}

func strs(list []string) []any {
	var out []any
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

func unique(list []any) []any {
	var out []any
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
