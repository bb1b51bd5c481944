package dagu

import (
	"slices"
	"strings"

	"zerodag/engine/param"
)

// form is how an action is written as a step of a type.
type form struct {
	kind string
	text string // the key of `with` that is the command; "" for none
	body string // the key of `with` that is the script; "" for none
}

// actions maps actions to the types that do the same.
func actions() map[string]form {
	return map[string]form{
		"http.request": {kind: "http"}, "ssh.run": {kind: "ssh", text: "command"}, "mail.send": {kind: "mail"}, "log.write": {kind: "log"},
		"docker.run": {kind: "docker", text: "command"}, "container.run": {kind: "docker", text: "command"},
		"jq.filter": {kind: "jq", text: "filter", body: "data"}, "postgres.query": {kind: "postgres", text: "query"},
		"template.render": {kind: "template", body: "template"}, "router.route": {kind: "router"}, "exec": {kind: "exec"}, "noop": {kind: "noop"},
	}
}

// typesOf maps other names of types, of any Dagu release, to the names used here.
func typesOf() map[string]string {
	return map[string]string{"command": "", "shell": "", "container": "docker", "sub": "call", "subworkflow": "call", "dag": "call", "pg": "postgres", "postgresql": "postgres", "http.request": "http"}
}

// operations lists the types whose command is an operation: `type: s3` with `command: upload` is the kind `s3.upload`.
func operations() []string {
	return []string{"s3", "file", "archive", "artifact", "data", "git", "outputs", "state", "wait", "sftp", "redis", "sqlite", "kubernetes", "k8s"}
}

// modern brings all forms of a step into one: `executor`, `run` and `action` become `type`, `with`, `command`, `script` and `call`.
func (w *workflow) modern(m *param.Map) {
	if m.Has("config") && !m.Has("with") {
		v, _ := m.Get("config")
		m.Set("with", v)
	}
	w.executor(m)
	switch {
	case m.Has("run") && m.Has("action"), m.Has("run") && m.Has("command"), m.Has("action") && m.Has("command"):
		w.refuse(m, "run", "write one of `run`, `action` and `command`", "a step may have only one of run, action and command")
	case m.Has("run"):
		w.runs(m)
	case m.Has("action"):
		w.acts(m)
	}
	kind := strings.TrimSpace(text1(m, "type"))
	if kind == "" {
		kind = w.inherited(m)
	}
	if now, there := typesOf()[kind]; there {
		kind = now
	}
	if kind == "call" {
		if !m.Has("call") {
			m.Set("call", strings.TrimSpace(text1(m, "command")))
			m.Delete("command")
		}
		kind = ""
	}
	if operation := strings.TrimSpace(text1(m, "command")); slices.Contains(operations(), kind) && identifier().MatchString(operation) {
		kind += "." + operation
	}
	if kind == "" {
		m.Delete("type")
	} else {
		m.Set("type", kind)
	}
}

// inherited returns the type of a step without one: `ssh` and `redis` at the top of the workflow apply to all of its commands, and
// `harness` did.
func (w *workflow) inherited(m *param.Map) string {
	command := m.Has("command") || m.Has("script") || m.Has("exec")
	if !command || m.Has("container") || w.Map.Has("container") || m.Has("call") || m.Has("foreach") {
		return ""
	}
	for _, kind := range []string{"ssh", "redis", "harness"} {
		if w.Map.Has(kind) {
			return kind
		}
	}
	return ""
}

// outside refuses a command that Dagu runs outside the container of the workflow: here all commands would run in it.
func (w *workflow) outside(m *param.Map, key, what string) {
	if w.Map.Has("container") {
		w.refuse(m, key, "name the image at the steps, and not at the top", "%s runs outside the container of the workflow in Dagu, and would run in it here", what)
	}
}

// executor reads the key of that name: a type, or a type with its configuration.
func (w *workflow) executor(m *param.Map) {
	v, there := m.Get("executor")
	if !there || v == nil {
		return
	}
	e, isMap := v.(*param.Map)
	if !isMap {
		m.Set("type", textOf(v))
		return
	}
	for key, v := range e.All() {
		switch key {
		case "type":
			m.Set("type", v)
		case "config", "with":
			m.Set("with", v)
		default:
			w.refuse(e, key, "write the step out", "%s of an executor is unknown", key)
		}
	}
	if text1(m, "type") == "" {
		w.refuse(m, "executor", "write its type", "an executor has no type")
	}
}

