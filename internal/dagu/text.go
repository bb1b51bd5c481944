package dagu

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// value is what a name in `${NAME}` may mean in a workflow.
type value struct {
	kind valueKind
	// as is how an expression names it.
	as      string
	by      *step  // that stores it; nil for none
	decoded bool   // it is no text: its parts need no JSON.parse
	param   string // the name of the parameter that it is; "" for none
}

type valueKind int

const (
	ofParam  valueKind = iota + 1 // given at a start
	ofEnv                         // a variable of all commands, and maybe an exported one
	ofOutput                      // a step stores it
	ofSecret                      // a variable of all commands, and nothing else
	ofShell                       // a variable that only the shell of a command can compute
	ofItem                        // of a loop
	ofConst                       // an expression that needs nothing
	ofCall                        // the result of a called workflow, of which only parts have a value
)

var (
	reference = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\$\{([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*|[0-9]+)`)
	})
	identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
	backticks  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`]*)`") })
	dotted     = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+|\[[0-9]+\])+$`)
	})
)

// artifacts is the exported name of the folder for files of a run: one of the machine that runs the commands.
const artifacts = "artifacts_dir"

// artifactsIn returns that folder. All attempts of a session have the same one, so that a resumed run finds the files of its tasks.
func (w *workflow) artifactsIn() string {
	return "/tmp/artifacts-" + w.name + "-${project_id}-${session_unixtime}"
}

// builtIn are variables that Dagu has in each run, as expressions.
func (w *workflow) builtIn() map[string]string {
	status := map[string]string{"failure": "'failed'", "success": "'succeeded'", "abort": "'aborted'", "init": "'running'",
		"exit": "(outcome == 'success' ? 'succeeded' : outcome == 'error' ? 'failed' : 'aborted')"}[w.handles]
	if w.handles == "success" && w.partial != "" {
		status = "(" + w.partial + " ? 'partially_succeeded' : 'succeeded')"
	}
	step := "task_name"
	switch handler := map[string]string{"init": "onInit", "success": "onSuccess", "failure": "onFailure", "exit": "onExit", "abort": "onAbort", "cancel": "onAbort"}[w.handles]; {
	case handler != "":
		step = quotedScript(handler)
	case w.current != nil:
		step = quotedScript(w.current.called)
	}
	all := map[string]string{"DAG_NAME": quotedScript(w.called()), "DAG_RUN_ID": "attempt_id", "DAG_RUN_STEP_NAME": step,
		"DAG_RUN_ARTIFACTS_DIR": artifacts, "DAG_RUN_WORK_DIR": "'.'"}
	if status != "" { // only handlers have it
		all["DAG_RUN_STATUS"] = status
	}
	for name, file := range w.logs() {
		all[name] = artifacts + " + " + quotedScript(file)
	}
	if w.params.Len() > 0 {
		all["DAG_PARAMS_JSON"] = w.paramsJSON()
		all["DAGU_PARAMS_JSON"] = all["DAG_PARAMS_JSON"]
	}
	return all
}

// runLog is the file that stands for the log of the run, in the folder for its files.
const runLog = "/run.log"

// logs returns the files of logs that commands may name, by variable: that of the run, and those of the current step. Handlers have only
// the first.
func (w *workflow) logs() map[string]string {
	all := map[string]string{"DAG_RUN_LOG_FILE": runLog}
	if s := w.current; s != nil && w.handles == "" {
		for _, stream := range []string{"stdout", "stderr"} {
			if _, there := w.values[s.id+"."+stream]; there {
				all[streamVariable(stream)] = "/streams/" + s.id + "." + stream
			}
		}
	}
	return all
}

func streamVariable(stream string) string {
	return "DAG_RUN_STEP_" + strings.ToUpper(stream) + "_FILE"
}

// writesLog gives the run a file for DAG_RUN_LOG_FILE.
func (w *workflow) writesLog(m *param.Map, key string) {
	w.outside(w.Map, "container", "the log of the run")
	w.used[artifacts], w.used[runLog] = true, true
	w.note(m, key, "read the log with `zerodag log`", false, "the file of DAG_RUN_LOG_FILE has one line, with the name of the run, and is on the machine that runs the commands")
}

