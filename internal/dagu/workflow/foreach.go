package workflow

import (
	"cmp"
	"slices"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/sequence"
	"zerodag/internal/dagu/tasks"
)

// loop is a step with `foreach`.
type loop struct {
	*tasks.Step
	workflow *Workflow
}

// task returns a loop that runs steps for each item, with a task after it for the step's output.
func (s loop) task() *param.Map {
	m := s.Map.Map("foreach")
	s.None("command", "script", "type", "with")
	s.Only(m, "items", "as", "steps", "max_concurrent", "key", "collect")
	as := cmp.Or(document.Text(m, "as"), "item")
	name := document.Variable(as)
	rows := s.rows(m, as)
	collects := m.Has("collect") || s.Has("output")
	if collects || m.Has("key") || s.numbers(m) { // each item becomes a list of its number, its key and its value
		s.item(as, name+"[2]")
		s.Values["foreach.index"] = references.Value{Kind: references.OfItem, As: name + "[0]"}
		s.Values["foreach.key"] = references.Value{Kind: references.OfItem, As: name + "[1]"}
	} else {
		s.item(as, name)
		rows = ""
	}
	loop := param.New("for_each>", param.New(name, s.over(m, rows)))
	loop.Set("_parallel", true)
	if n := s.Whole(m, "max_concurrent"); n > 0 {
		loop.Set("_parallel", param.New("limit", n, "sliding", true))
	}
	do, body := s.body(m)
	collected := document.Variable(s.Name) + "_items"
	if m.Has("collect") {
		do.Set("+collect", s.collect(m, name, collected, body))
	}
	loop.Set("_do", do)
	return s.around(m, loop, rows, collected)
}

// item declares the references to an item.
func (s loop) item(as, x string) {
	s.Values["foreach."+as] = references.Value{Kind: references.OfItem, As: x}
	s.Values["foreach.item"] = references.Value{Kind: references.OfItem, As: x}
}

// numbers reports whether a step refers to the number or the key of an item.
func (s loop) numbers(m *param.Map) bool {
	text := param.Text(m)
	return strings.Contains(text, "${foreach.index}") || strings.Contains(text, "${foreach.key}")
}

