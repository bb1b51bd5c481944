package dagu

import (
	"cmp"
	"slices"
	"strings"

	"zerodag/engine/param"
)

// foreach returns a loop that runs steps for each item, with a task after it for the output of the step.
func (s *step) foreach() *param.Map {
	m := s.Map.Map("foreach")
	s.none("command", "script", "type", "with")
	s.only(m, "items", "as", "steps", "max_concurrent", "key", "collect")
	as := cmp.Or(text1(m, "as"), "item")
	name := variable(as)
	rows := s.rows(m, as)
	collects := m.Has("collect") || s.Has("output")
	if collects || m.Has("key") || s.numbers(m) { // an item is a list of its number, its key and its value
		s.item(as, name+"[2]")
		s.values["foreach.index"] = value{kind: ofItem, as: name + "[0]"}
		s.values["foreach.key"] = value{kind: ofItem, as: name + "[1]"}
	} else {
		s.item(as, name)
		rows = ""
	}
	loop := param.New("for_each>", param.New(name, s.over(m, rows)))
	loop.Set("_parallel", true)
	if n := s.whole(m, "max_concurrent"); n > 0 {
		loop.Set("_parallel", param.New("limit", n, "sliding", true))
	}
	do, body := s.body(m)
	collected := variable(s.name) + "_items"
	if m.Has("collect") {
		do.Set("+collect", s.collect(m, name, collected, body))
	}
	loop.Set("_do", do)
	return s.around(m, loop, rows, collected)
}

// item declares the references to an item.
func (s *step) item(as, x string) {
	s.values["foreach."+as] = value{kind: ofItem, as: x}
	s.values["foreach.item"] = value{kind: ofItem, as: x}
}

// numbers reports whether a step names the number or the key of an item.
func (s *step) numbers(m *param.Map) bool {
	text := param.Text(m)
	return strings.Contains(text, "${foreach.index}") || strings.Contains(text, "${foreach.key}")
}