// paramsJSON returns an expression for the values of all named parameters in the form of DAG_PARAMS_JSON: a JSON object of texts, ordered by
// name, in which Go escapes three signs of HTML. A parameter without a value is not in it.
func (w *workflow) paramsJSON() string {
	as := map[string]string{}
	for name, v := range w.values {
		if of, isParam := strings.CutPrefix(name, "params."); isParam {
			as[of] = v.param
		}
	}
	for _, nameless := range w.positional {
		delete(as, nameless)
	}
	if len(as) == 0 {
		return "''"
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(as)) {
		key, of := quotedScript(strconv.Quote(name)+":"), "this."+as[name]
		pairs = append(pairs, "("+of+" === undefined ? '' : "+key+" + JSON.stringify('' + "+of+"))")
	}
	return `'\x7b' + [` + strings.Join(pairs, ", ") + `].filter(String).join(',').replace(/</g, '\\u003c').replace(/>/g, '\\u003e').replace(/&/g, '\\u0026') + '\x7d'`
}

// called returns the name of the workflow in Dagu.
func (w *workflow) called() string {
	if own := text1(w.Map, "name"); own != "" {
		return own
	}
	return w.name
}

// unavailable reports whether a variable that Dagu sets in each run has no counterpart.
func (w *workflow) unavailable(name string) bool {
	if w.handles != "" && (name == streamVariable("stdout") || name == streamVariable("stderr")) {
		return false // Dagu sets neither
	}
	return slices.Contains([]string{"DAG_RUN_STEP_STDOUT_FILE", "DAG_RUN_STEP_STDERR_FILE", "DAG_WIKI_DIR", "DAG_DOCS_DIR",
		"DAGU_EXECUTABLE", "DAGU_HOME", "DAGU_OUTPUT_FILE", "DAG_WAITING_STEPS", "WEBHOOK_PAYLOAD", "WEBHOOK_HEADERS"}, name)
}

// contextual returns the expression for a value of the run such as "dag.name"; "" if it has none here.
func (w *workflow) contextual(field string) string {
	switch field {
	case "step.id":
		if w.handles != "" || w.current == nil || text1(w.current.Map, "id") == "" {
			return ""
		}
		return quotedScript(text1(w.current.Map, "id"))
	case "attempt.id":
		return "attempt_id"
	case "paths.artifacts_dir":
		w.used[artifacts] = true
	case "paths.log_file":
		w.writesLog(w.Map, "steps")
	}
	name := map[string]string{"paths.log_file": "DAG_RUN_LOG_FILE", "paths.step_stdout_file": streamVariable("stdout"), "paths.step_stderr_file": streamVariable("stderr"), "dag.name": "DAG_NAME", "run.id": "DAG_RUN_ID", "step.name": "DAG_RUN_STEP_NAME", "run.status": "DAG_RUN_STATUS", "paths.artifacts_dir": "DAG_RUN_ARTIFACTS_DIR"}[field]
	return w.builtIn()[name]
}

// namedAs returns the expression for a variable. A reserved word of JavaScript needs `this.`.
func namedAs(name string) string {
	if slices.Contains(strings.Fields("break case catch class const continue debugger default delete do else enum export extends false finally for function if implements "+
		"import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield"), name) {
		return "this." + name
	}
	return name
}

// meaning is the translation of a reference.
type meaning struct {
	x     string // as an expression; "" for none
	owned bool   // Dagu replaces it itself, before a shell reads the text
	kept  bool   // Dagu finds no value and leaves the text as it is
}

// meaning translates `${inner}`.
func (w *workflow) meaning(inner string) meaning {
	is := w.replaced(inner)
	is.kept = is.x == "" && w.keeps(inner)
	return is
}

