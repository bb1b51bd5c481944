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

// calling translates a step that calls another workflow.
type calling struct {
	*tasks.Step
	target *references.Scope // the workflow; nil if it is in another file
}

// call returns a task that runs another workflow, once or for each of several items.
func call(s *tasks.Step) *param.Map {
	target := strings.TrimSpace(document.Text(s.Map, "call"))
	if target == "" || strings.ContainsAny(target, "$`\n") {
		s.Refuse(s.Map, "call", "name a workflow", "the called workflow is not known in advance: %s", target)
		return param.New("fail>", "no workflow")
	}
	s.None()
	for _, key := range []string{"env", "working_dir", "command", "script"} {
		if s.Has(key) {
			s.Refuse(s.Map, key, "set it in the steps of the called workflow", "%s of a step that calls a workflow is not translated", key)
		}
	}
	name := document.FileName(target)
	c := calling{Step: s, target: s.Local[name]}
	if c.target == nil {
		s.Note(s.Map, "call", "translate it also: zerodag import dagu "+name+".yaml", false,
			"the workflow %s is in another file", name)
	}
	task := param.New("call>", name+".dig")
	over, side := items(s)
	if over == nil {
		exportParams(task, c.params(nil))
		return task
	}
	if list, isList := over.([]param.Value); isList && !s.Has("params") {
		c.itemParams(task, list)
		over = list
	} else if !s.Has("params") {
		exportParams(task, c.params([]string{"${ITEM}"}))
	} else {
		exportParams(task, c.params(nil))
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

// exportParams exports parameters to a task.
func exportParams(task, params *param.Map) {
	if params.Len() > 0 {
		task.Set("_export", params)
	}
}

// itemParams exports the parts of each item for the called workflow. An item is a mapping or a line of parameters; each
// becomes a mapping.
func (c calling) itemParams(task *param.Map, items []param.Value) {
	names := param.New()
	for i, item := range items {
		m, isMap := item.(*param.Map)
		if !isMap {
			if m = line(document.Words(document.TextOf(item))); document.Reference().MatchString(document.TextOf(item)) {
				m = param.New("p1", document.TextOf(item))
			}
		}
		items[i] = m
		for name := range m.All() {
			names.Set(name, true)
		}
	}
	out := c.ownDefaults(names)
	for name := range names.All() {
		as := c.parameter(name)
		out.Set(as, "${ITEM."+document.Variable(name)+"}")
	}
	for i, item := range items {
		full := param.New()
		for name := range names.All() {
			v, there := item.(*param.Map).Get(name)
			if !there && c.target != nil {
				v, there = c.target.Params.Map(c.parameter(name)).Get("default")
			}
			if !there {
				c.Refuse(c.Map, "parallel", "give each item the same parameters", "an item has no %s", name)
				v = ""
			}
			full.Set(document.Variable(name), c.Evaluated(c.Map, "parallel", v))
		}
		items[i] = full
	}
	exportParams(task, out)
}

// line parses the parameters of a command line.
func line(list []string) *param.Map {
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

// parameter returns the translated name of a called workflow's parameter.
func (c calling) parameter(name string) string {
	if c.target != nil {
		if v := c.target.Values["params."+name]; v.Kind == references.OfParam {
			return v.As
		}
	}
	return document.Variable(name)
}

// ownDefaults returns the defaults of the called workflow's nameless parameters that the call does not pass, because
// the caller may have parameters with the same names.
func (c calling) ownDefaults(given *param.Map) *param.Map {
	out := param.New()
	if c.target == nil {
		return out
	}
	passed := map[string]bool{}
	for name := range given.All() {
		passed[c.parameter(name)] = true
	}
	for name, v := range c.target.Params.All() {
		rule, _ := v.(*param.Map)
		if !passed[name] && slices.Contains(slices.Collect(maps.Values(c.target.Positional)), name) &&
			(c.Params.Has(name) || c.Taken[name]) {
			v, _ := rule.Get("default")
			if text, isText := v.(string); isText {
				v = references.Literal(text)
			}
			out.Set(name, v)
		}
	}
	return out
}

// params returns the parameters for a called workflow. It omits parameters that keep their names, which are visible
// there anyway: exporting such a parameter under the same name would yield a string with ${...}.
func (c calling) params(list []string) *param.Map {
	given := param.New()
	v, _ := c.Get("params")
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
	for name, v := range line(list).All() {
		given.Set(name, v)
	}
	out := c.ownDefaults(given)
	for name, v := range given.All() {
		as := c.parameter(name)
		text := c.Plain(c.Map, "params", document.TextOf(v))
		if text == "${"+as+"}" {
			continue
		}
		out.Set(as, text)
	}
	return out
}
