package workflow

import (
	"maps"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/tasks"
)

// constants reads `consts`.
func (w *Workflow) constants() {
	v, _ := w.Get("consts")
	for _, e := range keys.ListOf(v) {
		m, isMap := e.(*param.Map)
		if !isMap {
			w.Refuse(w.Map, "consts", "write NAME: VALUE", "a constant has no name")
			continue
		}
		for name, v := range m.All() {
			w.Values["consts."+name] = references.Value{Kind: references.OfConst, As: w.Script(m, name, document.TextOf(v))}
		}
	}
}

// secret reads the variables that come from a secret store.
func (w *Workflow) secret() {
	v, _ := w.Get("secrets")
	for _, e := range keys.ListOf(v) {
		m, isMap := e.(*param.Map)
		name := document.Text(m, "name")
		if !isMap || !document.Identifier().MatchString(name) {
			w.Refuse(w.Map, "secrets", "write `_env: {NAME: \"${secret:NAME}\"}`", "a secret without a name is not translated")
			continue
		}
		w.Values[name] = references.Value{Kind: references.OfSecret, As: name}
		w.secrets.Set(name, "${secret:"+name+"}")
		w.Note(m, "name", "set it with `zerodag secrets --project PROJECT --set "+name+"`", false,
			"the secret %s comes from %s %s", name, document.Text(m, "provider"), document.Text(m, "key"))
	}
}

// expressionsOf returns the exported values that are expressions, each with earlier ones inserted.
func expressionsOf(export *param.Map) map[string]string {
	known := map[string]string{}
	for name, v := range export.All() {
		if text, isText := v.(string); isText && strings.Contains(text, "${") {
			known["${"+name+"}"] = writtenOut(text, known)
		}
	}
	return known
}

// writtenOut replaces references to known expressions in a string with the expressions.
func writtenOut(text string, known map[string]string) string {
	for _, reference := range slices.Sorted(maps.Keys(known)) {
		text = strings.ReplaceAll(text, reference, known[reference])
	}
	return text
}

// inline inserts the expressions in the `_env` of each task, because in a mapping a reference to an exported expression
// yields its text.
func inline(tasks *param.Map, known map[string]string) {
	for key, v := range tasks.All() {
		m, isMap := v.(*param.Map)
		if !isMap {
			continue
		}
		if key != "_env" {
			inline(m, known)
			continue
		}
		for name, value := range m.All() {
			if text, isText := value.(string); isText {
				m.Set(name, writtenOut(text, known))
			}
		}
	}
}

// environment reads the variables for all commands. Plain ones become `_env`, a first task determines the output of
// commands, and a shell line sets values that use the machine's other variables.
func (w *Workflow) environment() {
	for name, v := range document.Entries(w.Map).All() {
		text := document.TextOf(v)
		as := document.Variable(name)
		if w.Params.Has(as) {
			as = "env_" + as
		}
		switch {
		case !document.Identifier().MatchString(name):
			w.Refuse(w.Map, "env", "give the variable a name of letters, digits and `_`", "invalid name of a variable: %s", name)
		case w.FindsOut(text):
			w.finders = append(w.finders, w.stored(as, document.Backticks().ReplaceAllString(text, "$$($1)")))
			w.Values[name] = references.Value{Kind: references.OfOutput, As: as}
			w.Note(w.Map, "env", "write the value, or let a task store it", false,
				"a command computes %s, as in Dagu before 2.7", name)
		case w.IsPlain(text):
			v := w.Plain(w.Map, "env", text)
			w.Env.Set(name, v)
			kind := references.OfEnv
			if strings.Contains(v, "${secret:") {
				kind = references.OfSecret
			}
			w.Values[name] = references.Value{Kind: kind, As: as}
		default:
			w.Exports = append(w.Exports, w.Exported(w.Map, name, text))
			w.Values[name] = references.Value{Kind: references.OfShell, As: as}
			w.Note(w.Map, "env", "check the value on that machine", false,
				"%s uses variables of the machine that runs the commands: %s", name, text)
		}
	}
}

// export returns the parameters for all tasks: the shell as Dagu calls it, and the variables that expressions name.
func (w *Workflow) export(steps []*tasks.Step) *param.Map {
	out := param.New()
	shell, _ := tasks.Shell(w.Document, w.Map, false)
	if shell == nil {
		shell = []param.Value{"/bin/sh", "-e"}
	}
	out.Set("sh", param.New("shell", shell))
	if c := w.Map.Map("container"); c != nil {
		if docker, env := tasks.Docker(w.Translator, c); docker != nil {
			out.Set("docker", docker)
			for name, v := range env.All() {
				w.Env.Set(name, v)
			}
			for _, s := range w.Every {
				s.Changed = true
			}
			w.Note(w.Map, "container", "write shared data to files of the project", false,
				"each command has its own container instead of one for the whole run")
		}
	}
	if w.Used[references.Artifacts] {
		out.Set(references.Artifacts, w.ArtifactsIn())
	}
	for name, v := range w.Env.All() {
		if as := w.Values[name].As; w.Used[name] && w.Values[name].Kind == references.OfEnv && name != "PATH" {
			out.Set(as, v)
		}
	}
	for _, s := range flattened(steps) {
		for _, name := range s.Stores {
			if s.MayBeAbsent() {
				out.Set(name, s.WithoutValue(name))
			}
		}
	}
	return out
}

// variables returns the `_env` of all commands. Parameters and stored values become variables without it.
func (w *Workflow) variables() *param.Map {
	out := param.New()
	for _, m := range []*param.Map{w.Env, w.secrets} {
		for name, v := range m.All() {
			out.Set(name, v)
		}
	}
	if w.Used[references.Artifacts] {
		out.Set("DAG_RUN_ARTIFACTS_DIR", w.ArtifactsIn()) // exports are not evaluated within _env
	}
	return out
}