// replaced translates a reference that has a value.
func (w *workflow) replaced(inner string) meaning {
	if n, err := strconv.Atoi(inner); err == nil {
		if name := w.positional[n]; name != "" {
			return meaning{x: namedAs(name), owned: true}
		}
		return meaning{}
	}
	if parts := sliced().FindStringSubmatch(inner); parts != nil {
		return meaning{x: w.slice(parts)}
	}
	name, path, hasPath := strings.Cut(inner, ".")
	if !hasPath {
		if inner == "params" && w.today && w.params.Len() > 0 && w.values[inner].kind == 0 {
			return meaning{x: w.paramsJSON(), owned: true}
		}
		return meaning{x: w.named(inner)}
	}
	if !dotted().MatchString(inner) {
		return meaning{}
	}
	switch name {
	case "params", "consts", "env", "foreach", "steps":
		return w.scoped(name, path, inner)
	case "context", "dag", "run", "attempt", "step", "paths":
		return meaning{x: w.contextual(strings.TrimPrefix(inner, "context.")), owned: true}
	}
	if v, there := w.values[inner]; there {
		return meaning{x: w.held(v), owned: true}
	}
	if field, ofStep := w.ofStep(name, path); ofStep {
		return meaning{x: field, owned: true}
	}
	if v, there := w.values[name]; there {
		return meaning{x: w.within(v, path), owned: true}
	}
	return meaning{owned: true}
}

var sliced = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(?::([0-9]+)(?::([0-9]+))?|:-([^$]*))$`)
})

// slice translates what Dagu does like a shell where no shell reads a text: a part of a value, or a default for an empty one.
func (w *workflow) slice(parts []string) string {
	x := w.named(parts[1])
	switch {
	case x == "":
		return ""
	case parts[2] == "":
		return "(" + x + " || " + quotedScript(parts[4]) + ")"
	case parts[3] == "":
		return "('' + " + x + ").substr(" + parts[2] + ")"
	}
	return "('' + " + x + ").substr(" + parts[2] + ", " + parts[3] + ")"
}

// scoped translates a reference that begins with a namespace.
func (w *workflow) scoped(scope, path, inner string) meaning {
	switch v, there := w.values[inner]; {
	case scope == "steps" && (w.handles != "" || there && v.by == w.current): // neither handlers nor the step itself see the output
	case there && scope != "env":
		return meaning{x: w.held(v), owned: true}
	case scope == "foreach":
		if of, field, _ := strings.Cut(path, "."); field != "" {
			if v, there := w.values["foreach."+of]; there {
				return meaning{x: v.as + "." + field, owned: true}
			}
		}
	case scope == "env":
		if v := w.values[path]; v.kind == ofEnv || v.kind == ofOutput || v.kind == ofParam {
			return meaning{x: w.named(path), owned: true}
		}
		if _, there := w.builtIn()[path]; there && w.current != nil && w.values[path].kind == 0 && path != "DAG_RUN_WORK_DIR" {
			return meaning{x: w.named(path), owned: true}
		}
	}
	return meaning{owned: true}
}

// ofStep translates `${id.output.key}` and the like; ok reports whether id is a step.
func (w *workflow) ofStep(id, path string) (string, bool) {
	field, rest, _ := strings.Cut(path, ".")
	if !slices.Contains([]string{"output", "outputs", "stdout", "stderr", "exit_code", "exitCode"}, field) {
		return "", false
	}
	if v, there := w.values[id+"."+field]; there && rest != "" {
		return w.within(v, rest), true
	}
	if key, deeper, isDeeper := strings.Cut(rest, "."); isDeeper {
		if v, there := w.values[id+"."+field+"."+key]; there {
			return w.within(v, deeper), true
		}
	}
	return "", w.ofStepNamed(id)
}

// named translates a name without dots; "" if only a shell has its value.
func (w *workflow) named(name string) string {
	if x, there := w.builtIn()[name]; there && w.values[name].kind == 0 {
		switch name {
		case "DAG_RUN_ARTIFACTS_DIR":
			w.used[artifacts] = true
		case "DAG_RUN_LOG_FILE":
			w.writesLog(w.Map, "steps")
		}
		return x
	}
	v, there := w.values[name]
	if !there || v.kind == ofSecret || v.kind == ofShell || v.kind == ofCall {
		return ""
	}
	w.used[name] = true
	return w.held(v)
}

// held returns the expression for a value; "" if its step need not have run yet. Handlers may run before a step stored its value.
func (w *workflow) held(v value) string {
	own := v.by != nil && v.by == w.current // which its condition for a repetition may name
	if v.by != nil && w.current != nil && w.handles == "" && !own && !w.current.follows(v.by) {
		return ""
	}
	if v.kind == ofOutput && (w.handles != "" || own) {
		return "(this." + v.as + " || '')"
	}
	if v.kind == ofConst {
		return v.as
	}
	return namedAs(v.as)
}

// within returns the expression for a part of a JSON value.
func (w *workflow) within(v value, path string) string {
	if !jsonPath().MatchString(path) {
		return ""
	}
	switch {
	case v.kind == ofCall:
		return w.ofResult(v, path)
	case w.held(v) == "":
	case v.kind == ofItem:
		return v.as + "." + path
	case v.decoded && w.handles == "":
		return w.held(v) + "." + path
	case v.decoded:
		return "(this." + v.as + " ? " + v.as + "." + path + " : '')"
	case v.kind == ofOutput && w.handles != "":
		return "(this." + v.as + " ? JSON.parse(" + v.as + ")." + path + " : '')"
	case v.kind == ofOutput || v.kind == ofParam || v.kind == ofEnv || v.kind == ofConst:
		if v.kind == ofEnv {
			w.used[v.as] = true
		}
		return "JSON.parse(" + w.held(v) + ")." + path
	}
	return ""
}

var jsonPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*|\[[0-9]+\])*$`)
})