// itemsOf returns the items of a loop as an expression; "" if an item has references that no expression can compute
// here.
func (s loop) itemsOf(m *param.Map) string {
	v, _ := m.Get("items")
	switch x := v.(type) {
	case string:
		return "JSON.parse(" + s.Script(m, "items", x) + ")"
	case []param.Value:
		if !document.Reference().MatchString(param.Text(x)) {
			return "JSON.parse(" + references.QuotedScript(param.Text(x)) + ")"
		}
		var parts []string
		for _, e := range x {
			text, isText := e.(string)
			if !isText {
				return ""
			}
			parts = append(parts, s.Script(m, "items", text))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return ""
}

// rows returns an expression for a list with the number, the key and the value of each item.
func (s loop) rows(m *param.Map, as string) string {
	items := s.itemsOf(m)
	s.item(as, "v")
	s.Values["foreach.index"] = references.Value{Kind: references.OfItem, As: "i"}
	key := "i"
	if m.Has("key") {
		key = s.Script(m, "key", document.Text(m, "key"))
	}
	delete(s.Values, "foreach.index")
	return items + ".map((v, i) => [i, '' + " + strings.TrimPrefix(key, "'' + ") + ", v])"
}

// over returns the loop's items.
func (s loop) over(m *param.Map, rows string) param.Value {
	v, _ := m.Get("items")
	list, isList := v.([]param.Value)
	text, isText := v.(string)
	switch {
	case !isList && !isText:
		s.Refuse(m, "items", "write a list", "foreach has no items")
		return []param.Value{}
	case rows == "" && isList:
		return s.Evaluated(s.Map, "parallel", list)
	case rows == "": // Dagu accepts only a JSON list
		return "${JSON.stringify(JSON.parse(" + s.Script(m, "items", text) + ").map(v => v))}"
	case strings.HasPrefix(rows, "."):
		s.Refuse(m, "items", "write the items as JSON", "items of several parts with references are not translated")
	}
	return "${JSON.stringify(" + rows + ")}"
}

// body returns the steps for an item, one after the other.
func (s loop) body(m *param.Map) (do *param.Map, body []*tasks.Step) {
	list, _ := m.Get("steps")
	body = s.workflow.stepsOf(list)
	if len(body) == 0 {
		s.Refuse(m, "steps", "write steps", "foreach has no steps")
	}
	do = param.New()
	for i, b := range body {
		b.Within = s.Node
		if b.Beside != nil {
			s.Refuse(m, "steps", "write the steps in their order", "a list of steps within foreach is not translated")
		}
		for _, name := range document.Texts(b.Map, "depends") {
			if sequence.Named(nodesOf(body[:i]), name) == nil {
				s.Refuse(b.Map, "depends", "write the steps in their order",
					"a step within foreach depends on a later step: %s", name)
			}
		}
		s.On(b.Node, func() {
			b.Outputs()
			b.Conditions(document.Variable(b.Name))
		})
		if i > 0 {
			b.Depends = []*sequence.Node{body[i-1].Node}
		}
		do.Set("+"+b.Name, s.workflow.task(b))
		if b.Refusal != "" && s.Refusal == "" {
			s.Refusal = "a step within it was not translated"
		}
	}
	return do, body
}

// collect returns the task that stores the collected values of an item. The values of all items are merged.
func (s loop) collect(m *param.Map, item, collected string, body []*tasks.Step) *param.Map {
	last := &sequence.Node{Map: param.New(), Name: "collect", Depends: nodesOf(body), Within: s.Node, Extra: param.New()}
	values := param.New()
	s.On(last, func() {
		names := slices.Sorted(slices.Values(m.Map("collect").Keys()))
		for _, name := range names {
			v, _ := m.Map("collect").Get(name)
			text, isText := v.(string)
			for _, found := range document.Reference().FindAllStringSubmatch(text, -1) {
				if s.Meaning(found[1]).Expression == "" {
					last.Refusal = found[0]
				}
			}
			if !isText {
				last.Refusal = param.Text(v)
			}
			values.Set(name, text)
		}
	})
	if last.Refusal != "" {
		s.Refuse(m, "collect", "collect values stored by a step of the item", "%s has no equivalent in collect", last.Refusal)
		return param.New("fail>", "nothing to collect")
	}
	text := ""
	s.On(last, func() { text = s.JSON(m, "collect", values) })
	return param.New("sh>", "cat >> \"$ZERODAG_STORE\" <<'END_OF_VALUES'\n{\""+collected+"\": {\"${"+item+"[0]}\": "+text+
		"}}\nEND_OF_VALUES\n")
}

// around returns the loop with a check of the keys before it and the step's output after it.
func (s loop) around(m, loop *param.Map, rows, collected string) *param.Map {
	out := param.New()
	if m.Has("key") {
		keys := rows + ".map(row => row[1])"
		out.Set("+keys", param.New("_if", "${new Set("+keys+").size < "+keys+".length || "+keys+".includes('')}", "fail>",
			"two items have the same key, or an item has none"))
	}
	v, _ := s.Get("output")
	name := strings.Trim(strings.TrimPrefix(strings.TrimSpace(document.TextOf(v)), "$"), "{}")
	switch {
	case !s.Has("output") && out.Len() == 0:
		return loop
	case !s.Has("output"):
		return param.Merge(out, param.New("+items", loop))
	case name == "" || s.Has("continue_on") || s.Has("repeat_policy") || s.Has("retry_policy") ||
		slices.Contains(s.Stores, collected):
		s.Refuse(s.Map, "output", "give the output of the loop a name",
			"the output of foreach is not translated in this form")
	}
	outputs, ofItem := "'\\x7b\\x7d'", ""
	if m.Has("collect") {
		outputs = "JSON.stringify(" + collected + "[row[0]])"
		ofItem = `',"outputs":' + ` + outputs + " + "
	}
	item := `'\x7b"index":' + row[0] + ',"key":' + JSON.stringify(row[1]) + ',"status":"succeeded"' + ` + ofItem + `'\x7d'`
	count := rows + ".length"
	text := `'\x7b"summary":\x7b"total":' + ` + count + ` + ',"succeeded":' + ` + count +
		` + ',"failed":0\x7d,"items":[' + ` + rows + ".map(row => " + item + `).join(',') + '],"outputs":[' + ` +
		rows + ".map(row => " + outputs + `).join(',') + ']\x7d'`
	out.Set("+items", loop)
	out.Set("+output", param.New("sh>",
		"cat >> \"$ZERODAG_STORE\" <<'END_OF_VALUES'\n{\""+s.Values[s.ID+".output"].As+"\": ${JSON.stringify("+text+
			")}}\nEND_OF_VALUES\n"))
	return out
}
