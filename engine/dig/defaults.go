package dig

import (
	"slices"
	"strings"

	"zerodag/engine/param"
)

// defaultsKey is the key at the top of a file with keys for all of its tasks that have an operator.
const defaultsKey = "_defaults"

// DefaultableKeys are the keys that `_defaults` may have: those that say how a task is run, not what.
func DefaultableKeys() []string {
	keys := []string{"_retry", "_error", "_check", "_env", "_workdir", "_secrets"}
	for _, key := range AddedKeys(AtTask) {
		if key != "_if" { // whether a task runs at all is about the one task
			keys = append(keys, key)
		}
	}
	return keys
}

// checkDefaults wants keys that a task with an operator may have. What is wrong with their values is told here, and not
// at each task again.
func checkDefaults(key string, v param.Value, report func([]string, string, string)) {
	m, ok := v.(*param.Map)
	if !ok {
		report(nil, "Parameter '"+key+"' must be an object", "write keys of tasks: `_defaults: {_retry: 2}`")
		return
	}
	for k, v := range m.All() {
		a, isAdded := additionOf(k)
		switch {
		case !slices.Contains(DefaultableKeys(), k):
			hint := "it may have " + strings.Join(DefaultableKeys(), ", ")
			if strings.HasSuffix(k, ">") || !strings.HasPrefix(k, "_") {
				hint = "defaults of an operator's parameters belong under _export, below its name"
			} else if s := didYouMean(k, DefaultableKeys()); s != "" {
				hint = s
			}
			report([]string{k}, "'"+k+"' cannot be a default of tasks", hint)
		case k != "_retry" && k != "_workdir" && !isAdded && !isMap(v):
			report([]string{k}, "Parameter '"+k+"' must be an object", "write it as in a task: keys and values below it")
		case k == "_retry":
			checkRetry(anyOperator, v, func(below []string, message, hint string) {
				report(append([]string{k}, below...), message, hint)
			})
		case isAdded && a.where&AtTask != 0:
			a.check(k, v, func(below []string, message, hint string) {
				report(append([]string{k}, below...), message, hint)
			})
		}
	}
}

// withDefaults returns a file's tasks with the keys that they lack, and without `_defaults` itself: what is stored says
// of each task what holds for it. Defaults that are wrong stay where they are, and Compile tells. Nothing is changed in
// config. read reads the files of the project, and is nil where there are none.
func withDefaults(config *param.Map, read Source) *param.Map {
	v, there := config.Get(defaultsKey)
	sound := there
	if there {
		checkDefaults(defaultsKey, v, func([]string, string, string) { sound = false })
	}
	if !sound {
		return config
	}
	d := defaulting{config.Map(defaultsKey), read}
	return d.below(config.Without(defaultsKey))
}

// defaulting gives tasks the keys that they lack.
type defaulting struct {
	keys *param.Map
	read Source
}

// below is a task, or a file, with the defaults of its own and of all tasks in it.
func (d defaulting) below(config *param.Map) *param.Map {
	out := param.New()
	for key, v := range config.All() {
		switch {
		case strings.HasPrefix(key, "+") || slices.Contains(taskBodies, key):
			v = d.task(v)
		case key == "_cases" && OperatorOf(config) == "switch":
			if cases, ok := v.(*param.Map); ok {
				each := param.New()
				for name, body := range cases.All() {
					each.Set(name, d.task(body))
				}
				v = each
			}
		case key == "_default" && OperatorOf(config) == "switch":
			v = d.task(v)
		}
		out.Set(key, v)
	}
	if s := shapeOf(config); !s.typed && s.operators == 0 {
		return out
	}
	for key, v := range d.keys.All() {
		if v, means := d.fitting(key, v, OperatorOf(config)); means && !out.Has(key) {
			out.Set(key, v)
		}
	}
	return out
}

// anyOperator stands for that of a task which has a default.
const anyOperator = "any"

// fitting is what a default comes to at a task with an operator, where it may mean nothing: what could never happen there is left out, as
// it would be refused if the task said it.
func (d defaulting) fitting(key string, v param.Value, operator string) (param.Value, bool) {
	m, isMap := v.(*param.Map)
	switch {
	case key == "_retry" && m.Has(exitCodeKey): // all other failures are final
		return v, FailsWithCode(operator)
	case key == "_retry":
		means := true
		checkRetry(operator, v, func([]string, string, string) { means = false })
		return v, means
	case key == "_fail_fast":
		return v, !makesNoTasks(operator)
	case key == "_ignore_error" && isMap:
		m = m.Without(NeverIgnored(operator)...)
		return m, m.Len() > 0
	case key == "_store", key == "_repeat" && m.Has(exitCodeKey):
		return v, !RunsNoCommand(operator) && !d.unclear(operator)
	case key == "_repeat": // which would run such an operator again and again before any of its tasks
		return v, !onlyRunsTasks(operator) && !asksForTasks(operator) && !d.unclear(operator)
	}
	return v, true
}

// unclear says of an operator that it may be one that only runs tasks: its name is computed, or the project has it as a workflow file, as
// long as no executable has its name.
func (d defaulting) unclear(operator string) bool {
	switch {
	case strings.Contains(operator, "${"):
		return true
	case d.read == nil || RunsNoCommand(operator) || slices.Contains(commandsBuiltIn, operator) || strings.Contains(operator, "/"):
		return false
	}
	_, err := d.read(operatorFile(operator))
	return err == nil
}

// task is below for what may stand for a task: a mapping, or a list of them.
func (d defaulting) task(v param.Value) param.Value {
	switch x := v.(type) {
	case *param.Map:
		return d.below(x)
	case []param.Value:
		if !slices.ContainsFunc(x, func(e param.Value) bool { _, ok := e.(*param.Map); return !ok }) {
			return d.below(merged(x))
		}
	}
	return v
}

func isMap(v param.Value) bool {
	_, ok := v.(*param.Map)
	return ok
}
