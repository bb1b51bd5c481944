package dagu

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// declare reads the parts of the workflow that its callers need.
func (w *workflow) declare() {
	w.today = w.release == Today || w.release == ByKeys && w.writtenToday()
	w.looked(w.Map, topKeys(), "")
	w.placed(w.Map)
	if v, there := w.Map.Get("container"); there && text1(w.Map.Map("container"), "image") == "" && v != nil {
		w.refuse(w.Map, "container", "name an image", "commands do not run in a container that is there")
	}
	w.defaults = w.Map.Map("defaults")
	w.parameters()
}

// translate makes the whole workflow file.
func (w *workflow) translate() *param.Map {
	if kind := text1(w.Map, "type"); kind != "" && kind != "chain" && kind != "graph" {
		w.refuse(w.Map, "type", "write its steps as tasks", "a workflow of type %s is not taken over", kind)
	}
	w.constants()
	w.secret()
	w.environment()
	steps := w.steps()
	on := w.handlerSteps()
	if !w.runsAnything(steps) {
		w.refuse(w.Map, "steps", "write steps", "the workflow has no steps")
	}
	tasks := param.New()
	w.partial = w.ignoring(steps)
	w.handlers(on, tasks) // which may need a task of the body
	body := w.body(steps, on)

	out := param.New("zerodag", int64(1))
	set := func(key string, v param.Value) {
		if m, isMap := v.(*param.Map); v == nil || isMap && m.Len() == 0 {
			return
		}
		out.Set(key, v)
	}
	set("description", w.description())
	set("tags", w.tags())
	set("schedule", w.schedule())
	set("params", w.params)
	set("_export", w.export(steps))
	set("_env_files", w.dotenv())
	set("_env", w.variables())
	if n := w.whole(w.Map, "timeout_sec"); n > 0 {
		set("_timeout", strconv.FormatInt(n, 10)+"s")
	}
	set("concurrency", w.concurrency())
	set("_pool", w.queue())
	if m := w.Map.Map("retry_policy"); m != nil {
		set("_retry", w.retry(m, ""))
	}
	if w.refusal != "" {
		tasks, body = w.stopped(tasks), w.stopped(body)
	}
	for key, v := range tasks.All() {
		out.Set(key, v)
	}
	for key, v := range body.All() {
		out.Set(key, v)
	}
	inline(out, expressionsOf(out.Map("_export")))
	return out
}

func (w *workflow) runsAnything(steps []*step) bool { return len(flattened(steps)) > 0 }

// concurrency is how many runs and steps there may be at once; nil for any number.
func (w *workflow) concurrency() *param.Map {
	out := param.New()
	if n := w.whole(w.Map, "max_active_runs"); n > 0 {
		out.Set("attempts", n)
		out.Set("on_limit", "wait")
	}
	if n := w.whole(w.Map, "max_active_steps"); n > 0 {
		out.Set("tasks", n)
	}
	return out
}

// queue is the pool that stands for a queue, whose size is said to the server there, too; nil for none. A workflow that another one of the file
// calls runs with the slots of that one.
func (w *workflow) queue() param.Value {
	v, there := w.Get("queue")
	name := textOf(v)
	if !there || name == "" {
		return nil
	}
	pools, err := keys.ParsePools(name)
	switch {
	case err != nil:
		w.lost(w.Map, "queue", "write `_pool` with a name of letters, digits, `-`, `_` and `.`", "a pool cannot have the name of the queue: %s", name)
		return nil
	case w.inner:
		w.note(w.Map, "queue", "remove the `_pool` of the workflow that calls it where each call is to wait by itself", false, "queue %s is not asked for: it runs with the slots of the workflow that calls it", name)
		return nil
	}
	w.note(w.Map, "queue", "make it before the first push, by `zerodag pool set "+name+" N` with `max_concurrency` of the queue for N", false, "queue %s is the pool %s", name, name)
	return pools[0].Name
}

// whole is a number of a key; 0 where there is none.
func (w *workflow) whole(m *param.Map, key string) int64 {
	v, there := m.Get(key)
	if !there || v == nil {
		return 0
	}
	n, err := param.AsWhole(key, v)
	if err != nil {
		w.lost(m, key, "write a number", "%s is no whole number: %s", key, param.Text(v))
	}
	return n
}

