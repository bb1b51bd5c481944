package dagu

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"zerodag/engine/param"
)

// rendered fills a template of Dagu. Values that are known only when a workflow runs are their `${...}`.
func rendered(text string, data any) (string, error) {
	t, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{"json": inJSON}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("read template: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", fmt.Errorf("fill template: %w", err)
	}
	return b.String(), nil
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

// template is a step that fills a template and writes it.
func (s *step) template() string {
	with := s.with()
	data, _ := native(with.Map("data")).(map[string]any)
	text, err := rendered(text1(s.Map, "script"), data)
	if err != nil || strings.Contains(text1(s.Map, "script"), "{{ if") || strings.Contains(text1(s.Map, "script"), "{{ range") {
		s.lost(s.Map, "script", "write it with ${...}", "the template is filled before the workflow runs, and this one decides something by what is known only then")
	}
	command := "cat <<'END'\n" + strings.TrimSuffix(text, "\n") + "\nEND\n"
	if file := text1(with, "output"); file != "" {
		command = "cat > \"" + file + "\" <<'END'\n" + strings.TrimSuffix(text, "\n") + "\nEND\n"
	}
	return s.command(command)
}

// typedStep is a step of a type that the workflow has defined itself, as the step that it stands for; any other one as it is.
func (w *workflow) typedStep(m *param.Map) *param.Map {
	of := w.Map.Map("step_types").Map(text1(m, "type"))
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
	body, fault := w.fill(of.Map("template"), map[string]any{"input": native(input)})
	if fault != nil {
		w.lost(m, "type", "write the step out", "the type %s cannot be filled: %s", text1(m, "type"), fault)
		return w.made(m.Without("type", "with", "config"), m)
	}
	out, _ := body.(*param.Map)
	out = param.Merge(out, m.Without("type", "with", "config"))
	if kind := text1(of, "type"); kind != "" && !out.Has("type") {
		out.Set("type", kind)
	}
	return w.made(out, m)
}

// fill fills the texts of a template.
func (w *workflow) fill(v param.Value, data any) (param.Value, error) {
	switch x := v.(type) {
	case string:
		return rendered(x, data)
	case []param.Value:
		out := make([]param.Value, len(x))
		for i, e := range x {
			filled, err := w.fill(e, data)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	case *param.Map:
		out := param.New()
		for key, e := range x.All() {
			filled, err := w.fill(e, data)
			if err != nil {
				return nil, err
			}
			out.Set(key, filled)
		}
		return out, nil
	}
	return v, nil
}