// reader is the kind of program that reads a text.
type reader int

const (
	shellReader   reader = iota + 1 // a POSIX shell
	programReader                   // another program, for which `${` means something else or nothing
)

// command translates a text that a shell or another program reads. References that Dagu replaces become expressions; the rest is unchanged.
func (w *workflow) command(m *param.Map, key, text string, by reader) string {
	var b strings.Builder
	last := 0
	safe := by == shellReader && !strings.ContainsAny(text, `'\`) && !strings.Contains(text, "<<")
	for _, at := range reference().FindAllStringSubmatchIndex(text, -1) {
		before := text[last:at[0]]
		last = at[1]
		whole, group := text[at[0]:at[1]], at[2:4]
		if group[0] < 0 {
			group = at[4:6]
		}
		inner := text[group[0]:group[1]]
		if isEscaped(text[:at[0]]) && isScoped(inner) { // Dagu removes this backslash
			b.WriteString(literal(strings.TrimSuffix(before, `\`) + whole))
			continue
		}
		b.WriteString(literal(before))
		b.WriteString(w.inCommand(m, key, use{whole: whole, inner: inner, before: text[:at[0]], after: text[at[1]:], by: by, safe: safe}))
	}
	b.WriteString(literal(text[last:]))
	if w.current != nil {
		w.mentioned(m, key, text)
	}
	return b.String()
}

// withinDoubleQuotes translates a text that Dagu reads itself, and that is between double quotes of a shell here: a reference that Dagu keeps
// must not be one for the shell.
func (w *workflow) withinDoubleQuotes(m *param.Map, key, text string) string {
	w.quoting = true
	defer func() { w.quoting = false }()
	return w.command(m, key, text, shellReader)
}

// mentioned gives a command the variables of Dagu that it names without a `$`, as in os.environ["DAG_RUN_ID"].
func (w *workflow) mentioned(m *param.Map, key, text string) {
	for _, name := range managed().FindAllString(text, -1) {
		w.variable(m, key, name, name)
	}
	rest := reference().ReplaceAllStringFunc(text, func(found string) string {
		if strings.ContainsAny(found, ".") {
			return ""
		}
		return found
	})
	for _, word := range word().FindAllString(rest, -1) {
		if w.values[word].kind == ofCall && !w.hidden(word) {
			w.refuse(m, key, "use `${"+word+".outputs.NAME}`", "the whole result of a called workflow has no counterpart: %s", word)
		}
	}
}

var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`) })