// itemsOf returns the items of a loop as an expression; "" if an item has references that no expression computes here.
func (s *step) itemsOf(m *param.Map) string {
	v, _ := m.Get("items")
	switch x := v.(type) {
	case string:
		return "JSON.parse(" + s.script(m, "items", x) + ")"
	case []param.Value:
		if !reference().MatchString(param.Text(x)) {
			return "JSON.parse(" + quotedScript(param.Text(x)) + ")"
		}
		var parts []string
		for _, e := range x {
			text, isText := e.(string)
			if !isText {
				return ""
			}
			parts = append(parts, s.script(m, "items", text))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return ""
}

// rows returns an expression for a list with the number, the key and the value of each item.
func (s *step) rows(m *param.Map, as string) string {
	items := s.itemsOf(m)
	s.item(as, "v")
	s.values["foreach.index"] = value{kind: ofItem, as: "i"}
	key := "i"
	if m.Has("key") {
		key = s.script(m, "key", text1(m, "key"))
	}
	delete(s.values, "foreach.index")
	return items + ".map((v, i) => [i, '' + " + strings.TrimPrefix(key, "'' + ") + ", v])"
}

// over returns the items of the loop.
func (s *step) over(m *param.Map, rows string) param.Value {
	v, _ := m.Get("items")
	list, isList := v.([]param.Value)
	text, isText := v.(string)
	switch {
	case !isList && !isText:
		s.refuse(m, "items", "write a list", "foreach has no items")
		return []param.Value{}
	case rows == "" && isList:
		return s.evaluated(list)
	case rows == "": // Dagu takes nothing but a JSON list
		return "${JSON.stringify(JSON.parse(" + s.script(m, "items", text) + ").map(v => v))}"
	case strings.HasPrefix(rows, "."):
		s.refuse(m, "items", "write the items as a JSON text", "items of several parts with references are not taken over")
	}
	return "${JSON.stringify(" + rows + ")}"
}

// body returns the steps for an item, one after the other.
func (s *step) body(m *param.Map) (do *param.Map, body []*step) {
	list, _ := m.Get("steps")
	body = s.stepsOf(list)
	if len(body) == 0 {
		s.refuse(m, "steps", "write steps", "foreach has no steps")
	}
	do = param.New()
	for i, b := range body {
		b.within = s
		if b.beside != nil {
			s.refuse(m, "steps", "write the steps in their order", "a list of steps within foreach is not taken over")
		}
		for _, name := range texts(b.Map, "depends") {
			if stepNamed(body[:i], name) == nil {
				s.refuse(b.Map, "depends", "write the steps in their order", "a step within foreach depends on a step further down: %s", name)
			}
		}
		s.on(b, func() {
			b.outputs()
			own, checks := b.conditions(b.Map, variable(b.name))
			b.own, b.checks = join(b.own, own), checks
		})
		if i > 0 {
			b.depends = body[i-1 : i]
		}
		do.Set("+"+b.name, b.task())
		if b.refusal != "" && s.refusal == "" {
			s.refusal = "a step within it was not translated"
		}
	}
	return do, body
}

// collect returns the task that stores the collected values of an item. The values of all items are merged.
func (s *step) collect(m *param.Map, item, collected string, body []*step) *param.Map {
	last := &step{workflow: s.workflow, Map: param.New(), name: "collect", depends: body, within: s, extra: param.New(), ruled: param.New()}
	values := param.New()
	s.on(last, func() {
		names := slices.Sorted(slices.Values(m.Map("collect").Keys()))
		for _, name := range names {
			v, _ := m.Map("collect").Get(name)
			text, isText := v.(string)
			for _, found := range reference().FindAllStringSubmatch(text, -1) {
				if s.meaning(found[1]).x == "" {
					last.refusal = found[0]
				}
			}
			if !isText {
				last.refusal = param.Text(v)
			}
			values.Set(name, text)
		}
	})
	if last.refusal != "" {
		s.refuse(m, "collect", "collect what a step of the item stores", "nothing stands for %s in collect", last.refusal)
		return param.New("fail>", "nothing to collect")
	}
	text := ""
	s.on(last, func() { text = last.inJSON(m, "collect", values) })
	return param.New("sh>", "cat >> \"$DIGDAG_STORE\" <<'END_OF_VALUES'\n{\""+collected+"\": {\"${"+item+"[0]}\": "+text+"}}\nEND_OF_VALUES\n")
}

// around returns the loop with a check of the keys before it and the output of the step after it.
func (s *step) around(m, loop *param.Map, rows, collected string) *param.Map {
	out := param.New()
	if m.Has("key") {
		keys := rows + ".map(row => row[1])"
		out.Set("+keys", param.New("_if", "${new Set("+keys+").size < "+keys+".length || "+keys+".includes('')}", "fail>", "two items have the same key, or one has none"))
	}
	v, _ := s.Get("output")
	name := strings.Trim(strings.TrimPrefix(strings.TrimSpace(textOf(v)), "$"), "{}")
	switch {
	case !s.Has("output") && out.Len() == 0:
		return loop
	case !s.Has("output"):
		return param.Merge(out, param.New("+items", loop))
	case name == "" || s.Has("continue_on") || s.Has("repeat_policy") || s.Has("retry_policy") || slices.Contains(s.stores, collected):
		s.refuse(s.Map, "output", "give the output of the loop a name", "the output of foreach is not taken over in this form")
	}
	outputs, ofItem := "'\\x7b\\x7d'", ""
	if m.Has("collect") {
		outputs = "JSON.stringify(" + collected + "[row[0]])"
		ofItem = `',"outputs":' + ` + outputs + " + "
	}
	item := `'\x7b"index":' + row[0] + ',"key":' + JSON.stringify(row[1]) + ',"status":"succeeded"' + ` + ofItem + `'\x7d'`
	count := rows + ".length"
	text := `'\x7b"summary":\x7b"total":' + ` + count + ` + ',"succeeded":' + ` + count + ` + ',"failed":0\x7d,"items":[' + ` + rows + ".map(row => " + item + `).join(',') + '],"outputs":[' + ` +
		rows + ".map(row => " + outputs + `).join(',') + ']\x7d'`
	out.Set("+items", loop)
	out.Set("+output", param.New("sh>", "cat >> \"$DIGDAG_STORE\" <<'END_OF_VALUES'\n{\""+s.values[s.id+".output"].as+"\": ${JSON.stringify("+text+")}}\nEND_OF_VALUES\n"))
	return out
}
