package lint

import (
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/dig/lint/parameters"
	"zerodag/engine/param"
)

// taskLimit is the default limit on an attempt's tasks; the root counts twice.
const taskLimit = 1000

// Warnings lists parts of the named files that are legal but rarely do what their author expects; `check`, `push` and
// `run` show them. Files that Load refuses are skipped.
func Warnings(read dig.Source, names []string, known Known) dig.Errors {
	var all dig.Errors
	sources := map[string]*script{}
	missing, called, required := &missing{}, &calls{read: read, files: map[string][]string{}, back: map[string][]string{}}, dig.NewRequires(read)
	defined := sync.OnceValue(func() *parameters.Definitions { return parameters.Read(read, names, known.BuiltIn, known.Folder) })
	for _, name := range slices.Sorted(slices.Values(names)) {
		if known.Only != "" && name != known.Only {
			continue
		}
		if known.stopped() {
			break
		}
		f := dig.Inspect(read, name)
		if f == nil {
			continue
		}
		c := &critic{read: read, names: names, known: known, folder: dig.FolderOf(name), calls: called, required: required, sources: sources, defined: defined}
		c.workflow(f.Workflow)
		found := append(f.Located(c.found), f.Doubts...)
		_ = found.AsError() // this sorts them
		all = append(all, found...)
		missing.add(f.Located(c.missing))
	}
	return slices.Concat(dig.Once(all), missing.warnings(known), projectFiles(read, known))
}

func (c *critic) workflow(w dig.Workflow) {
	c.evalsStored = keys.EvalsStored(w.Config)
	language, _ := keys.Gate(w.Config)
	c.root, c.name, c.level = w.Config, w.Name, language.Level
	c.named = sync.OnceValue(func() map[string]bool {
		named := map[string]bool{}
		for _, name := range keys.NamesIn(w.Config) {
			named[name] = true
		}
		return named
	})
	c.runsScripts = sync.OnceValue(func() bool { return runsScripts(w.Config) })
	c.stores = sync.OnceValue(func() bool { return parameters.StoresAnswers(w.Config) })
	c.placeholders(w.Config)
	schedules{c}.schedule(w.Config.Map("schedule"))
	schedules{c}.calendar(w)
	schedules{c}.sla(w.Config)
	c.requiring(w)
	c.task(nil, "+"+w.Name, w.Config, false)
	if c.tasks+1 > taskLimit {
		c.warn(nil, "", "move part of it to a separate workflow and call> it, or raise the limit",
			"Workflow '%s' has %d tasks: the default limit of %d includes the root twice", w.Name, c.tasks, taskLimit)
	}
}

// replaced warns about a list whose mappings have a key in common. They are merged, as in Digdag: of entries that look
// like consecutive steps, only the last one remains.
func (c *critic) replaced(path []string, task string, list []param.Value) {
	seen := map[string]bool{}
	for _, v := range list {
		m, _ := v.(*param.Map)
		if m == nil {
			continue
		}
		for _, key := range m.Keys() {
			if seen[key] {
				c.warn(path, task, "write the steps as separate tasks: `+first:` and below it `"+key+": ...`, then `+second:`",
					"%s appears more than once in this list, and only the last one counts", key)
				return
			}
			seen[key] = true
		}
	}
}

// task checks one task; retried reports whether a group around it has a _retry.
func (c *critic) task(path []string, name string, config *param.Map, retried bool) {
	c.tasks++
	if c.over() {
		return
	}
	s := keys.ShapeOf(config)
	if strings.HasSuffix(name, "+") {
		c.warn(path, name, "write a name after the +", "a task has no name")
	}
	off, err := param.AsBool("_disable", config.Value("_disable"))
	if err == nil && off {
		return
	}
	c.templates(path, name, config)
	c.stored(path, name, config)
	c.habits(path, name, config)
	c.keys(path, name, config)
	c.plugins(path, config)
	c.given(append(slices.Clone(path), "_export"), name, config.Map("_export"), c.known.Given, "")
	c.docker(path, name, config)
	scripts{c}.envFiles(path, name, config)
	if c.level > 0 {
		keys.OperatorFaults(keys.OperatorOf(config), config, c.reporter(path, name))
	}
	around := c.exports
	c.exports = c.exported(path, name, around, config.Map("_export"))
	c.exportedSecrets(path, name, config.Map("_export"))
	c.nested(path, name, config)
	defer func() { c.exports = around }()
	c.handlers(path, name, config)
	if s.Typed || s.Operators > 0 {
		c.operator(path, name, config)
		return
	}
	c.emptyGroup(path, name, config, s)
	retries := c.group(path, name, config, retried)
	if c.level > 0 && config.Has("_pool") {
		outer := c.pooled
		c.pooled = name
		defer func() { c.pooled = outer }()
	}
	c.subtasks(path, name, config, retried || retries)
}