// dotenv are the files of variables, which may all be missing there; nil for none.
func (w *workflow) dotenv() param.Value {
	v, _ := w.Get("dotenv")
	var files []param.Value
	for _, v := range keys.ListOf(v) {
		name := textOf(v)
		if name == "" {
			continue
		}
		if _, err := keys.ParseEnvFiles(name); err != nil {
			w.lost(w.Map, "dotenv", "give the file a name without a dot, in the project, and write it into `_env_files`; what only your machine has: `zerodag run --env-file "+name+"`",
				"%s is not taken over: a push takes no such file along", name)
			continue
		}
		files = append(files, strings.TrimSuffix(name, "?")+"?")
	}
	if files == nil {
		return nil
	}
	return files
}

// schedule turns cron patterns into a schedule.
func (w *workflow) schedule() param.Value {
	v, there := w.Get("schedule")
	if !there || v == nil {
		return nil
	}
	if m, isMap := v.(*param.Map); isMap {
		for _, key := range []string{"stop", "restart"} {
			if m.Has(key) {
				w.lost(m, key, "write `_timeout`, or `sla: {time: ..., fail: true}`", "a schedule does not %s what runs", key)
			}
		}
		v, _ = m.Get("start")
	}
	list, isList := v.([]param.Value)
	if !isList {
		list = []param.Value{v}
	}
	var patterns []string
	for _, e := range list {
		if m, isMap := e.(*param.Map); isMap {
			w.only(m, "cron", "kind", "expression", "at")
			e, _ = m.Get("cron")
			if e == nil {
				e, _ = m.Get("expression")
			}
			if e == nil {
				w.lost(w.Map, "schedule", "write `once>: 2026-01-31T07:00:00`", "a single time is another kind of schedule")
			}
		}
		if t := textOf(e); t != "" {
			patterns = append(patterns, t)
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	s := param.New("crontab>", strings.Join(patterns, " | "))
	window, policy := text1(w.Map, "catchup_window"), text1(w.Map, "overlap_policy")
	switch {
	case window == "":
		s.Set("catch_up", "none")
	case policy == "latest":
		s.Set("catch_up", "latest")
	default:
		if d, ok := param.ParseDuration(window); !ok || d <= 0 {
			w.lost(w.Map, "catchup_window", "write a duration such as 12h", "catchup_window is no duration: %s", window)
			break
		}
		s.Set("catch_up", "all")
		s.Set("skip_delayed_by", window)
	}
	if policy != "all" && window != "" {
		s.Set("skip_on_overtime", true)
	}
	if on, _ := w.Get("skip_if_successful"); on == true {
		s.Set("skip_if_successful", true)
	}
	if fault := w.impossible(s); fault != "" {
		w.lost(w.Map, "schedule", "write `schedule` by hand", "the schedule is not taken over: %s", fault)
		return nil
	}
	return s
}

// impossible returns why a push would refuse a schedule; "" if it would not.
func (w *workflow) impossible(schedule *param.Map) string {
	text := w.print(param.New("zerodag", int64(1), "schedule", schedule, "+task", param.New("echo>", "")))
	err := checked([]File{{"schedule.dig", text}})
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return schedulePlace().ReplaceAllString(line, "")
}

var schedulePlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^schedule\.dig:[0-9]+:[0-9]+: `) })

// parameters reads `params`, and adds a parameter for each nameless value that a caller in the file passes.
func (w *workflow) parameters() {
	w.declared()
	for i := 1; i <= w.handed; i++ {
		if name := "p" + strconv.Itoa(i); w.positional[i] == "" {
			w.positional[i] = name
			w.parameter(name, param.New("type", "string", "default", ""))
		}
	}
}

// declared reads `params`.
func (w *workflow) declared() {
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
				w.given(words(textOf(e)))
			}
		}
	case *param.Map:
		switch {
		case x.Has("schema"):
			w.schema(x)
		case text1(x, "type") == "object" && x.Map("properties") != nil:
			w.schema(w.made(param.New("schema", x), x))
		default:
			w.pairs(x)
		}
	default:
		w.given(words(textOf(x)))
	}
}

// schema reads parameters that a JSON Schema declares; `values` has defaults.
func (w *workflow) schema(m *param.Map) {
	of, values := m.Map("schema"), m.Map("values")
	if of == nil {
		w.refuse(m, "schema", "write its properties into `params`", "a schema in a separate file is not read")
		return
	}
	required := texts(of, "required")
	for name, v := range of.Map("properties").All() {
		rule := param.New("name", name)
		if p, isMap := v.(*param.Map); isMap {
			rule = w.made(param.Merge(rule, p), p)
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

func (w *workflow) pairs(m *param.Map) {
	for name, v := range m.All() {
		if list, isList := v.([]param.Value); isList {
			v = param.Text(list)
		} else if inner, isMap := v.(*param.Map); isMap {
			v = param.Text(inner)
		}
		w.parameter(name, param.New("type", "string", "default", textOf(v)))
	}
}

// given reads parameters in the form of a command line: NAME=VALUE, or a value for the next of $1, $2, ...
func (w *workflow) given(list []string) {
	for _, word := range list {
		name, text, isPair := strings.Cut(word, "=")
		w.positions++
		if !isPair || !identifier().MatchString(name) {
			name, text = "p"+strconv.Itoa(w.positions), word
			w.positional[w.positions] = name
			w.note(w.Map, "params", "give it a better name", false, "the nameless parameter %q is called %s", word, name)
		}
		w.parameter(name, param.New("type", "string", "default", text))
	}
}

// typed is a parameter with rules, which are those of JSON Schema there, too.
func (w *workflow) typed(m *param.Map) {
	rule := param.New()
	for key, v := range m.All() {
		switch key {
		case "name":
		case "min_length":
			rule.Set("minLength", v)
		case "max_length":
			rule.Set("maxLength", v)
		case "eval":
			rule.Set("default", textOf(v))
			rule.Set(key, true) // which the parameter is told by
		case "type", "enum", "minimum", "maximum", "pattern", "description", "required", "default", "minLength", "maxLength":
			rule.Set(key, v)
		default:
			w.lost(m, key, "write the rule in words of JSON Schema", "%s of a parameter is not known", key)
		}
	}
	w.parameter(text1(m, "name"), rule)
}

func (w *workflow) parameter(name string, rule *param.Map) {
	as := variable(name)
	if w.params.Has(as) && w.values["params."+name].kind == 0 {
		as = unique(w.taken, as)
	}
	w.taken[as] = true
	text := text1(rule, "default")
	dynamic := (rule.Has("eval") || !w.today) && (hasCommand(text) || reference().MatchString(text))
	rule = rule.Without("eval")
	switch {
	case dynamic && anyText(rule):
		w.found.Set(as, w.stored(as, backticks().ReplaceAllString(text, "$$($1)")))
		w.note(w.Map, "params", "write a plain default, if one will do", false, "a first task computes the default of %s: %s", name, text)
		rule.Set("default", "")
	case strings.Contains(text, "${") && !dynamic && anyText(rule):
		w.found.Set(as, "printf '%s=%s\\n' "+as+" "+literal(shellWord(text))+" >> \"$DIGDAG_STORE\"\n")
		rule.Set("default", "")
		w.note(w.Map, "params", "write the value", false, "the default of %s is text, as in Dagu since 2.7: %s", name, text)
	case dynamic || strings.Contains(text, "${"):
		w.refuse(w.Map, "params", "let a first task store it, with `_if: ${!this."+as+"}`, so that a value which is given wins", "the default of %s is not a plain value: %s", name, text)
		rule = rule.Without("default")
	}
	is := value{kind: ofParam, as: as, param: as}
	if !rule.Has("default") && text1(rule, "required") != "true" {
		is = value{kind: ofConst, as: "(this." + as + " || '')", param: as}
	}
	w.values[name], w.values["params."+name] = is, is
	if is.kind == ofConst { // Dagu keeps the text of the reference
		is.as = "(this." + as + " === undefined ? " + quotedScript("${params."+name+"}") + " : this." + as + ")"
		w.values["params."+name] = is
	}
	w.params.Set(as, rule)
}

// findsOut reports whether a command finds out a value: only releases before 2.7 ran it.
func (w *workflow) findsOut(text string) bool { return !w.today && hasCommand(text) }

// hasCommand reports whether a text has a command in backticks or `$(...)`.
func hasCommand(text string) bool {
	return backticks().MatchString(text) || strings.Contains(text, "$(")
}

// anyText says whether a parameter may be the empty text, which stands for a default that a command finds out.
func anyText(rule *param.Map) bool {
	for key, v := range rule.All() {
		if key != "default" && key != "description" && key != "required" && (key != "type" || v != "string") {
			return false
		}
	}
	return true
}

// stored are the lines of a script that find the value of a name and store it.
func (w *workflow) stored(name, shell string) string {
	return fmt.Sprintf("%s=\"%s\"\necho \"%s=$%s\" >> \"$DIGDAG_STORE\"\n", name, w.command(w.Map, "env", shell, shellReader), name, name)
}

// constants reads `consts`.
func (w *workflow) constants() {
	v, _ := w.Get("consts")
	for _, e := range keys.ListOf(v) {
		m, isMap := e.(*param.Map)
		if !isMap {
			w.refuse(w.Map, "consts", "write NAME: VALUE", "a constant has no name")
			continue
		}
		for name, v := range m.All() {
			w.values["consts."+name] = value{kind: ofConst, as: w.script(m, name, textOf(v))}
		}
	}
}

// words cuts a line as a shell does, as far as quotes go.
func words(line string) (list []string) {
	var b strings.Builder
	var quote rune
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && (r == ' ' || r == '\n' || r == '\t'):
			if b.Len() > 0 {
				list = append(list, b.String())
			}
			b.Reset()
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() > 0 {
		list = append(list, b.String())
	}
	return list
}

// secret reads the variables that come from a store of secrets.
func (w *workflow) secret() {
	v, _ := w.Get("secrets")
	for _, e := range keys.ListOf(v) {
		m, isMap := e.(*param.Map)
		name := text1(m, "name")
		if !isMap || !identifier().MatchString(name) {
			w.refuse(w.Map, "secrets", "write `_env: {NAME: \"${secret:NAME}\"}`", "a secret without a name is not taken over")
			continue
		}
		w.values[name] = value{kind: ofSecret, as: name}
		w.secrets.Set(name, "${secret:"+name+"}")
		w.note(m, "name", "set it by `zerodag secrets --project PROJECT --set "+name+"`", false, "the secret %s comes from %s %s", name, text1(m, "provider"), text1(m, "key"))
	}
}

