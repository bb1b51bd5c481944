package forms

import (
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
)

// Passed counts the nameless parameters that steps pass to workflows in the same file, by the workflow's name.
func (f Reader) Passed(counts map[string]int) {
	var look func(v param.Value)
	look = func(v param.Value) {
		switch x := v.(type) {
		case []param.Value:
			for _, e := range x {
				look(e)
			}
		case *param.Map:
			target := document.TextOf(document.First(x, "call"))
			params, _ := x.Get("params")
			switch with := x.Map("with"); {
			case document.Text(x, "action") == "dag.run":
				target = document.Text(with, "dag")
				params, _ = with.Get("params")
			case target == "" && f.runCalls(x):
				target = document.Text(x, "run")
			case target == "":
				target = document.Text(x, "command") // in a step of type dag
			}
			if name := document.FileName(target); f.Beside[name] != nil {
				counts[name] = max(counts[name], nameless(params), namelessItems(x))
			}
			for _, e := range x.All() {
				look(e)
			}
		}
	}
	v, _ := f.Get("steps")
	look(v)
	look(f.Map.Map("handler_on"))
}

// nameless returns the place of the last parameter without a name in a line or a list of parameters.
func nameless(params param.Value) (last int) {
	var list []string
	for _, e := range keys.ListOf(params) {
		list = append(list, document.Words(document.TextOf(e))...)
	}
	for i, word := range list {
		if name, _, isPair := strings.Cut(word, "="); !isPair || !document.Identifier().MatchString(name) {
			last = i + 1
		}
	}
	return last
}

// namelessItems is like nameless, for the items of `parallel`, each of which is a line of parameters unless the step has
// parameters.
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
