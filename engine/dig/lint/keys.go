package lint

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// keys warns about unused keys of a task that look like valid ones: a misspelled _retry or timeout is ignored silently.
// Any other key may be the author's own parameter.
func (c *critic) keys(at []string, task string, config *param.Map) {
	operator, command, _ := keys.Operator(config)
	var own []string
	if operator != "" {
		own = c.known.parameters(operator)
	}
	others := 0
	for key, v := range config.All() {
		if c.over() {
			return
		}
		place := append(slices.Clone(at), key)
		switch {
		case key == "_retry", key == "_parallel":
			c.steering(place, task, operator, key, v, own)
		case c.known.Below[key] != nil:
			c.unknownKeys(place, task, v, c.known.Below[key])
		case strings.HasPrefix(key, "+"), key == command, slices.Contains(own, key):
		case len(at) > 0 && c.ofWorkflow(place, task, operator, key):
		case c.level > 0 && slices.Contains(keys.Closing(), key):
		case operator != "" && keys.IsBody(config, key):
			c.unmarked(place, task, operator, key)
		case strings.HasPrefix(key, "_"):
			c.steering(place, task, operator, key, v, own)
		case others < mostKeys:
			others++
			c.otherKey(place, task, operator, key, config)
		}
	}
	c.exportedKeys(at, task, config)
}

// otherKey checks a key of a task that neither the language nor its operator reads.
func (c *critic) otherKey(place []string, task, operator, key string, config *param.Map) {
	unread := operator != "" && c.known.parameters(operator) != nil && !c.readingOf(config).used(key)
	switch {
	case unread && c.dagu(place, task, operator, key, config):
	case operator != "" && c.foreignKey(place, task, operator, key, config):
	case unread:
		c.unusedKey(place, task, operator, key, config)
	case operator != "":
		c.misnamed(place, task, key, config.Value(key))
	}
}

// exportedKeys checks a task's exports.
func (c *critic) exportedKeys(at []string, task string, config *param.Map) {
	for key, v := range config.Map("_export").All() {
		if c.over() {
			return
		}
		place := append(slices.Clone(at), "_export", key)
		c.misnamed(place, task, key, v)
		if v == nil && keys.EnvName().MatchString(key) && c.runsScripts() {
			c.warn(place, task, "write '' for an empty text, or remove it", "%s of _export is null, so commands that see it will fail", key)
		}
		c.exportedName(place, task, key, v)
		if known := c.known.Below[key]; known != nil {
			c.unknownKeys(place, task, v, known)
		} else {
			c.defaults(place, task, key, v)
		}
		if slices.Contains(c.known.Variables, key) && key != "timezone" {
			c.warn(place, task, "choose another name", "%s is a built-in variable, which overrides _export", key)
		}
	}
}

// unusedKey checks a key that a built-in operator does not read. A command gets each parameter of its task in its
// environment.
func (c *critic) unusedKey(place []string, task, operator, key string, config *param.Map) {
	if !c.runsCommand(operator) || !c.reads(key, config) {
		c.parameter(place, task, operator, key, config.Value(key), c.known.parameters(operator))
	}
}

// exportedName warns about a name that overrides a variable that programs need, or that no expression can refer to.
func (c *critic) exportedName(place []string, task, key string, v param.Value) {
	text, isText := v.(string)
	ofCommands := isText && !strings.Contains(text, "${") && c.runsScripts()
	switch {
	case key == "PATH" && ofCommands && !strings.Contains(text, "/bin"):
		c.warn(place, task, "choose another name, such as path", "PATH of _export replaces the PATH of all commands, so they find no programs")
	case key == "HOME" && ofCommands && !strings.HasPrefix(text, "/"):
		c.warn(place, task, "choose another name, such as home", "HOME of _export sets the home folder of all commands, but %s is not a folder", param.Sample(v))
	case strings.Contains(key, ".") && keys.EnvName().MatchString(strings.ReplaceAll(key, ".", "_")):
		first, rest, _ := strings.Cut(key, ".")
		if c.named()[first] && !c.exports.Has(first) && !c.rootExports(first) {
			c.warn(place, task, "write it as a mapping: `"+first+": {"+rest+": ...}`", "%s is a single name that contains a dot, so ${%s} does not find it", key, key)
		}
	}
}