// entries are the pairs of `env`, in order.
func (w *workflow) entries(m *param.Map) *param.Map {
	out := param.New()
	v, _ := m.Get("env")
	list, isList := v.([]param.Value)
	if !isList {
		list = []param.Value{v}
	}
	for _, e := range list {
		switch x := e.(type) {
		case string:
			if name, text, isPair := strings.Cut(x, "="); isPair {
				out.Set(strings.TrimSpace(name), text)
			}
		case *param.Map:
			for name, v := range x.All() {
				out.Set(name, textOf(v))
			}
		}
	}
	return out
}

// expressionsOf are the exported values that are expressions, each with those before it written out.
func expressionsOf(export *param.Map) map[string]string {
	known := map[string]string{}
	for name, v := range export.All() {
		if text, isText := v.(string); isText && strings.Contains(text, "${") {
			known["${"+name+"}"] = written(text, known)
		}
	}
	return known
}

// written writes out the references to known expressions in a text.
func written(text string, known map[string]string) string {
	for _, reference := range slices.Sorted(maps.Keys(known)) {
		text = strings.ReplaceAll(text, reference, known[reference])
	}
	return text
}

// inline writes out expressions in the `_env` of each task: within a mapping, an exported expression stays as text.
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
				m.Set(name, written(text, known))
			}
		}
	}
}