var managed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(DAG_NAME|DAG_(RUN|WIKI|DOCS|PARAMS|WAITING)_[A-Z_]+|DAGU_(PARAMS_JSON|EXECUTABLE|HOME|OUTPUT_FILE)|WEBHOOK_[A-Z]+)\b`)
})

// use is a reference in a command.
type use struct {
	whole, inner, before, after string
	by                          reader
	safe                        bool // `$NAME` is the same as `${NAME}` in the whole text
}

func (w *workflow) inCommand(m *param.Map, key string, u use) string {
	quoted := u.by == shellReader && inSingleQuotes(u.before)
	if isEscaped(u.before) && !w.ofOutput(u.inner) {
		return literal(u.whole)
	}
	if w.quoting && w.keptByQuotes(u.before+u.whole+u.after, len(u.before), len(u.before)+len(u.whole)) {
		return `\` + literal(u.whole)
	}
	_, err := strconv.Atoi(u.inner)
	braced := strings.HasPrefix(u.whole, "${")
	if w.quoting && w.keepsName(u.inner) && w.values[u.inner].kind == 0 { // unless the machine has it
		return w.variable(m, key, u.inner, "${"+u.inner+"-"+strings.NewReplacer("$", `\$`, "}", `\}`).Replace(u.whole)+"}")
	}
	if !braced && err != nil { // a shell's variable
		return w.variable(m, key, u.inner, u.whole)
	}
	switch is := w.meaning(u.inner); {
	case is.kept && w.quoting:
		w.keptText(m, key, u.whole)
		return `\` + literal(u.whole)
	case is.kept:
		w.keptText(m, key, u.whole)
		return literal(u.whole)
	case is.owned && is.x != "" && w.quoting:
		return "${" + strings.ReplaceAll(is.x, `'\x24\x7bparams.`, `'\\\x24\x7bparams.`) + "}"
	case is.owned && is.x != "" && (err != nil || !quoted):
		if name := u.inner[strings.LastIndex(u.inner, ".")+1:]; !strings.Contains(u.before+u.after, "\n") && strings.Contains(text1(w.env, name)+text1(w.params.Map(name), "default"), "\n") {
			w.refuse(m, key, "write `$"+name+"`", "a value of several lines cannot be a part of a command of one line: %s", u.whole)
		}
		return "${" + is.x + "}"
	case !is.owned || err == nil:
	case strings.HasPrefix(u.inner, "env.") && identifier().MatchString(u.inner[4:]) && u.by == shellReader:
		return w.ofMachine(m, u.inner[4:], key, quoted)
	case workFolder(u.inner) && u.by == shellReader && w.current != nil:
		return inShell(w.variable(m, key, "DAG_RUN_WORK_DIR", "${DAG_RUN_WORK_DIR}"), quoted)
	case (quoted || u.by == programReader) && !w.known(u.inner):
	default:
		w.refuse(m, key, "write the value itself, or let a command find it out and store it with `_store`", "nothing stands for %s", u.whole)
	}
	if identifier().MatchString(u.inner) {
		if text := w.variable(m, key, u.inner, u.whole); !u.safe || startsWord(u.after) {
			return text
		}
		return "$" + u.inner
	}
	return literal(u.whole)
}

// workFolder reports whether a reference is the folder of the run.
func workFolder(inner string) bool { return strings.TrimPrefix(inner, "context.") == "paths.work_dir" }

// inShell returns a variable of a shell, for the inside of single quotes if quoted is true.
func inShell(variable string, quoted bool) string {
	if quoted {
		return `'"` + variable + `"'`
	}
	return variable
}

// ofMachine returns `${env.NAME}` for a variable of the machine. Dagu leaves the text as it is if there is none: a shell fails with it, unless
// it is between single quotes or the shell only computes the value.
func (w *workflow) ofMachine(m *param.Map, name, key string, quoted bool) string {
	text := "${" + name + "}"
	if v := w.values[name]; v.kind == 0 && name != "PATH" && name != "HOME" && (w.current == nil || !w.entries(w.current.Map).Has(name)) {
		switch runs := slices.Contains([]string{"run", "command", "script"}, key); {
		case runs && !quoted:
			text = "${" + name + "?it is not set}"
		default:
			text = "${" + name + `-\${env.` + name + `\}}`
		}
	}
	return inShell(w.variable(m, key, name, text), quoted)
}

// keptText notes that a reference stays as it is.
func (w *workflow) keptText(m *param.Map, key, whole string) {
	w.note(m, key, "correct the name, if it should have a value", false, "nothing provides %s: it stays in the text, as in Dagu", whole)
}

// plain reports whether no shell is needed to compute a reference.
func (is meaning) plain() bool { return is.x != "" || is.kept }

// keeps reports whether Dagu leaves a reference without a value as it is. It does so with references to its own namespaces whose name is
// unknown or not visible in the step.
func (w *workflow) keeps(inner string) bool {
	if !dotted().MatchString(inner) {
		return false
	}
	root, rest, _ := strings.Cut(inner, ".")
	root, _, _ = strings.Cut(root, "[")
	if w.values[root].kind != 0 || w.ofStepNamed(root) {
		return w.today && w.hidden(root)
	}
	parts := strings.Split(rest, ".")
	switch root {
	case "consts":
		return true
	case "params": // a caller may give a parameter that is not declared
		return !w.inner && w.values[inner].kind == 0
	case "steps":
		return true
	case "foreach":
		return w.current == nil || w.current.within == nil && !w.current.Has("foreach")
	case "env":
		return len(parts) > 1
	case "context", "dag", "run", "attempt", "step", "trigger", "paths", "profile", "pushback":
		return w.keepsContext(strings.TrimPrefix(inner, "context."))
	}
	return w.today
}

// hidden reports whether a name is that of a step, or of the output of one, that does not come before the current step.
func (w *workflow) hidden(name string) bool {
	of := w.values[name].by
	if w.values[name].kind == 0 {
		of = stepNamed(w.every, name)
	}
	return of != nil && w.hiddenStep(of)
}

func (w *workflow) hiddenStep(of *step) bool {
	return w.current != nil && w.handles == "" && of != w.current && !w.current.follows(of)
}

// keepsName reports whether a text that no shell reads keeps `${NAME}`: Dagu has no such variable, or it is the output of a step that does not
// come before.
func (w *workflow) keepsName(name string) bool {
	if !w.today || !identifier().MatchString(name) || managed().MatchString(name) || fromMachine(name) {
		return false
	}
	return w.values[name].kind == 0 && (w.current == nil || !w.entries(w.current.Map).Has(name)) || w.hidden(name)
}

// fromMachine reports whether Dagu passes on a variable of the machine.
func fromMachine(name string) bool {
	known := strings.Fields("PATH HOME USER SHELL TMPDIR TERM EDITOR VISUAL LANG TZ LD_LIBRARY_PATH XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME " +
		"DOCKER_HOST DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION PWD")
	return slices.Contains(known, name) || slices.ContainsFunc([]string{"DAG_", "DAGU_", "LC_", "KUBERNETES_"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// keepsContext does so for a value of the run.
func (w *workflow) keepsContext(field string) bool {
	switch field {
	case "run.status":
		return w.handles == ""
	case "step.id":
		return w.current != nil
	case "run.root_name", "run.root_id":
		return !w.inner
	case "trigger.actor", "profile.name", "profile.resolved_at", "pushback.iteration", "pushback.previous_stdout_file":
		return true
	case "dag.name", "run.id", "run.scheduled_at", "run.started_at", "attempt.id", "attempt.started_at", "step.name", "trigger.type", "paths.log_file", "paths.work_dir",
		"paths.artifacts_dir", "paths.step_output_file", "paths.wiki_dir", "paths.docs_dir":
		return false
	case "paths.step_stdout_file", "paths.step_stderr_file":
		return w.handles != ""
	}
	return true
}

// isScoped reports whether a dotted name begins with a namespace of Dagu.
func isScoped(inner string) bool {
	name, _, isDotted := strings.Cut(inner, ".")
	return isDotted && slices.Contains([]string{"params", "consts", "env", "steps", "foreach", "context"}, name)
}

// ofOutput reports whether a dotted name is the output of a step, which Dagu replaces even after a backslash.
func (w *workflow) ofOutput(inner string) bool {
	return strings.Contains(inner, ".") && w.values[inner].kind == ofOutput
}

// known reports whether a dotted name begins with a namespace or a name of the workflow.
func (w *workflow) known(inner string) bool {
	name, _, _ := strings.Cut(inner, ".")
	if isScoped(inner) || w.values[name].kind != 0 {
		return true
	}
	return w.ofStepNamed(name)
}

// variable returns a reference to an environment variable. If Dagu sets the variable, the step gets it.
func (w *workflow) variable(m *param.Map, key, name, whole string) string {
	_, there := w.builtIn()[name]
	switch {
	case w.values[name].kind != 0 || w.current == nil:
	case name == outputFile && w.current.writesOutputs():
	case w.unavailable(name) && !there:
		w.refuse(m, key, "write to a file, or read the log with `zerodag log`", "nothing stands for %s", whole)
	case there:
		if name == "DAG_RUN_LOG_FILE" {
			w.writesLog(m, key)
		}
		w.current.needs(name)
	}
	return literal(whole)
}

// literal escapes a text: `${` would begin an expression, and `$$` would become `$`.
func literal(text string) string {
	text = strings.ReplaceAll(text, "$$", "$$$$")
	return strings.ReplaceAll(text, "${", `${'$\x7b'}`)
}

// inSingleQuotes reports whether what follows a text of a shell is between single quotes.
func inSingleQuotes(text string) bool {
	single, double, escaped := false, false, false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && !single:
			escaped = true
		case r == '\'' && !double:
			single = !single
		case r == '"' && !single:
			double = !double
		}
	}
	return single
}

// isEscaped reports whether a text ends with a backslash that counts.
func isEscaped(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

func startsWord(text string) bool { return text != "" && identifier().MatchString("_"+text[:1]) }

// keptByQuotes reports whether Dagu keeps a variable in a text that no shell reads because it is between single quotes. It replaces dotted
// names even there. A quote after `$` or `}` opens nothing.
func (w *workflow) keptByQuotes(text string, begin, end int) bool {
	if !w.today || strings.Contains(text[begin:end], ".") {
		return false
	}
	within := false
	for i := range begin {
		switch {
		case text[i] != '\'' || isEscaped(text[:i]):
		case within:
			within = false
		default:
			within = i == 0 || text[i-1] != '$' && text[i-1] != '}'
		}
	}
	for i := end; within && i < len(text); i++ {
		if text[i] == '\'' && !isEscaped(text[:i]) {
			return true
		}
	}
	return false
}

// plain translates a text that no shell reads.
func (w *workflow) plain(m *param.Map, key, text string) string {
	var b strings.Builder
	last := 0
	for _, at := range reference().FindAllStringSubmatchIndex(text, -1) {
		before := text[last:at[0]]
		last = at[1]
		whole, inner := text[at[0]:at[1]], strings.Trim(text[at[0]+1:at[1]], "{}")
		if isEscaped(text[:at[0]]) {
			b.WriteString(literal(strings.TrimSuffix(before, `\`) + whole))
			continue
		}
		b.WriteString(literal(before))
		switch is := w.meaning(inner); {
		case w.keptByQuotes(text, at[0], at[1]):
			b.WriteString(literal(whole))
		case is.x != "":
			b.WriteString("${" + is.x + "}")
		case is.kept, key != "env" && w.keepsName(inner) && w.values[inner].kind != ofSecret:
			w.keptText(m, key, whole)
			b.WriteString(literal(whole))
		case w.values[strings.TrimPrefix(inner, "env.")].kind == ofSecret:
			b.WriteString("${secret:" + strings.TrimPrefix(inner, "env.") + "}")
		case !strings.HasPrefix(whole, "${") && inner[0] <= '9': // $5
			b.WriteString(whole)
		default:
			w.refuse(m, key, "write the value, or give it as a parameter", "nothing stands for %s", whole)
		}
	}
	return b.String() + literal(text[last:])
}

// isPlain reports whether expressions can compute a text without a shell.
func (w *workflow) isPlain(text string) bool {
	for _, at := range reference().FindAllStringIndex(text, -1) {
		inner := strings.Trim(text[at[0]+1:at[1]], "{}")
		if !isEscaped(text[:at[0]]) && !w.keptByQuotes(text, at[0], at[1]) && !w.meaning(inner).plain() && w.values[strings.TrimPrefix(inner, "env.")].kind != ofSecret && !(text[at[0]+1] != '{' && inner[0] <= '9') {
			return false
		}
	}
	return !strings.Contains(reference().ReplaceAllString(text, ""), "${")
}

// exported returns a shell line that sets a variable. Commands in the text run.
func (w *workflow) exported(m *param.Map, name, text string) string {
	text = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
	return "export " + name + "=\"" + w.withinDoubleQuotes(m, name, text) + "\"\n"
}

// script returns a JavaScript expression for a text with references.
func (w *workflow) script(m *param.Map, key, text string) string {
	var parts []string
	last := 0
	part := func(s string) {
		if s != "" {
			parts = append(parts, quotedScript(s))
		}
	}
	for _, at := range reference().FindAllStringSubmatchIndex(text, -1) {
		inner := strings.Trim(text[at[0]+1:at[1]], "{}")
		is := w.meaning(inner)
		x := is.x
		switch {
		case w.keptByQuotes(text, at[0], at[1]):
			x = quotedScript(text[at[0]:at[1]])
		case is.kept, x == "" && w.keepsName(inner):
			w.keptText(m, key, text[at[0]:at[1]])
			x = quotedScript(text[at[0]:at[1]])
		case x == "":
			w.refuse(m, key, "compare parameters, outputs of steps, or what a command prints", "nothing stands for %s in a condition", text[at[0]:at[1]])
			x = "''"
		}
		part(text[last:at[0]])
		parts = append(parts, x)
		last = at[1]
	}
	part(text[last:])
	switch len(parts) {
	case 0:
		return "''"
	case 1:
		return parts[0]
	}
	return "'' + " + strings.Join(parts, " + ")
}

// quotedScript returns a JavaScript string literal. A `}` would end the expression of a workflow file, a `$` could begin another one.
func quotedScript(text string) string {
	r := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "{", `\x7b`, "}", `\x7d`, "$", `\x24`, "\u2028", `\u2028`, "\u2029", `\u2029`)
	return "'" + r.Replace(text) + "'"
}

// fits returns the condition that a text equals expected, or matches it if expected is "re:...". If lines is true,
// the text may have several lines, and it is enough that one of them fits.
func (w *workflow) fits(m *param.Map, text, expected string, lines bool) string {
	if pattern, isPattern := strings.CutPrefix(expected, "re:"); isPattern {
		flags := ""
		if rest, there := strings.CutPrefix(pattern, "(?i)"); there {
			pattern, flags = rest, "i"
		}
		if foreignPattern().MatchString(pattern) {
			w.refuse(m, "preconditions", "write a pattern that JavaScript knows", "a pattern is not taken over: %s", pattern)
		}
		if lines {
			flags += "m"
		}
		if flags != "" {
			flags = ", '" + flags + "'"
		}
		return "new RegExp(" + quotedScript(pattern) + flags + ").test(" + text + ")"
	}
	if lines {
		if !identifier().MatchString(text) && !strings.HasPrefix(text, "(this.") {
			text = "('' + " + text + ")"
		}
		return text + `.split('\n').includes(` + quotedScript(expected) + ")"
	}
	return text + " == " + quotedScript(expected)
}

// foreignPattern matches parts of Go's regular expressions that JavaScript reads otherwise.
var foreignPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\(\?[^:]|\[\[:|\\[AzpPQEC]`)
})

// severalLines reports whether a text may have several lines when its references are replaced.
func (w *workflow) severalLines(text string) bool {
	for _, found := range reference().FindAllStringSubmatch(text, -1) {
		inner := found[1] + found[2]
		name, _, _ := strings.Cut(inner, ".")
		if w.values[inner].kind == ofOutput || w.values[name].kind == ofOutput || w.ofStepNamed(name) {
			return true
		}
	}
	return strings.Contains(strings.TrimSpace(text), "\n")
}

func (w *workflow) ofStepNamed(id string) bool {
	return slices.ContainsFunc(w.every, func(s *step) bool { return s.id == id || s.called == id })
}

// asCommand returns the command of a text in backticks or `$(...)`, and reports whether it is one.
func asCommand(text string) (string, bool) {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "`")
	if !ok {
		if inner, ok = strings.CutPrefix(text, "$("); ok {
			return strings.CutSuffix(inner, ")")
		}
		return "", false
	}
	return strings.CutSuffix(inner, "`")
}

// shellWord quotes a word for a shell.
func shellWord(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
