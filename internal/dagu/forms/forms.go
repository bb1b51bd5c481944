// Package forms converts the many forms in which Dagu's releases write a step to a single form: `executor`, `run`,
// `action` and a workflow's own types become `type`, `with`, `command`, `script` and `call`. It reads mappings and
// returns mappings, and must not make tasks.
package forms

import (
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
)

// form describes how to write an action as a step of a type.
type form struct {
	kind string
	text string // the key of `with` that is the command; "" for none
	body string // the key of `with` that is the script; "" for none
}

// actions maps actions to the types that do the same.
func actions() map[string]form {
	return map[string]form{
		"http.request": {kind: "http"}, "ssh.run": {kind: "ssh", text: "command"}, "mail.send": {kind: "mail"},
		"log.write":  {kind: "log"},
		"docker.run": {kind: "docker", text: "command"}, "container.run": {kind: "docker", text: "command"},
		"jq.filter": {kind: "jq", text: "filter", body: "data"}, "postgres.query": {kind: "postgres", text: "query"},
		"template.render": {kind: "template", body: "template"}, "router.route": {kind: "router"}, "exec": {kind: "exec"},
		"noop": {kind: "noop"},
	}
}

// typesOf maps other names of types, of any Dagu release, to the names used here.
func typesOf() map[string]string {
	return map[string]string{"command": "", "shell": "", "container": "docker", "sub": "call", "subworkflow": "call",
		"dag": "call", "pg": "postgres", "postgresql": "postgres", "http.request": "http"}
}

// Reader reads the steps of a document.
type Reader struct{ *document.Document }

// operations lists the types whose command is an operation: `type: s3` with `command: upload` is the kind `s3.upload`.
func operations() []string {
	return []string{"s3", "file", "archive", "artifact", "data", "git", "outputs", "state", "wait", "sftp", "redis",
		"sqlite", "kubernetes", "k8s"}
}

// ofOneStep reports whether a key determines what a step is or does. Such a key cannot be a default: in the steps of a
// `foreach`, it would turn each step into another `foreach`.
func ofOneStep(key string) bool {
	return slices.Contains([]string{"id", "name", "depends", "foreach", "parallel", "call", "steps", "command", "script", "run", "action"}, key)
}

// Merged returns a step in one form, with the `defaults` of the workflow and its own type filled in.
func (f Reader) Merged(m *param.Map) *param.Map {
	out := f.Made(f.typedStep(m).Clone(), m)
	defaults := f.Map.Map("defaults")
	for key, v := range defaults.All() {
		own, there := out.Get(key)
		switch {
		case ofOneStep(key):
			f.Refuse(defaults, key, "write it in the steps that need it", "%s cannot be a default for steps", key)
		case !there:
			out.Set(key, v)
		case key == "env" || key == "preconditions": // both apply, the workflow's first
			out.Set(key, append(slices.Clone(keys.ListOf(v)), keys.ListOf(own)...))
		}
	}
	f.CheckKeys(out, document.StepKeys(), " of a step")
	f.CheckPlace(out)
	f.modern(out)
	return out
}

// CheckPlace refuses a step or a workflow with `worker_selector`: its commands must not run on any other machine.
func (f Reader) CheckPlace(m *param.Map) {
	if v, there := m.Get("worker_selector"); there && v != "local" {
		if labels, isMap := v.(*param.Map); !isMap || labels.Len() > 0 {
			f.Refuse(m, "worker_selector", "run the server on the machine where the commands must run",
				"worker_selector chooses a machine for the command, which is not supported")
		}
	}
}

// modern converts all forms of a step to one: `executor`, `run` and `action` become `type`, `with`, `command`, `script`
// and `call`.
func (f Reader) modern(m *param.Map) {
	if m.Has("config") && !m.Has("with") {
		v, _ := m.Get("config")
		m.Set("with", v)
	}
	f.executor(m)
	switch {
	case m.Has("run") && m.Has("action"), m.Has("run") && m.Has("command"), m.Has("action") && m.Has("command"):
		f.Refuse(m, "run", "write one of `run`, `action` and `command`",
			"a step may have only one of run, action and command")
	case m.Has("run"):
		f.runs(m)
	case m.Has("action"):
		f.acts(m)
	}
	kind := f.kind(m)
	if kind == "call" {
		if !m.Has("call") {
			m.Set("call", strings.TrimSpace(document.Text(m, "command")))
			m.Delete("command")
		}
		kind = ""
	}
	if operation := strings.TrimSpace(document.Text(m, "command")); slices.Contains(operations(), kind) &&
		document.Identifier().MatchString(operation) {
		kind += "." + operation
	}
	if kind == "" {
		m.Delete("type")
	} else {
		m.Set("type", kind)
	}
}