// runCalls reports whether the `run` of a step is the name of another workflow, as in earlier releases, and not a command.
func (w *workflow) runCalls(m *param.Map) bool {
	v, _ := m.Get("run")
	name, kind := textOf(v), text1(m, "type")
	ofWorkflow := strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || w.local[fileName(name)] != nil && identifier().MatchString(strings.ReplaceAll(name, "-", "_"))
	if w.release == Today {
		ofWorkflow = false
	}
	return kind == "subworkflow" || kind == "dag" || kind == "call" || m.Has("params") || m.Has("parallel") || ofWorkflow && !strings.ContainsAny(name, " \n")
}

// writtenToday reports whether a step, or a handler, is written with keys that Dagu has since 2.7. Such a release leaves commands in values
// as they are, unless the key is `eval`.
func (w *workflow) writtenToday() bool {
	var has func(v param.Value) bool
	has = func(v param.Value) bool {
		switch x := v.(type) {
		case []param.Value:
			return slices.ContainsFunc(x, has)
		case *param.Map:
			return x.Has("action") || x.Has("foreach") || x.Has("outputs") || x.Has("run") && !w.runCalls(x)
		}
		return false
	}
	for _, key := range []string{"steps", "handler_on"} {
		v, _ := w.Get(key)
		if m, isMap := v.(*param.Map); isMap {
			for _, v := range m.All() {
				if has(v) {
					return true
				}
			}
		}
		if has(v) {
			return true
		}
	}
	return false
}

// runs reads `run`: commands of a shell or, in earlier releases, the name of another workflow.
func (w *workflow) runs(m *param.Map) {
	v, _ := m.Get("run")
	name := textOf(v)
	kind := text1(m, "type")
	if w.runCalls(m) {
		if !m.Has("params") && !m.Has("parallel") && kind == "" {
			w.note(m, "run", "write `action: dag.run` if that is meant", false, "run is the name of the workflow %s, which is called as in Dagu before 2.7; today it is a command", name)
		}
		m.Set("call", name)
		m.Delete("type")
		return
	}
	m.Set("command", v)
	with := m.Map("with")
	for key, v := range with.All() {
		if key == "shell" || key == "shell_args" || key == "shell_packages" {
			m.Set(key, v)
			continue
		}
		w.refuse(with, key, "write it another way", "%s is unknown for a command", key)
	}
	if with.Has("shell_packages") {
		w.refuse(with, "shell_packages", "install the packages where the commands run", "shell_packages of a step is not taken over")
	}
	m.Delete("with")
}

// acts reads `action`, which has its input in `with`.
func (w *workflow) acts(m *param.Map) {
	name := strings.TrimSpace(text1(m, "action"))
	with := m.Map("with")
	switch as, known := actions()[name]; {
	case name == "dag.run":
		m.Set("call", text1(with, "dag"))
		if v, there := with.Get("params"); there {
			m.Set("params", v)
		}
		w.only(with, "dag", "params")
		m.Delete("with")
	case name == "router.route":
		for _, key := range []string{"value", "routes"} {
			v, _ := with.Get(key)
			m.Set(key, v)
		}
		m.Set("type", as.kind)
	case name == "exec":
		m.Set("exec", with)
		w.only(with, "command", "args")
		m.Delete("with")
		m.Set("type", as.kind)
	case known:
		m.Set("type", as.kind)
		for _, move := range []struct{ from, to string }{{as.text, "command"}, {as.body, "script"}} {
			v, there := with.Get(move.from)
			if move.from == "" || !there {
				continue
			}
			if list, isData := v.(*param.Map); isData {
				v = param.Text(list)
			} else if list, isData := v.([]param.Value); isData && move.to == "script" {
				v = param.Text(list)
			}
			m.Set(move.to, v)
			with = w.made(with.Without(move.from), with)
			m.Set("with", with)
		}
	default:
		m.Set("type", name)
	}
}

// only refuses all keys of a mapping but the given ones.
func (w *workflow) only(m *param.Map, read ...string) {
	for key := range m.All() {
		if !slices.Contains(read, key) {
			w.refuse(m, key, "write it another way", "%s is not taken over", key)
		}
	}
}
