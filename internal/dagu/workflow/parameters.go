package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
)

// parameters reads `params`, and adds a parameter for each nameless value that a caller in the file passes.
func (w *Workflow) parameters() {
	w.declared()
	for i := 1; i <= w.handed; i++ {
		if name := "p" + strconv.Itoa(i); w.Positional[i] == "" {
			w.Positional[i] = name
			w.parameter(name, param.New("type", "string", "default", ""))
		}
	}
}

// declared reads `params`.
func (w *Workflow) declared() {
	v, _ := w.Get("params")
	switch x := v.(type) {
	case nil:
	case []param.Value:
		for _, e := range x {
			m, isMap := e.(*param.Map)
			switch {
			case isMap && m.Has("name"):
				w.typed(m)
			case isMap:
				w.pairs(m)
				w.positions += m.Len()
			default:
				w.given(document.Words(document.TextOf(e)))
			}
		}
	case *param.Map:
		switch {
		case x.Has("schema"):
			w.schema(x)
		case document.Text(x, "type") == "object" && x.Map("properties") != nil:
			w.schema(w.Made(param.New("schema", x), x))
		default:
			w.pairs(x)
		}
	default:
		w.given(document.Words(document.TextOf(x)))
	}
}

// schema reads parameters that a JSON Schema declares; `values` contains the defaults.
func (w *Workflow) schema(m *param.Map) {
	of, values := m.Map("schema"), m.Map("values")
	if of == nil {
		w.Refuse(m, "schema", "write its properties in `params`", "a schema in a separate file is not read")
		return
	}
	required := document.Texts(of, "required")
	for name, v := range of.Map("properties").All() {
		rule := param.New("name", name)
		if p, isMap := v.(*param.Map); isMap {
			rule = w.Made(param.Merge(rule, p), p)
		}
		if value, there := values.Get(name); there {
			rule.Set("default", value)
		} else if slices.Contains(required, name) {
			rule.Set("required", true)
		}
		w.typed(rule)
	}
	for name, v := range values.All() {
		if !of.Map("properties").Has(name) {
			w.pairs(param.New(name, v))
		}
	}
}

func (w *Workflow) pairs(m *param.Map) {
	for name, v := range m.All() {
		if list, isList := v.([]param.Value); isList {
			v = param.Text(list)
		} else if inner, isMap := v.(*param.Map); isMap {
			v = param.Text(inner)
		}
		w.parameter(name, param.New("type", "string", "default", document.TextOf(v)))
	}
}

// given reads parameters in command-line form: NAME=VALUE, or a value for the next of $1, $2, ...
func (w *Workflow) given(list []string) {
	for _, word := range list {
		name, text, isPair := strings.Cut(word, "=")
		w.positions++
		if !isPair || !document.Identifier().MatchString(name) {
			name, text = "p"+strconv.Itoa(w.positions), word
			w.Positional[w.positions] = name
			w.Note(w.Map, "params", "give it a better name", false, "the unnamed parameter %q is called %s", word, name)
		}
		w.parameter(name, param.New("type", "string", "default", text))
	}
}

// typed reads a parameter with rules, which Dagu also takes from JSON Schema.
func (w *Workflow) typed(m *param.Map) {
	rule := param.New()
	for key, v := range m.All() {
		switch key {
		case "name":
		case "min_length":
			rule.Set("minLength", v)
		case "max_length":
			rule.Set("maxLength", v)
		case "eval":
			rule.Set("default", document.TextOf(v))
			rule.Set(key, true) // this rule identifies the parameter
		case "type", "enum", "minimum", "maximum", "pattern", "description", "required", "default", "minLength", "maxLength":
			rule.Set(key, v)
		default:
			w.Lost(m, key, "write the rule with keywords of JSON Schema", "unknown key %s of a parameter", key)
		}
	}
	w.parameter(document.Text(m, "name"), rule)
}

func (w *Workflow) parameter(name string, rule *param.Map) {
	as := document.Variable(name)
	if w.Params.Has(as) && w.Values["params."+name].Kind == 0 {
		as = document.Unique(w.Taken, as)
	}
	w.Taken[as] = true
	rule = w.withDefault(name, as, rule)
	is := references.Value{Kind: references.OfParam, As: as, Param: as}
	if !rule.Has("default") && document.Text(rule, "required") != "true" {
		is = references.Value{Kind: references.OfConst, As: "(this." + as + " || '')", Param: as}
	}
	w.Values[name], w.Values["params."+name] = is, is
	if is.Kind == references.OfConst { // Dagu leaves the reference unchanged
		is.As = "(this." + as + " === undefined ? " + references.QuotedScript("${params."+name+"}") + " : this." + as + ")"
		w.Values["params."+name] = is
	}
	w.Params.Set(as, rule)
}

// withDefault returns the rule of a parameter with a plain default or no default. A first task stores any other
// default.
func (w *Workflow) withDefault(name, as string, rule *param.Map) *param.Map {
	text := document.Text(rule, "default")
	dynamic := (rule.Has("eval") || !w.Today) && (document.HasCommand(text) || document.Reference().MatchString(text))
	rule = rule.Without("eval")
	switch {
	case dynamic && anyText(rule):
		w.found.Set(as, w.stored(as, document.Backticks().ReplaceAllString(text, "$$($1)")))
		w.Note(w.Map, "params", "write a plain default if possible", false, "a first task computes the default of %s: %s",
			name, text)
		rule.Set("default", "")
	case strings.Contains(text, "${") && !dynamic && anyText(rule):
		w.found.Set(as, "printf '%s=%s\\n' "+as+" "+references.Literal(references.ShellWord(text))+" >> \"$ZERODAG_STORE\"\n")
		rule.Set("default", "")
		w.Note(w.Map, "params", "write the value", false, "the default of %s is text, as in Dagu since 2.7: %s", name, text)
	case dynamic || strings.Contains(text, "${"):
		w.Refuse(w.Map, "params", "let a first task store it, with `_if: ${!this."+as+
			"}`, so that a given value takes precedence", "the default of %s is not a plain value: %s", name, text)
		rule = rule.Without("default")
	}
	return rule
}

// anyText reports whether a parameter accepts the empty string, which stands for a default that a command computes.
func anyText(rule *param.Map) bool {
	for key, v := range rule.All() {
		if key != "default" && key != "description" && key != "required" && (key != "type" || v != "string") {
			return false
		}
	}
	return true
}

// stored returns the lines of a script that determine the value of a name and store it.
func (w *Workflow) stored(name, shell string) string {
	return fmt.Sprintf("%s=\"%s\"\necho \"%s=$%s\" >> \"$ZERODAG_STORE\"\n", name,
		w.Command(w.Map, "env", shell, references.ShellReader), name, name)
}
