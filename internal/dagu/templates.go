package dagu

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	sprig "github.com/go-task/slim-sprig/v3"

	"zerodag/engine/param"
)

// rendered fills a template of Dagu. Values that are known only when a workflow runs are their `${...}`: a template that does more than insert
// them is refused with errDecides.
func rendered(text string, data any) (string, error) {
	t, err := template.New("").Option("missingkey=error").Funcs(functions()).Parse(text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnread, err)
	}
	switch encoded, err := inJSON(data); {
	case err != nil, reference().MatchString(encoded) && !insertsOnly(t.Root):
		return "", errDecides
	case strings.Contains(text, "range") && largeNumber().MatchString(text+encoded): // it may count up to the number
		return "", errLong
	}
	var b limited
	if err := t.Execute(&b, data); err != nil {
		return "", fmt.Errorf("fill template: %w", err)
	}
	return b.String(), nil
}

var (
	errDecides = errors.New("it uses a value of the run for more than text")
	errUnread  = errors.New("it cannot be read")
	errLong    = errors.New("its text is too long")
)

// limited is a text of a reasonable length.
type limited struct{ strings.Builder }

const longestText = 1 << 20

// largeNumber matches numbers that take long to count up to, in any form that templates read.
var largeNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9_]{5}|[0-9][eEpPxX]`) })

func (l *limited) Write(text []byte) (int, error) {
	if l.Len()+len(text) > longestText {
		return 0, errLong
	}
	return l.Builder.Write(text)
}

// insertsOnly reports whether a template inserts parts of its data as they are, or as JSON, and does nothing else.
func insertsOnly(list *parse.ListNode) bool {
	for _, node := range list.Nodes {
		action, isAction := node.(*parse.ActionNode)
		if _, isText := node.(*parse.TextNode); isText {
			continue
		}
		if !isAction || len(action.Pipe.Decl) > 0 || len(action.Pipe.Cmds) != 1 {
			return false
		}
		args := action.Pipe.Cmds[0].Args
		if name, isName := args[0].(*parse.IdentifierNode); isName && name.Ident == "json" && len(args) == 2 {
			args = args[1:]
		}
		if _, isField := args[0].(*parse.FieldNode); !isField || len(args) != 1 {
			return false
		}
	}
	return true
}

// functions returns the functions of templates. They come from the library that Dagu uses. Functions that depend on the machine or the time,
// or make texts of any length, are not among them; some take their arguments in another order.
func functions() template.FuncMap {
	all := template.FuncMap{}
	for name, of := range sprig.HermeticTxtFuncMap() {
		if !slices.Contains(strings.Fields("env expandenv getHostByName now date dateInZone date_in_zone dateModify date_modify mustDateModify must_date_modify ago duration durationRound "+
			"unixEpoch toDate mustToDate htmlDate htmlDateInZone uuidv4 repeat until untilStep seq"), name) {
			all[name] = of
		}
	}
	all["json"] = inJSON
	all["split"] = func(by, text string) []string { return strings.Split(text, by) }
	all["join"] = joined
	all["count"] = length
	all["add"] = func(b, a int) int { return a + b }
	all["empty"] = isEmpty
	all["upper"], all["lower"], all["trim"] = strings.ToUpper, strings.ToLower, strings.TrimSpace
	all["default"] = func(otherwise, v any) any {
		if isEmpty(v) {
			return otherwise
		}
		return v
	}
	return all
}

func joined(by string, list any) (string, error) {
	of := reflect.ValueOf(list)
	switch {
	case list == nil:
		return "", nil
	case of.Kind() != reflect.Slice && of.Kind() != reflect.Array:
		return "", fmt.Errorf("join takes a list, and not %T", list)
	}
	texts := make([]string, of.Len())
	for i := range texts {
		texts[i] = fmt.Sprint(of.Index(i).Interface())
	}
	return strings.Join(texts, by), nil
}

func length(v any) (int, error) {
	of := reflect.ValueOf(v)
	switch {
	case v == nil:
		return 0, nil
	case hasLength(of):
		return of.Len(), nil
	}
	return 0, fmt.Errorf("count takes a list, a mapping or a text, and not %T", v)
}

func isEmpty(v any) bool {
	of := reflect.ValueOf(v)
	return v == nil || hasLength(of) && of.Len() == 0 || !hasLength(of) && of.IsZero()
}

func hasLength(of reflect.Value) bool {
	return slices.Contains([]reflect.Kind{reflect.String, reflect.Slice, reflect.Map, reflect.Array}, of.Kind())
}

func inJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// native is a value as templates know it.
func native(v param.Value) any {
	switch x := v.(type) {
	case *param.Map:
		out := map[string]any{}
		for key, e := range x.All() {
			out[key] = native(e)
		}
		return out
	case []param.Value:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = native(e)
		}
		return out
	}
	return v
}

// typedStep is a step of a type that the workflow has defined itself, as the step that it stands for; any other one as it is.
func (w *workflow) typedStep(m *param.Map) *param.Map {
	kind := text1(m, "type")
	of := w.Map.Map("step_types").Map(kind)
	if action := text1(m, "action"); of == nil && action != "" {
		kind = action
		of = w.Map.Map("actions").Map(action)
	}
	if of == nil {
		return m
	}
	given := m.Map("with")
	if given == nil {
		given = m.Map("config")
	}
	input := param.New()
	for name, v := range of.Map("input_schema").Map("properties").All() {
		if p, isMap := v.(*param.Map); isMap && p.Has("default") {
			v, _ := p.Get("default")
			input.Set(name, v)
		}
	}
	input = param.Merge(input, given)
	body, fault := w.fill(of.Map("template"), input)
	if fault != nil {
		w.refuse(m, "type", "write the step out", "the type %s cannot be filled: %s", kind, fault)
		return w.made(m.Without("type", "action", "with", "config"), m)
	}
	out, _ := w.worded(body).(*param.Map)
	if out == nil {
		w.refuse(m, "type", "write the step out", "the type %s has no template", kind)
	}
	out = param.Merge(out, m.Without("type", "action", "with", "config"))
	if kind := text1(of, "type"); kind != "" && !out.Has("type") && !out.Has("run") && !out.Has("action") {
		out.Set("type", kind)
	}
	return w.made(out, m)
}

// fill fills the texts of a template, and replaces `{$input: a.b}` by that part of the input.
func (w *workflow) fill(v param.Value, input *param.Map) (param.Value, error) {
	switch x := v.(type) {
	case string:
		return rendered(x, map[string]any{"input": native(input)})
	case []param.Value:
		out := make([]param.Value, len(x))
		for i, e := range x {
			filled, err := w.fill(e, input)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	case *param.Map:
		if from, there := x.Get(inputPart); there && x.Len() == 1 {
			return partOf(input, textOf(from))
		}
		out := param.New()
		for key, e := range x.All() {
			filled, err := w.fill(e, input)
			if err != nil {
				return nil, err
			}
			out.Set(key, filled)
		}
		return out, nil
	}
	return v, nil
}

// inputPart is the only key of a mapping that stands for a part of the input.
const inputPart = "$input"

// partOf returns the part of a value at a path such as "a.b".
func partOf(v param.Value, path string) (param.Value, error) {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(*param.Map)
		inner, there := m.Get(name)
		if !there {
			return nil, fmt.Errorf("there is no input %s", path)
		}
		v = inner
	}
	return v, nil
}
