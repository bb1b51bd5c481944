package dagu

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// call returns a task that runs another workflow, once or for each of several items.
func (s *step) call() *param.Map {
	target := strings.TrimSpace(text1(s.Map, "call"))
	if target == "" || strings.ContainsAny(target, "$`\n") {
		s.refuse(s.Map, "call", "name a workflow", "the workflow that is called is not known before it runs: %s", target)
		return param.New("fail>", "no workflow")
	}
	s.none()
	for _, key := range []string{"env", "working_dir", "command", "script"} {
		if s.Has(key) {
			s.refuse(s.Map, key, "give it to the steps of the workflow", "%s beside a called workflow is not taken over", key)
		}
	}
	name := fileName(target)
	called := s.local[name]
	if called == nil {
		s.note(s.Map, "call", "translate it, too: zerodag import dagu "+name+".yaml", false, "the workflow %s is in another file", name)
	}
	task := param.New("call>", name+".dig")
	over, side := s.items()
	if over == nil {
		exportParams(task, s.callParams(called, nil))
		return task
	}
	if list, isList := over.([]param.Value); isList && !s.Has("params") {
		s.itemParams(task, list, called)
		over = list
	} else if !s.Has("params") {
		exportParams(task, s.callParams(called, []string{"${ITEM}"}))
	} else {
		exportParams(task, s.callParams(called, nil))
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

// passed counts the nameless parameters that steps give to workflows of the same file.
func (w *workflow) passed() {
	var look func(v param.Value)
	look = func(v param.Value) {
		switch x := v.(type) {
		case []param.Value:
			for _, e := range x {
				look(e)
			}
		case *param.Map:
			target := textOf(first(x, "call"))
			params, _ := x.Get("params")
			switch with := x.Map("with"); {
			case text1(x, "action") == "dag.run":
				target = text1(with, "dag")
				params, _ = with.Get("params")
			case target == "" && w.runCalls(x):
				target = text1(x, "run")
			case target == "":
				target = text1(x, "command") // of a step of type dag
			}
			if called := w.local[fileName(target)]; called != nil {
				called.handed = max(called.handed, nameless(params), namelessItems(x))
			}
			for _, e := range x.All() {
				look(e)
			}
		}
	}
	v, _ := w.Get("steps")
	look(v)
	look(w.Map.Map("handler_on"))
}

// nameless returns the place of the last parameter without a name in a line or a list of parameters.
func nameless(params param.Value) (last int) {
	var list []string
	for _, e := range keys.ListOf(params) {
		list = append(list, words(textOf(e))...)
	}
	for i, word := range list {
		if name, _, isPair := strings.Cut(word, "="); !isPair || !identifier().MatchString(name) {
			last = i + 1
		}
	}
	return last
}

// namelessItems does so for the items of `parallel`, each of which is a line of parameters unless the step has parameters.
func namelessItems(m *param.Map) (last int) {
	items, there := m.Get("parallel")
	if !there || m.Has("params") {
		return 0
	}
	if of, isMap := items.(*param.Map); isMap {
		items, _ = of.Get("items")
	}
	for _, e := range keys.ListOf(items) {
		last = max(last, nameless(e))
	}
	return last
}

func exportParams(task, params *param.Map) {
	if params.Len() > 0 {
		task.Set("_export", params)
	}
}

// itemParams exports the parts of each item for the called workflow. An item is a mapping or a line of parameters; each becomes a mapping.
func (s *step) itemParams(task *param.Map, items []param.Value, called *workflow) {
	names := param.New()
	for i, item := range items {
		m, isMap := item.(*param.Map)
		if !isMap {
			if m = s.line(words(textOf(item))); reference().MatchString(textOf(item)) {
				m = param.New("p1", textOf(item))
			}
		}
		items[i] = m
		for name := range m.All() {
			names.Set(name, true)
		}
	}
	out := s.ownDefaults(called, names)
	for name := range names.All() {
		as := s.parameterOf(called, name)
		out.Set(as, "${ITEM."+variable(name)+"}")
	}
	for i, item := range items {
		full := param.New()
		for name := range names.All() {
			v, there := item.(*param.Map).Get(name)
			if !there && called != nil {
				v, there = called.params.Map(s.parameterOf(called, name)).Get("default")
			}
			if !there {
				s.refuse(s.Map, "parallel", "give each item the same parameters", "an item has no %s", name)
				v = ""
			}
			full.Set(variable(name), s.evaluated(v))
		}
		items[i] = full
	}
	exportParams(task, out)
}

// line parses the parameters of a command line.
func (s *step) line(list []string) *param.Map {
	out := param.New()
	for i, word := range list {
		name, text, isPair := strings.Cut(word, "=")
		if n := i + 1; !isPair || !identifier().MatchString(name) {
			name, text = "p"+strconv.Itoa(n), word
		}
		out.Set(name, text)
	}
	return out
}

// parameterOf returns the translated name of a parameter of a called workflow.
func (s *step) parameterOf(called *workflow, name string) string {
	if called != nil {
		if v := called.values["params."+name]; v.kind == ofParam {
			return v.as
		}
	}
	return variable(name)
}

// ownDefaults returns the defaults of the called workflow's nameless parameters that the call does not give. The caller may have
// parameters with the same names.
func (s *step) ownDefaults(called *workflow, given *param.Map) *param.Map {
	out := param.New()
	if called == nil {
		return out
	}
	passed := map[string]bool{}
	for name := range given.All() {
		passed[s.parameterOf(called, name)] = true
	}
	for name, v := range called.params.All() {
		rule, _ := v.(*param.Map)
		if !passed[name] && slices.Contains(slices.Collect(maps.Values(called.positional)), name) && (s.workflow.params.Has(name) || s.taken[name]) {
			v, _ := rule.Get("default")
			if text, isText := v.(string); isText {
				v = literal(text)
			}
			out.Set(name, v)
		}
	}
	return out
}

// callParams returns the parameters for a called workflow. A parameter that keeps its name is visible there anyway: exporting it
// under its own name would yield a text with ${...}.
func (s *step) callParams(called *workflow, list []string) *param.Map {
	given := param.New()
	v, _ := s.Get("params")
	for _, e := range keys.ListOf(v) {
		switch x := e.(type) {
		case *param.Map:
			for name, v := range x.All() {
				text := textOf(v)
				if text == "" && v != "" {
					text = param.Text(v)
				}
				given.Set(name, text)
			}
		default:
			list = append(list, words(textOf(x))...)
		}
	}
	for name, v := range s.line(list).All() {
		given.Set(name, v)
	}
	out := s.ownDefaults(called, given)
	for name, v := range given.All() {
		as := s.parameterOf(called, name)
		text := s.plain(s.Map, "params", textOf(v))
		if text == "${"+as+"}" {
			continue
		}
		out.Set(as, text)
	}
	return out
}

// items returns the values that a step runs for, and how many of them run at once.
func (s *step) items() (over, side param.Value) {
	v, there := s.Get("parallel")
	if !there {
		return nil, nil
	}
	s.values["ITEM"] = value{kind: ofItem, as: "ITEM"}
	side = true
	if m, isMap := v.(*param.Map); isMap {
		s.only(m, "items", "max_concurrent")
		if n := s.whole(m, "max_concurrent"); n > 0 {
			side = param.New("limit", n, "sliding", true)
		}
		v, _ = m.Get("items")
	}
	switch x := v.(type) {
	case string:
		return s.listed("parallel", x), side
	case []param.Value:
		if !s.Has("params") {
			return append([]param.Value{}, x...), side
		}
		return s.evaluated(x), side
	}
	s.refuse(s.Map, "parallel", "write a list", "parallel has no items")
	return []param.Value{}, side
}

// listed parses a text as a list: JSON, or words. If the text has references, an expression does so at run time.
func (s *step) listed(key, text string) param.Value {
	if !strings.Contains(text, "$") {
		if v, err := param.ParseJSON(text); err == nil {
			if list, isList := v.([]param.Value); isList {
				return list
			}
		}
		return listOfTexts(separated(text))
	}
	x := s.script(s.Map, key, text)
	s.note(s.Map, key, "store a JSON list", false, "each item of %s is one value: NAME=VALUE in it sets no parameter", text)
	return "${(" + separatedScript + ")(('' + " + x + ").trim())}"
}

// separated cuts a text into items as Dagu does: at the ends of lines, or else at the sign that is most frequent among commas, semicolons,
// bars and tabs, or else at spaces. Quotes hold an item together, and a JSON object is one item.
func separated(text string) (items []string) {
	text = strings.TrimSpace(text)
	quoted := strings.Count(text, `"`) > 1 && (strings.HasPrefix(text, `"`) || strings.HasSuffix(text, `"`) || strings.Contains(text, `" `) || strings.Contains(text, ` "`))
	switch {
	case strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}"):
		return []string{text}
	case strings.Contains(text, "\n"):
		items = strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	case quoted:
		return quotedItems(text)
	default:
		sign, most := "", 0
		for _, one := range []string{"\t", "|", ";", ","} {
			if n := strings.Count(text, one); n > most {
				sign, most = one, n
			}
		}
		if sign == "" {
			return strings.Fields(text)
		}
		items = strings.Split(text, sign)
	}
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
	}
	return slices.DeleteFunc(items, func(item string) bool { return item == "" })
}

