package forms

import (
	"fmt"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/precomputed"
)

// typedStep replaces a step whose type the workflow defines with the step that the type stands for, and returns other
// steps unchanged.
func (f Reader) typedStep(m *param.Map) *param.Map {
	kind := document.Text(m, "type")
	of := f.Map.Map("step_types").Map(kind)
	if action := document.Text(m, "action"); of == nil && action != "" {
		kind = action
		of = f.Map.Map("actions").Map(action)
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
	body, fault := fill(of.Map("template"), input)
	if fault != nil {
		f.Refuse(m, "type", "write the step out", "the template of type %s cannot be filled: %s", kind, fault)
		return f.Made(m.Without("type", "action", "with", "config"), m)
	}
	out, _ := f.Worded(body).(*param.Map)
	if out == nil {
		f.Refuse(m, "type", "write the step out", "the type %s has no template", kind)
	}
	out = param.Merge(out, m.Without("type", "action", "with", "config"))
	if kind := document.Text(of, "type"); kind != "" && !out.Has("type") && !out.Has("run") && !out.Has("action") {
		out.Set("type", kind)
	}
	return f.Made(out, m)
}

// fill fills the strings in a template, and replaces `{$input: a.b}` with that part of the input.
func fill(v param.Value, input *param.Map) (param.Value, error) {
	switch x := v.(type) {
	case string:
		return precomputed.Fill(x, map[string]any{"input": precomputed.Native(input)})
	case []param.Value:
		out := make([]param.Value, len(x))
		for i, e := range x {
			filled, err := fill(e, input)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	case *param.Map:
		if from, there := x.Get(inputPart); there && x.Len() == 1 {
			return partOf(input, document.TextOf(from))
		}
		out := param.New()
		for key, e := range x.All() {
			filled, err := fill(e, input)
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
