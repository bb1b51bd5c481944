package kinds

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/tasks"
)

// call returns a task that runs another workflow, once or for each of several items.
func call(s *tasks.Step) *param.Map {
	target := strings.TrimSpace(document.Text(s.Map, "call"))
	if target == "" || strings.ContainsAny(target, "$`\n") {
		s.Refuse(s.Map, "call", "name a workflow", "the workflow that is called is not known before it runs: %s", target)
		return param.New("fail>", "no workflow")
	}
	s.None()
	for _, key := range []string{"env", "working_dir", "command", "script"} {
		if s.Has(key) {
			s.Refuse(s.Map, key, "give it to the steps of the workflow", "%s beside a called workflow is not taken over", key)
		}
	}
	name := document.FileName(target)
	called := s.Local[name]
	if called == nil {
		s.Note(s.Map, "call", "translate it, too: zerodag import dagu "+name+".yaml", false,
			"the workflow %s is in another file", name)
	}
	task := param.New("call>", name+".dig")
	over, side := items(s)
	if over == nil {
		exportParams(task, callParams(s, called, nil))
		return task
	}
	if list, isList := over.([]param.Value); isList && !s.Has("params") {
		itemParams(s, task, list, called)
		over = list
	} else if !s.Has("params") {
		exportParams(task, callParams(s, called, []string{"${ITEM}"}))
	} else {
		exportParams(task, callParams(s, called, nil))
	}
	loop := param.New("for_each>", param.New("ITEM", over))
	loop.Set("_parallel", side)
	loop.Set("_do", task)
	list, isList := over.([]param.Value)
	if isList && len(list) > 0 {
		return loop
	}
	none := "true"
	if x, isText := over.(string); isText {
		none = "JSON.parse(" + strings.TrimSuffix(strings.TrimPrefix(x, "${"), "}") + ").length == 0"
	}
	return param.New("+items", param.New("_if", "${"+none+"}", "fail>", "parallel has no items"), "+each", loop)
}

func exportParams(task, params *param.Map) {
	if params.Len() > 0 {
		task.Set("_export", params)
	}
}

// itemParams exports the parts of each item for the called workflow. An item is a mapping or a line of parameters; each
// becomes a mapping.
func itemParams(s *tasks.Step, task *param.Map, items []param.Value, called *references.Scope) {
	names := param.New()
	for i, item := range items {
		m, isMap := item.(*param.Map)
		if !isMap {
			if m = line(s, document.Words(document.TextOf(item))); document.Reference().MatchString(document.TextOf(item)) {
				m = param.New("p1", document.TextOf(item))
			}
		}
		items[i] = m
		for name := range m.All() {
			names.Set(name, true)
		}
	}
	out := ownDefaults(s, called, names)
	for name := range names.All() {
		as := parameterOf(s, called, name)
		out.Set(as, "${ITEM."+document.Variable(name)+"}")
	}
	for i, item := range items {
		full := param.New()
		for name := range names.All() {
			v, there := item.(*param.Map).Get(name)
			if !there && called != nil {
				v, there = called.Params.Map(parameterOf(s, called, name)).Get("default")
			}
			if !there {
				s.Refuse(s.Map, "parallel", "give each item the same parameters", "an item has no %s", name)
				v = ""
			}
			full.Set(document.Variable(name), s.Evaluated(s.Map, "parallel", v))
		}
		items[i] = full
	}
	exportParams(task, out)
}

// line parses the parameters of a command line.
func line(s *tasks.Step, list []string) *param.Map {
	out := param.New()
	for i, word := range list {
		name, text, isPair := strings.Cut(word, "=")
		if n := i + 1; !isPair || !document.Identifier().MatchString(name) {
			name, text = "p"+strconv.Itoa(n), word
		}
		out.Set(name, text)
	}
	return out
}

// parameterOf returns the translated name of a parameter of a called workflow.
func parameterOf(s *tasks.Step, called *references.Scope, name string) string {
	if called != nil {
		if v := called.Values["params."+name]; v.Kind == references.OfParam {
			return v.As
		}
	}
	return document.Variable(name)
}

// ownDefaults returns the defaults of the called workflow's nameless parameters that the call does not give. The caller
// may have parameters with the same names.
func ownDefaults(s *tasks.Step, called *references.Scope, given *param.Map) *param.Map {
	out := param.New()
	if called == nil {
		return out
	}
	passed := map[string]bool{}
	for name := range given.All() {
		passed[parameterOf(s, called, name)] = true
	}
	for name, v := range called.Params.All() {
		rule, _ := v.(*param.Map)
		if !passed[name] && slices.Contains(slices.Collect(maps.Values(called.Positional)), name) &&
			(s.Params.Has(name) || s.Taken[name]) {
			v, _ := rule.Get("default")
			if text, isText := v.(string); isText {
				v = references.Literal(text)
			}
			out.Set(name, v)
		}
	}
	return out
}

// callParams returns the parameters for a called workflow. A parameter that keeps its name is visible there anyway:
// exporting it under its own name would yield a text with ${...}.
func callParams(s *tasks.Step, called *references.Scope, list []string) *param.Map {
	given := param.New()
	v, _ := s.Get("params")
	for _, e := range keys.ListOf(v) {
		switch x := e.(type) {
		case *param.Map:
			for name, v := range x.All() {
				text := document.TextOf(v)
				if text == "" && v != "" {
					text = param.Text(v)
				}
				given.Set(name, text)
			}
		default:
			list = append(list, document.Words(document.TextOf(x))...)
		}
	}
	for name, v := range line(s, list).All() {
		given.Set(name, v)
	}
	out := ownDefaults(s, called, given)
	for name, v := range given.All() {
		as := parameterOf(s, called, name)
		text := s.Plain(s.Map, "params", document.TextOf(v))
		if text == "${"+as+"}" {
			continue
		}
		out.Set(as, text)
	}
	return out
}