// quotedItems cuts a text at spaces and double quotes.
func quotedItems(text string) (items []string) {
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			items = append(items, part)
		} else {
			items = append(items, strings.Fields(part)...)
		}
	}
	return items
}

// separatedScript does so at run time, as a function of a trimmed text that returns a JSON list. It must have no braces.
const separatedScript = `t => t.charAt(0) == '[' ? t : JSON.stringify((t.charAt(0) == '\x7b' && t.slice(-1) == '\x7d' ? [t] : /\n/.test(t) ? t.split(/[\r\n]+/) : ` +
	`t.split('"').length > 2 && /^"|"$|" | "/.test(t) ? t.split('"').map((s, i) => i % 2 ? [s] : s.split(/\s+/)).reduce((a, b) => a.concat(b)) : ` +
	`t.split([[/\s+/, 1]].concat(['\t', '|', ';', ','].map(s => [s, t.split(s).length])).reduce((a, b) => b[1] > a[1] ? b : a)[0])).map(s => s.trim()).filter(String))`

// evaluated returns a value with the references in its texts translated.
func (s *step) evaluated(v param.Value) param.Value {
	switch x := v.(type) {
	case string:
		return s.plain(s.Map, "parallel", x)
	case []param.Value:
		out := make([]param.Value, len(x))
		for i, e := range x {
			out[i] = s.evaluated(e)
		}
		return out
	case *param.Map:
		out := param.New()
		for key, e := range x.All() {
			out.Set(key, s.evaluated(e))
		}
		return out
	}
	return v
}