// rootExports reports whether the file exports a name at its top.
func (c *critic) rootExports(name string) bool { return c.root.Map("_export").Has(name) }

// runsScripts reports whether a file has a task with a shell script.
func runsScripts(v param.Value) bool {
	switch x := v.(type) {
	case *param.Map:
		for key, e := range x.All() {
			if key == "sh>" || runsScripts(e) {
				return true
			}
		}
	case []param.Value:
		return slices.ContainsFunc(x, runsScripts)
	}
	return false
}

// defaults checks the exported defaults of a built-in operator for misspelled parameters; other keys may be the
// author's own.
func (c *critic) defaults(place []string, task, operator string, v param.Value) {
	m, _ := v.(*param.Map)
	own := c.known.parameters(operator)
	for _, key := range m.Keys() {
		if near := param.Nearest(key, own); near != "" && !c.named()[operator] {
			c.warn(append(slices.Clone(place), key), task, "did you mean "+near+"?", "%s of %s is ignored by %s>", key, operator, operator)
		} else if c.known.Misread != nil && slices.Contains(own, key) && c.runsCommand(operator) {
			if why := c.known.Misread(operator, key, m.Value(key)); why != "" {
				c.warn(append(slices.Clone(place), key), task, why, "%s> cannot read %s as its %s, so its tasks will fail", operator, param.Sample(m.Value(key)), key)
			}
		}
	}
}

// ofWorkflow warns about a key that is accepted anywhere but read only at the top of a file.
func (c *critic) ofWorkflow(place []string, task, operator, key string) bool {
	if key != "schedule" && key != "sla" && (key != "timezone" || operator != "") {
		return false
	}
	c.warn(place, task, "write it at the top of the file that is started, without indentation; it has no effect in tasks or included files", "%s has no effect in a task", key)
	return true
}

// unmarked checks a key that holds tasks in a task with an operator, but lacks the mark that would make them run.
func (c *critic) unmarked(place []string, task, operator, key string) {
	hint := "task names begin with +: write `" + keys.TaskName(key) + ":` outside this task, because a task with an operator has no subtasks"
	near := param.Nearest(key, keys.TaskKeys())
	foreign := keys.SteeringHint(key, c.level)
	if strings.Contains(foreign, "do`") && !slices.Contains(keys.WithBodies, operator) {
		foreign = "" // this operator runs no tasks
	}
	switch {
	case near != "":
		hint = "did you mean " + near + "?"
	case foreign != "":
		hint = foreign
	case slices.Contains(keys.WithBodies, operator):
		hint = "did you mean _do?"
		if operator == "if" && strings.Contains(key, "else") {
			hint = "did you mean _else_do?"
		}
	}
	c.warn(place, task, hint, "the tasks in %s never run", key)
}

// anyForm lists names with a meaning for commands whose values need not be mappings.
var anyForm = []string{"docker", "sandbox", "python", "shell"}

// misnamed checks a name that may be a misspelling of one with a meaning for operators, if no expression reads it.
func (c *critic) misnamed(place []string, task, key string, v param.Value) {
	near := param.Nearest(key, c.known.Exported)
	_, isMap := v.(*param.Map)
	if near == "" || !isMap && !slices.Contains(anyForm, near) || c.named()[key] {
		return
	}
	c.warn(place, task, "did you mean "+near+"?", "%s is not used by any operator", key)
}