// kind returns a step's type by its current name.
func (f Reader) kind(m *param.Map) string {
	kind := strings.TrimSpace(document.Text(m, "type"))
	if kind == "" {
		kind = f.inherited(m)
	}
	if now, there := typesOf()[kind]; there {
		return now
	}
	return kind
}

// inherited returns the type of a step that specifies none: `ssh` and `redis` at the top of the workflow apply to all
// of its commands, as `harness` did in the past.
func (f Reader) inherited(m *param.Map) string {
	command := m.Has("command") || m.Has("script") || m.Has("exec")
	if !command || m.Has("container") || f.Map.Has("container") || m.Has("call") || m.Has("foreach") {
		return ""
	}
	for _, kind := range []string{"ssh", "redis", "harness"} {
		if f.Map.Has(kind) {
			return kind
		}
	}
	return ""
}

// executor reads the key `executor`: a type, or a type with its configuration.
func (f Reader) executor(m *param.Map) {
	v, there := m.Get("executor")
	if !there || v == nil {
		return
	}
	e, isMap := v.(*param.Map)
	if !isMap {
		m.Set("type", document.TextOf(v))
		return
	}
	for key, v := range e.All() {
		switch key {
		case "type":
			m.Set("type", v)
		case "config", "with":
			m.Set("with", v)
		default:
			f.Refuse(e, key, "write the step out", "%s of an executor is unknown", key)
		}
	}
	if document.Text(m, "type") == "" {
		f.Refuse(m, "executor", "write its type", "an executor has no type")
	}
}

// runCalls reports whether the `run` of a step is the name of another workflow, as in earlier releases, and not a
// command.
func (f Reader) runCalls(m *param.Map) bool {
	v, _ := m.Get("run")
	name, kind := document.TextOf(v), document.Text(m, "type")
	ofWorkflow := strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") ||
		f.Beside[document.FileName(name)] != nil && document.Identifier().MatchString(strings.ReplaceAll(name, "-", "_"))
	if f.Release == document.Today {
		ofWorkflow = false
	}
	return kind == "subworkflow" || kind == "dag" || kind == "call" || m.Has("params") || m.Has("parallel") ||
		ofWorkflow && !strings.ContainsAny(name, " \n")
}

// WrittenToday reports whether a step or a handler uses keys that Dagu introduced in 2.7. That release leaves commands
// in values unchanged, unless the key is `eval`.
func (f Reader) WrittenToday() bool {
	var has func(v param.Value) bool
	has = func(v param.Value) bool {
		switch x := v.(type) {
		case []param.Value:
			return slices.ContainsFunc(x, has)
		case *param.Map:
			return x.Has("action") || x.Has("foreach") || x.Has("outputs") || x.Has("run") && !f.runCalls(x)
		}
		return false
	}
	for _, key := range []string{"steps", "handler_on"} {
		v, _ := f.Get(key)
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

// runs reads `run`: shell commands or, in earlier releases, the name of another workflow.
func (f Reader) runs(m *param.Map) {
	v, _ := m.Get("run")
	name := document.TextOf(v)
	kind := document.Text(m, "type")
	if f.runCalls(m) {
		if !m.Has("params") && !m.Has("parallel") && kind == "" {
			f.Note(m, "run", "write `action: dag.run` if you mean that", false,
				"run names the workflow %s, which is called as in Dagu before 2.7; today it would be a command", name)
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
		f.Refuse(with, key, "write it differently", "%s is unknown for a command", key)
	}
	if with.Has("shell_packages") {
		f.Refuse(with, "shell_packages", "install the packages where the commands run",
			"shell_packages of a step is not translated")
	}
	m.Delete("with")
}

// acts reads `action`, whose input is in `with`.
func (f Reader) acts(m *param.Map) {
	name := strings.TrimSpace(document.Text(m, "action"))
	with := m.Map("with")
	switch as, known := actions()[name]; {
	case name == "dag.run":
		m.Set("call", document.Text(with, "dag"))
		if v, there := with.Get("params"); there {
			m.Set("params", v)
		}
		f.Only(with, "dag", "params")
		m.Delete("with")
	case name == "router.route":
		for _, key := range []string{"value", "routes"} {
			v, _ := with.Get(key)
			m.Set(key, v)
		}
		m.Set("type", as.kind)
	case name == "exec":
		m.Set("exec", with)
		f.Only(with, "command", "args")
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
			with = f.Made(with.Without(move.from), with)
			m.Set("with", with)
		}
	default:
		m.Set("type", name)
	}
}
