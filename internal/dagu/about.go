package dagu

import (
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// description is what the workflow is for; nil where it says nothing. One that no key can hold is a comment instead.
func (w *workflow) description() param.Value {
	text := strings.TrimSpace(text1(w.Map, "description"))
	if text == "" || len(text) > keys.LongestDescription || strings.Contains(text, "${") {
		return nil
	}
	return text
}

// tags are its `labels`, or `tags` as they were called before, and its `group`; nil for none.
func (w *workflow) tags() param.Value {
	var list []param.Value
	seen := map[string]bool{}
	add := func(key, name, value string) {
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		fault := keys.LabelFault(name, value)
		if value == "" {
			fault = keys.LabelFault(name, name)
		}
		switch {
		case fault == "" && strings.Contains(value, "${"):
			fault = "value is not evaluated here: " + value
		case fault == "" && len(list) == keys.MostTags:
			fault = "name comes after as many as a workflow may have"
		}
		switch {
		case name == "" && value == "" || seen[name+"="+value]:
		case fault != "":
			w.lost(w.Map, key, "write another one into `tags`", "a label's %s", fault)
		case value == "":
			list = append(list, name)
		default:
			list = append(list, param.New(name, value))
		}
		seen[name+"="+value] = true
	}
	for _, key := range []string{"labels", "tags"} {
		v, _ := w.Get(key)
		for _, one := range labelsOf(v) {
			name, value, _ := strings.Cut(one, "=")
			add(key, name, value)
		}
	}
	if group := text1(w.Map, "group"); group != "" {
		add("group", "group", group)
	}
	if list == nil {
		return nil
	}
	return list
}

// labelsOf reads labels as words and as NAME=VALUE: a text with commas between them, or with spaces where there are values, a list, or a
// mapping.
func labelsOf(v param.Value) (list []string) {
	switch x := v.(type) {
	case *param.Map:
		for name, v := range x.All() {
			list = append(list, name+"="+textOf(v))
		}
	case []param.Value:
		for _, v := range x {
			if m, isMap := v.(*param.Map); isMap {
				list = append(list, labelsOf(m)...)
			} else {
				list = append(list, textOf(v))
			}
		}
	case string:
		list = strings.Split(x, ",")
		if words := strings.Fields(x); !strings.Contains(x, ",") && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(word, "=") }) {
			list = words
		}
	default:
		list = []string{textOf(v)}
	}
	return list
}
