package dig

import (
	"slices"
	"strings"

	"zerodag/engine/param"
)

// Where says at which places of a file a key may stand; places are added up.
type Where uint8

// The places.
const (
	AtTop   Where = 1 << iota // of the file
	AtGroup                   // a task without an operator
	AtTask                    // a task with an operator
)

// addition is a key that zerodag adds to the language.
type addition struct {
	name  string
	where Where
	// check reports what is wrong with the value as far as the text tells; `${...}` is not evaluated.
	check func(key string, v param.Value, report func(below []string, message, hint string))
}

// additions are all of them, in the order of the page about them. A file without `zerodag: 1` has none.
func additions() []addition {
	return []addition{
		{levelKey, AtTop, func(string, param.Value, func([]string, string, string)) {}},
		{"_if", AtTop | AtGroup | AtTask, checkIf},
		{defaultsKey, AtTop, checkDefaults},
		{"_env", AtTop | AtGroup, checkEnv},
		{envFilesKey, AtTop | AtGroup | AtTask, checkEnvFiles},
		{priorityKey, AtTop | AtGroup | AtTask, checkPriority},
		{concurrencyKey, AtTop, checkConcurrency},
		{descriptionKey, AtTop, checkAbout},
		{ownerKey, AtTop, checkAbout},
		{tagsKey, AtTop, checkTags},
		{paramsKey, AtTop, checkParams},
		{OutputsKey, AtTop, checkOutputs},
		{"_fail_fast", AtTop | AtGroup | AtTask, checkYes},
		{"_timeout", AtTop | AtGroup | AtTask, checkTimeout},
		{"_pool", AtTop | AtGroup | AtTask, checkPool},
		{"_ignore_error", AtTop | AtGroup | AtTask, checkIgnore},
		{"_cancel", AtTop | AtGroup | AtTask, checkTasks},
		{"_finally", AtTop | AtGroup | AtTask, checkTasks},
		{"_store", AtTask, checkStore},
		{"_repeat", AtTask, checkRepeat},
	}
}

// AddedKeys are the keys that zerodag adds at any of some places. They need `zerodag: 1` at the top of the file.
func AddedKeys(at Where) []string {
	var keys []string
	for _, a := range additions() {
		if a.where&at != 0 {
			keys = append(keys, a.name)
		}
	}
	return keys
}

// place is where a node stands.
func (c *compiler) place(index int) Where {
	switch {
	case index == 0 && c.language.Whole:
		return AtTop
	case c.nodes[index].Group:
		return AtGroup
	}
	return AtTask
}

// added checks the keys of a task that zerodag adds, and that no other key begins with "_": one that is misspelt would
// be a parameter that nobody reads.
func (c *compiler) added(index int, config *param.Map) {
	if c.language.Level == 0 {
		return
	}
	at := c.place(index)
	for key, v := range config.All() {
		a, isAdded := additionOf(key)
		switch {
		case key == "_parallel":
			c.checkParallel(index, v)
		case key == "_retry":
			checkRetry(OperatorOf(config), v, func(below []string, message, hint string) {
				c.fail(index, append([]string{key}, below...), hint, "%s", message)
			})
		case isAdded && a.where&at == 0:
			if at != AtTask || slices.Contains(TaskKeys(), key) || !strings.HasPrefix(key, "_") {
				continue // which is told with other unknown keys of a group, or is a key of Digdag or of an operator here
			}
			c.fail(index, []string{key}, "it may stand "+a.where.String(), "'%s' has no meaning here", key)
		case isAdded:
			a.check(key, v, func(below []string, message, hint string) {
				c.fail(index, append([]string{key}, below...), hint, "%s", message)
			})
		case slices.Contains(BranchKeys(), key) && OperatorOf(config) == "switch":
		case at == AtTask && strings.HasPrefix(key, "_") && !slices.Contains(TaskKeys(), key):
			known := append(TaskKeys(), AddedKeys(AtTask)...)
			hint := "keys of a task that begin with _ are " + strings.Join(known, ", ")
			if s := didYouMean(key, known); s != "" {
				hint = s
			}
			c.fail(index, []string{key}, hint, "'%s' is not read by anybody", key)
		}
	}
	if at == AtTop && ComputedPriority(config) != "" {
		c.fail(index, []string{priorityKey}, "write it at groups or tasks, or say it in a start: `zerodag start --priority high`",
			"'%s' at the top of a file is for the attempt, too, before anything is evaluated", priorityKey)
	}
	operatorFaults(OperatorOf(config), config, func(path []string, message, hint string) {
		c.fail(index, path, hint, "%s", message)
	})
}

