package workflow

import (
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
)

// description returns the workflow's purpose; nil if it has none. Text that no key can hold becomes a comment instead.
func (w *Workflow) description() param.Value {
	text := strings.TrimSpace(document.Text(w.Map, "description"))
	if text == "" || len(text) > keys.LongestDescription || strings.Contains(text, "${") {
		return nil
	}
	return text
}

// heading returns a description that no key can hold; "" if there is none.
func (w *Workflow) heading() string {
	if w.description() != nil {
		return ""
	}
	return strings.TrimSpace(document.Text(w.Map, "description"))
}

// tags returns the workflow's `labels`, formerly called `tags`, and its `group`; nil for none.
func (w *Workflow) tags() param.Value {
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
			fault = "name exceeds the number that a workflow may have"
		}
		switch {
		case name == "" && value == "" || seen[name+"="+value]:
		case fault != "":
			w.Lost(w.Map, key, "write a different one in `tags`", "a label's %s", fault)
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
	if group := document.Text(w.Map, "group"); group != "" {
		add("group", "group", group)
	}
	if list == nil {
		return nil
	}
	return list
}

// labelsOf reads labels, which are words or NAME=VALUE. They may be a list, a mapping, or a string separated by commas
// (or by spaces if there are values).
func labelsOf(v param.Value) (list []string) {
	switch x := v.(type) {
	case *param.Map:
		for name, v := range x.All() {
			list = append(list, name+"="+document.TextOf(v))
		}
	case []param.Value:
		for _, v := range x {
			if m, isMap := v.(*param.Map); isMap {
				list = append(list, labelsOf(m)...)
			} else {
				list = append(list, document.TextOf(v))
			}
		}
	case string:
		list = strings.Split(x, ",")
		if words := strings.Fields(x); !strings.Contains(x, ",") &&
			!slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(word, "=") }) {
			list = words
		}
	default:
		list = []string{document.TextOf(v)}
	}
	return list
}

// concurrency returns how many runs and steps may be active at once; nil for any number.
func (w *Workflow) concurrency() *param.Map {
	out := param.New()
	if n := w.Whole(w.Map, "max_active_runs"); n > 0 {
		out.Set("attempts", n)
		out.Set("on_limit", "wait")
	}
	if n := w.Whole(w.Map, "max_active_steps"); n > 0 {
		out.Set("tasks", n)
	}
	return out
}

// queue returns the pool that replaces a queue; nil for none. In Dagu, a queue's size may also be a server setting. A
// workflow that another workflow of the file calls runs with its caller's slots.
func (w *Workflow) queue() param.Value {
	v, there := w.Get("queue")
	name := document.TextOf(v)
	if !there || name == "" {
		return nil
	}
	pools, err := keys.ParsePools(name)
	switch {
	case err != nil:
		w.Lost(w.Map, "queue", "write `_pool` with a name of letters, digits, `-`, `_` and `.`",
			"a pool cannot have the name of the queue: %s", name)
		return nil
	case w.Inner:
		w.Note(w.Map, "queue", "remove the `_pool` of the calling workflow if each call must wait separately", false,
			"queue %s is not requested: it runs with the slots of the calling workflow", name)
		return nil
	}
	w.Note(w.Map, "queue", "create it before the first push: `zerodag pool set "+name+
		" N` with `max_concurrency` of the queue for N", false, "queue %s is the pool %s", name, name)
	return pools[0].Name
}

// dotenv returns the variable files, any of which may be missing; nil for none.
func (w *Workflow) dotenv() param.Value {
	v, _ := w.Get("dotenv")
	var files []param.Value
	for _, v := range keys.ListOf(v) {
		name := document.TextOf(v)
		if name == "" {
			continue
		}
		if _, err := keys.ParseEnvFiles(name); err != nil {
			w.Lost(w.Map, "dotenv",
				"rename the file so that it has no leading dot, and list it in `_env_files`; for variables of your machine only, use `zerodag run --env-file "+
					name+"`",
				"%s is not translated: a push omits such files", name)
			continue
		}
		files = append(files, strings.TrimSuffix(name, "?")+"?")
	}
	if files == nil {
		return nil
	}
	return files
}