// steering checks a key that begins with "_".
func (c *critic) steering(place []string, task, operator, key string, v param.Value, own []string) {
	switch {
	case key == "_retry":
		repeats{c}.retry(place, task, operator, v)
	case key == "_parallel":
		c.parallel(place, task, operator, v)
	case slices.Contains(keys.TaskKeys(), key):
	case c.level > 0 && slices.Contains(keys.Added(keys.AtGroup|keys.AtTask), key):
	case keys.Ungated(key) != "":
		c.warn(place, task, keys.Ungated(key), "%s is an unused parameter here", key)
	default:
		c.warn(place, task, c.steeringHint(key, own), "unknown key %s", key)
	}
}

// parallel checks `_parallel`.
func (c *critic) parallel(place []string, task, operator string, v param.Value) {
	if m, ok := v.(*param.Map); ok && c.level == 0 && m.Has(keys.SlidingKey) {
		c.warn(append(slices.Clone(place), keys.SlidingKey), task, keys.GateHint(keys.SlidingKey), "sliding of _parallel has no effect here")
		v = m.Without(keys.SlidingKey)
	}
	if mode, err := keys.ParallelOf(param.New("_parallel", v)); c.level == 0 && err == nil && mode.On && slices.Contains(c.known.BuiltIn, operator) && keys.MakesNoTasks(operator) {
		c.warn(place, task, keys.ParallelForm, "%s", keys.ParallelFault(operator))
	}
	c.unknownKeys(place, task, v, keys.ParallelKeys())
	c.whole(place, task, v, "limit", 1, "write how many tasks may run at once, such as `_parallel: {limit: 2}`")
}

// steeringHint returns the hint for an unknown key that begins with "_"; own lists the keys that the operator reads.
func (c *critic) steeringHint(key string, own []string) string {
	if foreign := keys.SteeringHint(key, c.level); foreign != "" {
		return foreign
	}
	known := slices.Concat(keys.TaskKeys(), own)
	if near := keys.BehindGate(key, known, keys.AtTask|keys.AtGroup); near != "" && c.level == 0 {
		return "did you mean " + near + "? " + keys.GateHint(near)
	}
	if near := param.Nearest(key, known); near != "" {
		return "did you mean " + near + "?"
	}
	if far := param.Suggest(key, keys.TaskKeys()); len(far) > 0 { // such as _retires, unlike users' own keys
		return "did you mean " + strings.Join(far, ", ") + "?"
	}
	return "the task keys that begin with _ are " + strings.Join(keys.TaskKeys(), ", ")
}

// whole checks that a value below one of the language's keys is a whole number, and at least the smallest meaningful
// one.
func (c *critic) whole(place []string, task string, v param.Value, key string, least int64, form string) {
	m, _ := v.(*param.Map)
	value := m.Value(key)
	if text, isText := value.(string); value == nil || isText && strings.Contains(text, "${") {
		return
	}
	at, of := append(slices.Clone(place), key), place[len(place)-1]
	c.decimals(at, task, key+" of "+of, value)
	switch n, err := param.AsInt(key, value); {
	case err != nil:
		c.warn(at, task, form, "%s of %s is not a whole number: %s", key, of, param.Sample(value))
	case n < least:
		c.warn(at, task, form, "%s of %s is %d, less than %d", key, of, n, least)
	}
}

func (c *critic) noNumber(place []string, task string, v param.Value) {
	c.warn(place, task, "write a number, or {limit: 3, interval: 10}", "_retry is not a number: %s", param.Sample(v))
}

func (c *critic) unknownKeys(place []string, task string, v param.Value, known []string) {
	m, _ := v.(*param.Map)
	for _, key := range m.Keys() {
		c.unknownKey(place, task, key, known)
	}
}