// environment reads the variables of all commands. Plain ones become `_env`, a first task finds out the output of commands, and a line
// of shell sets values that use other variables of the machine.
func (w *workflow) environment() {
	for name, v := range w.entries(w.Map).All() {
		text := textOf(v)
		as := variable(name)
		if w.params.Has(as) {
			as = "env_" + as
		}
		switch {
		case !identifier().MatchString(name):
			w.refuse(w.Map, "env", "give the variable a name of letters, digits and `_`", "a variable is called %s", name)
		case w.findsOut(text):
			w.finders = append(w.finders, w.stored(as, backticks().ReplaceAllString(text, "$$($1)")))
			w.values[name] = value{kind: ofOutput, as: as}
			w.note(w.Map, "env", "write the value, or let a task store it", false, "a command computes %s, as in Dagu before 2.7", name)
		case w.isPlain(text):
			v := w.plain(w.Map, "env", text)
			w.env.Set(name, v)
			kind := ofEnv
			if strings.Contains(v, "${secret:") {
				kind = ofSecret
			}
			w.values[name] = value{kind: kind, as: as}
		default:
			w.exports = append(w.exports, w.exported(w.Map, name, text))
			w.values[name] = value{kind: ofShell, as: as}
			w.note(w.Map, "env", "check the value on that machine", false, "%s uses variables of the machine that runs the commands: %s", name, text)
		}
	}
}