// emptyGroup warns about a group without tasks, and about a _retry that a group exports to its tasks.
func (c *critic) emptyGroup(path []string, name string, config *param.Map, s keys.Shape) {
	switch {
	case s.Subtasks > 0:
	case len(path) == 0:
		c.warn(nil, "", "write tasks, such as `+hello:` and below it `echo>: hello`", "workflow %s has no tasks: it runs nothing", c.name)
	case config.Has("_export"): // without it, the group may be a placeholder
		c.warn(path, name, "write an operator, such as `sh>:`, or tasks below it; only tasks below this one see what it exports", "this task does nothing: it has neither an operator nor subtasks")
	}
	if s.Subtasks > 0 && config.Map("_export").Has("_retry") && config.Map("_export").Value("_retry") != int64(0) {
		c.warn(append(slices.Clone(path), "_export", "_retry"), name, "write `_retry` at the tasks to be retried, or `_defaults: {_retry: 3}` in a file with `zerodag: 1`",
			"_retry in _export applies to each group and each task below, so their retries multiply")
	}
}

// subtasks checks a group's tasks.
func (c *critic) subtasks(path []string, name string, config *param.Map, retried bool) {
	mode, _ := keys.ParallelOf(config) // define has read it without an error
	first, inTurn := true, false       // inTurn: an earlier task runs in sequence
	for key, v := range config.All() {
		if !strings.HasPrefix(key, "+") {
			continue
		}
		sub, ok := v.(*param.Map)
		if list, isList := v.([]param.Value); isList {
			sub, ok = keys.Overlaid(list), true
			c.replaced(append(slices.Clone(path), key), name+key, list)
		}
		below := append(slices.Clone(path), key)
		background, err := param.AsBool("", sub.Value("_background"))
		background = background && ok && err == nil && !mode.On
		if background && inTurn {
			c.warn(append(below, "_background"), name+key, "put this task and the tasks that must run first in a separate group",
				"a _background task does not wait: it starts together with the first task of its group")
		}
		if background && first && aloneInBackground(config, key) {
			c.warn(append(below, "_background"), name+key, "write `_background: true` at that task also, or `_parallel: true` in the group of both",
				"_background has no effect here: the next task waits for this one")
		}
		first, inTurn = false, inTurn || !background
		c.taskNamedAsKey(below, name+key, key)
		c.task(below, name+key, sub, retried)
	}
}

// aloneInBackground reports whether the task after the first one of a group waits for it.
func aloneInBackground(config *param.Map, first string) bool {
	seen := false
	for key, v := range config.All() {
		if !strings.HasPrefix(key, "+") {
			continue
		}
		if seen {
			m, isMap := v.(*param.Map)
			return isMap && !m.Has("_background")
		}
		seen = key == first
	}
	return false
}

// handlers checks the tasks that run after a failure, a success or the end of this task.
func (c *critic) handlers(path []string, name string, config *param.Map) {
	static, bodies := c.tasks, []string{"_error", "_check"}
	if c.level > 0 {
		bodies = append(bodies, keys.Closing()...)
	}
	for _, key := range bodies {
		if body := config.Map(key); body != nil {
			c.task(append(slices.Clone(path), key), name+"^"+key[1:], body, false)
		}
	}
	c.tasks = static
}

// group warns about keys that a group accepts but ignores.
func (c *critic) group(path []string, name string, config *param.Map, retried bool) (retries bool) {
	if c.level == 0 && config.Value("_check") != nil {
		c.warn(append(path, "_check"), name, "put it on a task with an operator, add a last task to the group, or put `zerodag: 1` at the top of the file",
			"_check of a group never runs")
	}
	v := config.Value("_retry")
	if text, ok := v.(string); ok && strings.Contains(text, "${") {
		c.warn(append(path, "_retry"), name, "write a number", "_retry of a group is not evaluated: %s is ignored", text)
		return false
	}
	if v != nil && retried {
		c.warn(append(path, "_retry"), name, "keep one of them", "_retry inside a group with _retry multiplies the retries")
	}
	return v != nil
}
