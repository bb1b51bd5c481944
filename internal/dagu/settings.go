package dagu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// elsewhere are keys about what a server is told in another place, and what.
func elsewhere() map[string]string {
	return map[string]string{
		"hist_retention_days": "the server says how long attempts are kept", "hist_retention_runs": "the server says how long attempts are kept",
		"log_dir": "logs are kept by the server, and `zerodag log` shows them", "log_output": "logs are kept by the server, and `zerodag log` shows them",
		"max_output_size": "all values of a task have at most 64 KiB", "otel": "see the page about production of the server",
		"max_clean_up_time_sec": "write `grace` in `_timeout`", "restart_wait_sec": "nothing is restarted by a clock",
		"artifacts": "files are in a folder of the machine that runs the commands",
	}
}

// lostKeys are keys that nothing stands for, and what to do instead.
func lostKeys() map[string]string {
	return map[string]string{
		"smtp": "see `mail>` and the settings of the server for mail", "mail_on": "write an `_error` with `mail>` or `notify>`", "error_mail": "write an `_error` with `mail>` or `notify>`",
		"info_mail": "write a last task with `mail>`", "wait_mail": "there is nothing that waits for people", "webhook": "let the caller use PUT /api/attempts of the REST API",
		"worker_selector": "run the server where the commands are to run", "registry_auths": "log in to the registry where the commands run",
		"s3": "see `s3_copy>` and its relatives", "redis": "run a client of Redis as a command", "llm": "run a command that asks the model", "harness": "run the tool as a command",
		"harnesses": "run the tool as a command", "kubernetes": "run kubectl as a command", "run_config": "write `fixed: true` at parameters that nobody may change",
	}
}

// readElsewhere are the keys of a workflow that this package reads.
func (w *workflow) read() []string {
	return []string{"name", "description", "labels", "tags", "group", "type", "shell", "working_dir", "schedule", "skip_if_successful", "catchup_window", "overlap_policy", "env", "dotenv", "handler_on",
		"step_types", "steps", "timeout_sec", "delay_sec", "preconditions", "max_active_runs", "max_active_steps", "params", "retry_policy", "container", "secrets", "defaults", "ssh", "queue"}
}