// unknownKey checks a key of the mapping at a place against the known ones.
func (c *critic) unknownKey(place []string, task, key string, known []string) {
	if slices.Contains(known, key) {
		return
	}
	hint := "valid keys are " + strings.Join(known, ", ")
	if near := param.Nearest(key, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	c.warn(append(slices.Clone(place), key), task, hint, "unknown key %s of %s", key, place[len(place)-1])
}

// steeringKeys lists language keys whose underscore is often forgotten.
var steeringKeys = []string{"_retry", "_parallel", "_export", "_background", "_after", "_error", "_check"}

// parameter checks a key of a task that its operator does not read.
func (c *critic) parameter(place []string, task, operator, key string, v param.Value, own []string) {
	underscored := "_" + key
	switch near := param.Nearest(key, own); {
	case near != "":
		c.warn(place, task, fmt.Sprintf("did you mean %s? Export it (_export) if it is your own variable", near), "%s is not a parameter of %s>", key, operator)
	case key == "timeout" && slices.Contains(own, "sandbox"):
		c.warn(place, task, "write `sandbox: {timeout: 10m}`", "timeout is not a parameter of %s>: the command may run forever", operator)
	case slices.Contains(steeringKeys, underscored):
		c.warn(place, task, "did you mean "+underscored+"?", "%s is not a parameter of %s>", key, operator)
	default:
		c.misnamed(place, task, key, v)
	}
}

// plugins warns about Digdag's own plugins, which are not loaded, and about settings of docker that no command uses.
func (c *critic) plugins(at []string, config *param.Map) {
	export := config.Map("_export")
	if text, ok := export.Value("plugin").(string); ok {
		c.warn(append(slices.Clone(at), "_export", "plugin"), "", "write your own operators as project files: see `zerodag docs plugins`", "plugin must be a mapping; this text has no effect: %q", text)
	}
	plugin := export.Map("plugin")
	if v, ok := plugin.Get("dependencies"); ok {
		list, _ := v.([]param.Value)
		names := make([]string, 0, len(list))
		for _, e := range list {
			names = append(names, param.Sample(e))
		}
		c.warn(append(slices.Clone(at), "_export", "plugin", "dependencies"), "",
			"its operators are unknown here or built in with different parameters: see `zerodag docs plugin-operators`",
			"zerodag does not load Java plugins: %s", strings.ReplaceAll(strings.Join(names, ", "), `"`, ""))
	}
	c.docker(append(slices.Clone(at), "_export"), "", export)
}

func (c *critic) docker(at []string, task string, config *param.Map) {
	if text, ok := config.Value("docker").(string); ok && !strings.Contains(text, "${") {
		c.warn(append(slices.Clone(at), "docker"), task, "write `docker: {image: "+text+"}`", "docker is text, so commands will fail with \"Parameter 'docker' must be an object\"")
	}
}

// given warns about parameters of a run that an _export overrides, for the task and all tasks below it.
func (c *critic) given(at []string, task string, export, given *param.Map, prefix string) {
	for key, value := range given.All() {
		exported, ok := export.Get(key)
		inner, isMap := value.(*param.Map)
		below, both := exported.(*param.Map)
		switch {
		case !ok || unquoted(value) == unquoted(exported): // on a command line, a number is text
		case isMap && both:
			c.given(append(slices.Clone(at), key), task, below, inner, prefix+key+".")
		default:
			c.warn(append(slices.Clone(at), key), task, "remove it from _export, or write the default where it is used: ${typeof "+key+" == 'undefined' ? ... : "+key+"}",
				"the given parameter %s has no effect here: _export overrides it", prefix+key)
		}
	}
}

func unquoted(v param.Value) string { return strings.Trim(param.Text(v), `"`) }

// placeholders finds mappings that became keys.
func (c *critic) placeholders(config *param.Map) { c.placeholder(nil, config, 0) }

func (c *critic) placeholder(at []string, v param.Value, depth int) {
	m, ok := v.(*param.Map)
	if !ok || depth > dig.MaxDepth {
		return
	}
	for key, e := range m.All() {
		place := append(slices.Clone(at), key)
		if strings.HasPrefix(key, "{") && strings.HasSuffix(key, "}") && strings.Contains(key, "=") {
			c.warn(place, "", "quote it, or fill in the placeholder", "{{...}} is a mapping in a mapping in YAML: it is read as the key %s", key)
		}
		c.placeholder(place, e, depth+1)
	}
}