// additionOf finds a key among those that zerodag adds.
func additionOf(key string) (addition, bool) {
	for _, a := range additions() {
		if a.name == key {
			return a, true
		}
	}
	return addition{}, false
}

// String names the places.
func (w Where) String() string {
	var list []string
	for _, p := range []struct {
		at   Where
		name string
	}{{AtTop, "at the top of a file"}, {AtGroup, "in a group"}, {AtTask, "in a task with an operator"}} {
		if w&p.at != 0 {
			list = append(list, p.name)
		}
	}
	return strings.Join(list, " or ")
}

// checkYes wants true or false, as written.
func checkYes(key string, v param.Value, report func([]string, string, string)) {
	if _, err := param.AsYes(key, v); err != nil {
		report(nil, "'"+key+"' must be true or false: "+sample(v), "write true or false; ${...} is not evaluated here")
	}
}

// checkTasks wants a task. What is wrong below it is told by closings.
func checkTasks(key string, v param.Value, report func([]string, string, string)) {
	const form = "write it as a task: an operator, or subtasks"
	switch m, ok := v.(*param.Map); {
	case !ok:
		report(nil, "Parameter '"+key+"' must be an object", form)
	case m.Len() == 0:
		report(nil, "'"+key+"' runs nothing", form)
	}
}

// closingKeys are those whose tasks come last of a task.
func closingKeys() []string { return []string{"_cancel", "_finally"} }

// closings compiles the tasks that come last of one, to find their mistakes now: when they are needed it is too late.
func (c *compiler) closings(index int, config *param.Map) {
	if c.language.Level == 0 {
		return
	}
	for _, key := range closingKeys() {
		if m := config.Map(key); m.Len() > 0 {
			c.inner(index, []string{key}, "^"+key[1:], m)
		}
	}
}

// checkIf wants something that can be true or false.
func checkIf(key string, v param.Value, report func([]string, string, string)) {
	const form = "write an expression, such as `_if: ${session_date > '2026-01-01'}`"
	switch x := v.(type) {
	case *param.Map, []param.Value:
		report(nil, "'"+key+"' must be a condition: "+sample(v), form)
	case string:
		hint := form
		if strings.Contains(x, "${") {
			hint = "a ${ is never closed, and stays as text: " + bracesHint
		}
		if _, err := param.AsCondition(key, v); err != nil && !computed(x) {
			report(nil, "'"+key+"' is neither true nor false: "+sample(v), hint)
		}
	}
}

// expressionHint is the remedy for a wrong regular expression.
const expressionHint = "see https://pkg.go.dev/regexp/syntax for what one may have"

// checkIgnore wants true or false, or what an error must be like.
func checkIgnore(key string, v param.Value, report func([]string, string, string)) {
	m, ok := v.(*param.Map)
	if !ok {
		checkYes(key, v, report)
		return
	}
	const form = "write `_ignore_error: true`, or {exit_code: [3, 4], message: part of it or /regular expression/, output: the same of a line that the command printed}"
	for k, v := range m.All() {
		switch k {
		case exitCodeKey:
			if _, ok := exitCodes(v, 1); !ok {
				report([]string{k}, "exit_code must be a whole number from 1 to 255, or a list of them: "+sample(v), form)
			}
		case "message", "output":
			text, ok := v.(string)
			_, err := param.ParsePattern(text)
			switch {
			case !ok || text == "":
				report([]string{k}, k+" must be a text: "+sample(v), form)
			case err != nil:
				report([]string{k}, k+" is no regular expression: "+err.Error(), expressionHint)
			}
		default:
			report([]string{k}, "'"+k+"' is not read by anybody", form)
		}
	}
	if m.Len() == 0 {
		report(nil, "'_ignore_error' names no error", form)
	}
}

// checkEnv wants variables with names that a command can have.
func checkEnv(key string, v param.Value, report func([]string, string, string)) {
	const form = "write names and values: `_env: {STAGE: test}`"
	m, ok := v.(*param.Map)
	if !ok {
		report(nil, "Parameter '"+key+"' must be an object", form)
		return
	}
	for name, v := range m.All() {
		switch v.(type) {
		case *param.Map, []param.Value:
			report([]string{name}, "the value of a variable is a text: "+sample(v), "write it in quotes, as JSON if need be")
		}
		if !envName().MatchString(name) {
			report([]string{name}, "'"+name+"' is no name of a variable", "write it with letters, digits and _")
		}
	}
}