// export are the parameters of all tasks: the shell as Dagu calls it, and variables that expressions name.
func (w *workflow) export(steps []*step) *param.Map {
	out := param.New()
	shell, _ := w.shell(w.Map, false)
	if shell == nil {
		shell = []param.Value{"/bin/sh", "-e"}
	}
	out.Set("sh", param.New("shell", shell))
	if c := w.Map.Map("container"); c != nil {
		if docker, env := w.docker(c); docker != nil {
			out.Set("docker", docker)
			for name, v := range env.All() {
				w.env.Set(name, v)
			}
			for _, s := range w.every {
				s.changed = true
			}
			w.note(w.Map, "container", "write what commands share into files of the project", false, "each command has its own container instead of one for the whole run")
		}
	}
	if w.used[artifacts] {
		out.Set(artifacts, w.artifactsIn())
	}
	for name, v := range w.env.All() {
		if as := w.values[name].as; w.used[name] && w.values[name].kind == ofEnv && name != "PATH" {
			out.Set(as, v)
		}
	}
	for _, s := range flattened(steps) {
		for _, name := range s.stores {
			if s.mayBeAbsent() {
				out.Set(name, s.withoutValue(name))
			}
		}
	}
	return out
}

// variables returns the `_env` of all commands. Parameters and stored values are variables without it.
func (w *workflow) variables() *param.Map {
	out := param.New()
	for _, m := range []*param.Map{w.env, w.secrets} {
		for name, v := range m.All() {
			out.Set(name, v)
		}
	}
	if w.used[artifacts] {
		out.Set("DAG_RUN_ARTIFACTS_DIR", w.artifactsIn()) // what is exported is not evaluated within _env
	}
	return out
}

// handlerSteps returns the steps of `handler_on` by handler.
func (w *workflow) handlerSteps() map[string]*step {
	steps := map[string]*step{}
	on := w.Map.Map("handler_on")
	for name := range on.All() {
		m := on.Map(name)
		if m == nil {
			m = w.made(param.New("command", text1(on, name)), on)
		}
		steps[name] = w.stepOf(m, name, 1, map[string]bool{})
		steps[name].name = name
		steps[name].called = name
	}
	return steps
}

// handlers are the tasks of `handler_on` that are keys of the file.
func (w *workflow) handlers(steps map[string]*step, out *param.Map) {
	on := w.Map.Map("handler_on")
	for name := range on.All() {
		key := map[string]string{"failure": "_error", "exit": "_finally", "abort": "_cancel", "cancel": "_cancel"}[name]
		switch {
		case name == "init", name == "success", name == "failure" && w.apart(steps):
		case key == "":
			steps[name].refusal = "there is no handler for " + name
			w.lost(on, name, "there is nothing that waits for people", "there is no handler for %s", name)
		default:
			out.Set(key, w.handler(steps[name], name))
		}
	}
}