// translate makes the whole workflow file.
func (w *workflow) translate() *param.Map {
	for _, key := range w.Keys() {
		switch remedy, other := elsewhere()[key], lostKeys()[key]; {
		case remedy != "":
			w.note(w.Map, key, remedy, false, "%s is not a matter of the workflow here", key)
		case other != "":
			w.lost(w.Map, key, other, "%s is not taken over", key)
		case !slices.Contains(w.read(), key):
			w.lost(w.Map, key, "look what it is for, and do it otherwise", "%s is not known", key)
		}
	}
	w.defaults = w.Map.Map("defaults")
	params := w.params()
	secrets := w.secrets()
	env, commands := w.env()
	steps := w.steps()
	body := w.body(steps, commands)

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
	set("params", params)
	set("_export", w.export(env, steps))
	set("_env_files", w.dotenv())
	set("_env", w.variables(params, env, secrets))
	if n := w.whole(w.Map, "timeout_sec"); n > 0 {
		set("_timeout", strconv.FormatInt(n, 10)+"s")
	}
	set("concurrency", w.concurrency())
	set("_pool", w.queue())
	if m := w.Map.Map("retry_policy"); m != nil {
		set("_retry", w.retry(m, ""))
	}
	w.handlers(set)
	for key, v := range body.All() {
		out.Set(key, v)
	}
	return out
}

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
	pools, err := dig.ParsePools(name)
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
	for _, v := range dig.ListOf(v) {
		name := textOf(v)
		if name == "" {
			continue
		}
		if _, err := dig.ParseEnvFiles(name); err != nil {
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
			e, _ = m.Get("cron")
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
	return s
}

// params are the parameters of a start.
func (w *workflow) params() *param.Map {
	out := param.New()
	v, _ := w.Get("params")
	switch x := v.(type) {
	case string:
		for _, word := range words(x) {
			w.param(out, w.Map, "params", word)
		}
	case []param.Value:
		for _, e := range x {
			if m, isMap := e.(*param.Map); isMap && m.Has("name") {
				w.typed(out, m)
			} else if isMap {
				w.pairs(out, m)
			} else {
				w.param(out, w.Map, "params", textOf(e))
			}
		}
	case *param.Map:
		if x.Has("schema") {
			w.lost(x, "schema", "write its rules into `params`", "a schema in a file of its own is not read")
			x = x.Map("values")
		}
		w.pairs(out, x)
	}
	return out
}

func (w *workflow) pairs(out, m *param.Map) {
	for name, v := range m.All() {
		w.declare(out, name, param.New("type", "string", "default", textOf(v)))
	}
}

// param is "NAME=VALUE", or a value in a place of its own.
func (w *workflow) param(out, m *param.Map, key, word string) {
	name, text, isPair := strings.Cut(word, "=")
	switch {
	case isPair:
		w.declare(out, strings.TrimSpace(name), param.New("type", "string", "default", strings.Trim(text, `"'`)))
	case identifier().MatchString(word):
		w.declare(out, word, param.New("type", "string", "default", ""))
	default:
		w.lost(m, key, "give the parameter a name, and write ${NAME} for $1", "a parameter has no name: %s", word)
	}
}

// typed is a parameter with rules, which are those of JSON Schema there, too.
func (w *workflow) typed(out, m *param.Map) {
	rule := param.New()
	for key, v := range m.All() {
		switch key {
		case "name":
		case "min_length":
			rule.Set("minLength", v)
		case "max_length":
			rule.Set("maxLength", v)
		case "type", "enum", "minimum", "maximum", "pattern", "description", "required", "default", "minLength", "maxLength":
			rule.Set(key, v)
		default:
			w.lost(m, key, "write the rule in words of JSON Schema", "%s of a parameter is not known", key)
		}
	}
	w.declare(out, text1(m, "name"), rule)
}

func (w *workflow) declare(out *param.Map, name string, rule *param.Map) {
	switch text := text1(rule, "default"); {
	case backticks().MatchString(text) && !strings.Contains(text, "${") && anyText(rule):
		w.found.Set(variable(name), w.stored(name, backticks().ReplaceAllString(text, "$$($1)")))
		rule.Set("default", "")
	case strings.Contains(text, "${") || strings.Contains(text, "`"):
		w.lost(w.Map, "params", "let a first task store it, with `_if: ${!this."+variable(name)+"}`, so that a value which is given wins", "the default of %s is not a plain value: %s", name, text)
		rule = rule.Without("default")
	}
	w.values[name] = value{ofParam, variable(name)}
	out.Set(variable(name), rule)
}

// anyText says whether a parameter may be the empty text, which stands for a default that a command finds out.
func anyText(rule *param.Map) bool {
	for key, v := range rule.All() {
		if key != "default" && key != "description" && (key != "type" || v != "string") {
			return false
		}
	}
	return true
}

// stored are the lines of a script that find the value of a name and store it.
func (w *workflow) stored(name, shell string) string {
	name = variable(name)
	return fmt.Sprintf("%s=\"%s\"\necho \"%s=$%s\" >> \"$DIGDAG_STORE\"\n", name, w.command(shell), name, name)
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

// secrets are variables of all commands.
func (w *workflow) secrets() *param.Map {
	out := param.New()
	list, _ := w.Get("secrets")
	all, _ := list.([]param.Value)
	for _, e := range all {
		m, isMap := e.(*param.Map)
		if !isMap || text1(m, "name") == "" {
			continue
		}
		name := text1(m, "name")
		w.values[name] = value{ofSecret, name}
		out.Set(name, "${secret:"+name+"}")
		w.note(m, "name", "set it by `zerodag secrets --project PROJECT --set "+name+"`", false, "the secret %s comes from %s %s", name, text1(m, "provider"), text1(m, "key"))
	}
	return out
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

// env are the variables of a workflow; commands are those that a command prints, for a first task.
func (w *workflow) env() (env *param.Map, commands []string) {
	env = param.New()
	for name, v := range w.entries(w.Map).All() {
		text, _ := v.(string)
		if backticks().MatchString(text) || strings.Contains(text, "$(") {
			w.values[name] = value{ofOutput, variable(name)}
			shell := backticks().ReplaceAllString(text, "$$($1)")
			commands = append(commands, w.stored(name, shell))
			continue
		}
		w.values[name] = value{ofEnv, variable(name)}
		env.Set(name, w.plain(w.Map, "env", w.dollars(text)))
	}
	return env, commands
}

// dollars writes `$NAME` of what is known as `${NAME}`, where no shell reads a text.
func (w *workflow) dollars(text string) string {
	return reference().ReplaceAllStringFunc(text, func(found string) string {
		if name := strings.TrimPrefix(found, "$"); identifier().MatchString(name) && w.values[name].kind != 0 {
			return "${" + name + "}"
		}
		return found
	})
}

// export are the parameters of all tasks: the shell as Dagu calls it, and variables that expressions name.
func (w *workflow) export(env *param.Map, steps []*step) *param.Map {
	out := param.New()
	if shell := w.shell(w.Map, "shell"); shell != nil {
		out.Set("sh", param.New("shell", shell))
	} else {
		out.Set("sh", param.New("shell", []param.Value{"/bin/sh", "-e"}))
	}
	if image := w.image(w.Map); image != "" {
		out.Set("docker", param.New("image", image))
	}
	if w.used[artifacts] {
		out.Set(artifacts, artifactsIn)
	}
	for name, v := range env.All() {
		if w.used[name] {
			out.Set(variable(name), v)
		}
	}
	for _, s := range steps {
		for _, name := range s.stores {
			if s.mayBeAbsent() {
				out.Set(name, "")
			}
		}
	}
	return out
}

// variables are those of all commands.
func (w *workflow) variables(params, env, secrets *param.Map) *param.Map {
	out := param.New()
	for name := range params.All() {
		if p := params.Map(name); p.Has("default") || p.Has("required") {
			out.Set(name, "${"+name+"}")
		} else {
			out.Set(name, "${typeof "+name+" === 'undefined' ? '' : "+name+"}")
		}
	}
	for _, m := range []*param.Map{env, secrets} {
		for name, v := range m.All() {
			out.Set(name, v)
		}
	}
	if w.used[artifacts] {
		out.Set("DAG_RUN_ARTIFACTS_DIR", artifactsIn) // what is exported is not evaluated within _env
	}
	return out
}

// handlers are the tasks of `handler_on` that are keys of the file.
func (w *workflow) handlers(set func(string, param.Value)) {
	on := w.Map.Map("handler_on")
	for name := range on.All() {
		key := map[string]string{"failure": "_error", "exit": "_finally", "abort": "_cancel"}[name]
		switch {
		case name == "init", name == "success":
		case key == "":
			w.lost(on, name, "there is nothing that waits for people", "there is no handler for %s", name)
		default:
			set(key, w.handler(on, name))
		}
	}
}

func (w *workflow) handler(on *param.Map, name string) *param.Map {
	s := &step{workflow: w, Map: w.merged(on.Map(name)), name: name}
	return s.task()
}

// body are the tasks: what comes first, the steps, and what comes after their success.
func (w *workflow) body(steps []*step, commands []string) *param.Map {
	on := w.Map.Map("handler_on")
	condition, checks := w.conditions(w.Map, "whole")
	only := func(task *param.Map) *param.Map {
		if condition == "" {
			return task
		}
		return param.Merge(param.New("_if", "${"+condition+"}"), task)
	}
	tasks, first, last := only(w.group(steps)), param.New(), param.New()
	init, success := on.Map("init"), on.Map("success")
	if init != nil {
		init = only(w.handler(on, "init"))
	}
	if success != nil {
		last.Set("+success", only(w.handler(on, "success")))
	}
	if w.used[artifacts] {
		first.Set("+artifacts", param.New("sh>", "mkdir -p \"$DAG_RUN_ARTIFACTS_DIR\""))
	}
	if n := w.whole(w.Map, "delay_sec"); n > 0 {
		first.Set("+delay", param.New("wait>", strconv.FormatInt(n, 10)+"s"))
	}
	for name, script := range w.found.All() { // a value that was given wins
		first.Set("+param_"+name, param.New("_if", "${!this."+name+"}", "sh>", script))
	}
	if len(commands) > 0 {
		first.Set("+env", param.New("sh>", strings.Join(commands, "")))
	}
	for i, check := range checks {
		first.Set(fmt.Sprintf("+check%d", i+1), check)
	}
	if init != nil {
		first.Set("+init", init)
	}
	switch {
	case first.Len()+last.Len() == 0:
		return tasks
	case tasks.Has("_parallel") || condition != "":
		tasks = param.New("+steps", tasks)
	}
	return param.Merge(param.Merge(first, tasks), last)
}