// handler returns the task of a handler.
func (w *workflow) handler(s *step, name string) *param.Map {
	w.handles = name
	w.on(s, s.outputs)
	w.on(s, func() { s.own, s.checks = w.conditions(s.Map, "on_"+name) })
	task := s.task()
	w.handles = ""
	return task
}

// body are the tasks: what comes first, the steps, and what comes after their success.
func (w *workflow) body(steps []*step, on map[string]*step) *param.Map {
	condition, checks := w.conditions(w.Map, "whole")
	only := func(task *param.Map) *param.Map {
		if condition == "" {
			return task
		}
		return param.Merge(param.New("_if", "${"+condition+"}"), task)
	}
	var init *param.Map
	if on["init"] != nil {
		init = only(w.handler(on["init"], "init"))
	}
	tasks, first, last := only(w.group(steps)), param.New(), param.New()
	if on["success"] != nil {
		task := w.handler(on["success"], "success")
		if none := w.noSuccess(steps); none != "" {
			task = param.New("_if", "${!("+none+")}", "+run", task)
		}
		last.Set("+success", only(task))
	}
	if w.partial != "" {
		last.Set("+"+unique(taskNames(steps), "ignored"), only(w.partly(w.partial)))
	}
	if on["failure"] != nil && w.noSuccess(steps) != "" {
		w.note(w.Map, "handler_on", "write the handler into the steps", false, "the failure handler does not run if all errors were ignored; in Dagu it runs if no step succeeded")
	}
	if w.used[artifacts] {
		script := "mkdir -p \"$DAG_RUN_ARTIFACTS_DIR\""
		if w.used[runLog] {
			script += "\necho " + literal(shellWord("run of "+w.called())) + " >> \"$DAG_RUN_ARTIFACTS_DIR" + runLog + "\"\n"
		}
		first.Set("+artifacts", param.New("sh>", script))
	}
	if w.secrets.Len() > 0 { // a missing one ends the run before its first step
		first.Set("+secrets", param.New("sh>", ":"))
	}
	if n := w.whole(w.Map, "delay_sec"); n > 0 {
		first.Set("+delay", param.New("wait>", strconv.FormatInt(n, 10)+"s"))
	}
	for name, script := range w.found.All() { // a value that was given wins
		first.Set("+param_"+name, param.New("_if", "${!this."+name+"}", "sh>", script))
	}
	if len(w.finders)+w.found.Len() > 0 {
		w.outside(w.Map, "container", "a command that finds out a value")
	}
	if len(w.finders) > 0 {
		first.Set("+env", param.New("sh>", strings.Join(w.exports, "")+strings.Join(w.finders, "")))
	}
	for i, check := range checks {
		first.Set(fmt.Sprintf("+check%d", i+1), check)
	}
	if init != nil {
		first.Set("+init", init)
	}
	switch {
	case w.apart(on):
		tasks = param.New("+steps", param.Merge(param.New("_error", w.handler(on["failure"], "failure")), tasks))
	case first.Len()+last.Len() == 0 && (condition == "" || len(on) == 0): // handlers run although no step does
		return tasks
	case tasks.Has("_parallel") || condition != "" || clash(tasks, first) || clash(tasks, last):
		tasks = param.New("+steps", tasks)
	}
	return param.Merge(param.Merge(first, tasks), last)
}

// apart reports whether the failure handler belongs to the group of the steps: in Dagu it does not run if the init or success handler
// fails, or if the run only partially succeeds. The time limit of a workflow ends no group with an error, so such a workflow has the handler at its top.
func (w *workflow) apart(on map[string]*step) bool {
	return (on["success"] != nil || on["init"] != nil || w.partial != "") && on["failure"] != nil && !w.Map.Has("timeout_sec")
}

func taskNames(steps []*step) map[string]bool {
	taken := map[string]bool{}
	for _, s := range flattened(steps) {
		taken[s.name] = true
	}
	return taken
}

func clash(a, b *param.Map) bool { return slices.ContainsFunc(b.Keys(), a.Has) }
