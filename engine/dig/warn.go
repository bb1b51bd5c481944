package dig

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// taskLimit is the default number of tasks of an attempt, in which the root counts twice.
const taskLimit = 1000

// Known is what Warnings is told of what runs the tasks, which this package knows nothing of.
type Known struct {
	Operators []string // names of all that there are
	// Missing says what is known of an operator that is not there; "" for nothing. May be nil.
	Missing func(name string) string
	// Parameters are the names that a built-in operator reads; none of one that is not known.
	// May be nil.
	Parameters func(operator string) []string
	// Misread says why a built-in operator cannot read a value for a key; "" where it can, or where
	// nobody knows. May be nil.
	Misread func(operator, key string, v param.Value) string
	// Takes is what is known of the value behind the name of a built-in operator, such as "file name". May be nil.
	Takes func(operator string) string
	// Variables are the names of the built-in variables.
	Variables []string
	// BuiltIn are those of the operators that no project brings.
	BuiltIn []string
	// Exported are the names in an _export that operators read.
	Exported []string
	// Folder lists the names of the files and folders in a folder of the project, by its slash path, "." for the
	// project's own; there is false where there is no such folder. May be nil.
	Folder func(name string) (entries []string, there bool)
	// Below are the keys of mappings with a meaning, such as sandbox:, by their name.
	Below map[string][]string
	// Syntax says what is wrong with the expressions in a text. May be nil.
	Syntax func(text string) error
	Only   string // the one file to look at; "" for all
	// Now is when the project is looked at; zero: nothing is said of what comes to its end.
	Now time.Time
	// Given are the parameters that a run was given, over which an _export wins. May be nil.
	Given *param.Map
}

func (k Known) parameters(operator string) []string {
	if k.Parameters == nil {
		return nil
	}
	return k.Parameters(operator)
}

// Warnings lists what in the named files is legal but hardly does what its author
// thinks: `check`, `push` and `run` show it. Files that Load refuses are left out.
func Warnings(read Source, names []string, known Known) Errors {
	var all Errors
	words := map[string]map[string]bool{}
	missing, called := &missing{}, &calls{read: read, files: map[string][]string{}, back: map[string][]string{}}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if known.Only != "" && name != known.Only {
			continue
		}
		p := newProject(read)
		p.doubts = &Errors{}
		raw := p.workflow(name)
		if raw == nil || len(p.errs) > 0 {
			continue
		}
		d := define(p.read, workflowName(name), folderOf(name), raw, p.calendarOf(name, raw))
		if len(d.problems)+len(d.wrong) > 0 {
			continue
		}
		c := &critic{read: read, names: names, known: known, folder: folderOf(name), calls: called, words: words}
		c.workflow(d.Workflow)
		found := append(p.located(name, raw, c.found), *p.doubts...)
		if text, err := read(name); err == nil {
			found = append(found, lookAlikes(name, text)...)
		}
		_ = found.asError() // which puts them in order
		all = append(all, found...)
		missing.add(p.located(name, raw, c.missing))
	}
	return append(once(all), missing.warnings(known)...)
}

// once drops what was said before: several workflows may include one file.
func once(all Errors) Errors {
	said := map[Error]bool{}
	return slices.DeleteFunc(all, func(e Error) bool {
		again := said[e]
		said[e] = true
		return again
	})
}

// critic walks over a sound workflow.
type critic struct {
	read    Source
	names   []string // workflow files of the project
	known   Known
	folder  string
	found   []problem
	missing []problem // tasks whose operator there is not; the message is its name
	tasks   int

	calls       *calls
	evalsStored bool
	level       int                        // of the language
	name        string                     // of the workflow
	root        *param.Map                 // all of it
	exports     *param.Map                 // what tasks around the one that is looked at export
	loops       []string                   // variables of the loops around it
	pooled      string                     // the group around it that has slots of a pool meanwhile
	makesFiles  bool                       // a task before it runs commands, and so may make files
	madeFiles   map[string]string          // files that tasks before it write, with the names of these tasks
	words       map[string]map[string]bool // of scripts that were read, by file
	noFolders   []string                   // of _workdir, that were told already
}

func (c *critic) workflow(w Workflow) {
	c.evalsStored = EvalsStored(w.Config)
	language, _ := Gate(w.Config)
	c.root, c.name, c.level = w.Config, w.Name, language.Level
	c.placeholders(w.Config)
	c.schedule(w.Config.Map("schedule"))
	c.calendar(w)
	c.sla(w.Config.Map("sla"))
	c.task(nil, "+"+w.Name, w.Config, false)
	if c.tasks+1 > taskLimit {
		c.warn(nil, "", "call> a part of it as a workflow of its own, or raise the limit",
			"Workflow '%s' has %d tasks: the default limit of %d includes the root twice", w.Name, c.tasks, taskLimit)
	}
}

func (c *critic) warn(path []string, task, hint, format string, args ...any) {
	c.found = append(c.found, problem{path: slices.Clone(path), Error: Error{
		Task: task, Message: fmt.Sprintf(format, args...), Hint: hint}})
}

func (c *critic) schedule(config *param.Map) {
	if n, _ := config.Get("minutes_interval>"); n != nil {
		if minutes, err := param.AsInt("", n); err == nil && minutes > 59 {
			c.warn([]string{"schedule", "minutes_interval>"}, "", "write `cron>: \"0 */2 * * *\"` for every two hours",
				"minutes_interval starts again every hour: %d means once an hour", minutes)
		}
	}
	if v, _ := config.Get("daily>"); strings.HasPrefix(param.Text(v), `"-`) {
		c.warn([]string{"schedule", "daily>"}, "", "write a time of the day, such as 07:00:00",
			"a negative time starts the session before its day begins")
	}
	if v, _ := config.Get("cron>"); v != nil {
		if text, ok := v.(string); ok && schedule.MeansAnother(text) {
			hint := "where days of the month and weekdays are both given, cron> wants a day that is both, and most programs one that is either"
			c.warn([]string{"schedule", "cron>"}, "", hint+"; `crontab>` in a file with `zerodag: 1` is the usual dialect", "cron> means other times here than most programs of that name: %s", text)
		}
	}
	c.missingDays(config)
	for _, kind := range []string{"cron>", "crontab>"} {
		v, _ := config.Get(kind)
		if text, _ := v.(string); schedule.LargeStep(text) != "" {
			c.warn([]string{"schedule", kind}, "", "for an interval, use minutes_interval> or several patterns joined by |",
				"the step is larger than the field: %s matches one value only", schedule.LargeStep(text))
		}
	}
	c.lateStart(config)
}

// calendarEnds is how long before its end a calendar is to be told of.
const calendarEnds = 60 * 24 * time.Hour

// calendar warns of one whose holidays will soon be behind, and knows the variables that it brings.
func (c *critic) calendar(w Workflow) {
	zone, err := schedule.Zone(w.Zone)
	if err != nil {
		return
	}
	s, err := ScheduleHere(w.Config, zone)
	if s == nil || err != nil {
		return
	}
	if _, _, has := s.BusinessDates(time.Unix(0, 0)); has {
		c.known.Variables = slices.Concat(c.known.Variables, schedule.BusinessVariables())
	}
	if end := s.CalendarEnd(); !c.known.Now.IsZero() && !end.IsZero() && end.Sub(c.known.Now) < calendarEnds {
		c.warn([]string{"schedule", "calendar"}, "", "add those that come after it, and push the project again", "the last day that the calendar names is %s", end.Format(time.DateOnly))
	}
}

// lateStart warns of a time that lies beyond the hour or day that it is a time of: numbers are not bounded.
func (c *critic) lateStart(config *param.Map) {
	s, err := schedule.ParseHere(config.Without(schedule.AddedKeys()...), time.UTC)
	if err != nil || config.Has("delay") {
		return
	}
	first := s.First(time.Unix(0, 0))
	late := first.RunTime.Sub(first.Time)
	for _, kind := range []string{"hourly", "daily", "weekly", "monthly"} {
		if config.Has(kind+">") && !first.IsEnded() && (late >= 24*time.Hour || late >= time.Hour && kind == "hourly") {
			c.warn([]string{"schedule", kind + ">"}, "", schedule.Form(kind), "this starts %v after the session's time, in a later day or hour than it seems", late)
		}
	}
}

// sla warns about what a push takes and every start then refuses, or overlooks.
func (c *critic) sla(config *param.Map) {
	if config == nil {
		return
	}
	if _, err := schedule.ParseSLA(config); err != nil {
		c.warn([]string{"sla"}, "", "write `duration: 02:00:00` or `time: 09:00:00`", "every start of this workflow will be refused: %v", err)
	}
	for _, key := range config.Keys() {
		if !strings.HasPrefix(key, "+") && !strings.HasPrefix(key, "_") && !strings.HasSuffix(key, ">") {
			c.unknownKey([]string{"sla"}, "", key, schedule.SLAKeys())
		}
	}
	for _, key := range []string{"alert", "fail"} {
		if v, _ := config.Get(key); v != nil {
			if _, err := param.AsBool(key, v); err != nil {
				c.warn([]string{"sla", key}, "", "write true or false", "%s of sla is ignored: %v", key, err)
			}
		}
	}
}

// replaced warns of a list whose mappings have a key in common. They are laid over each other, as in the original: what
// reads like steps one after the other is only the last of them.
func (c *critic) replaced(path []string, task string, list []param.Value) {
	seen := map[string]bool{}
	for _, v := range list {
		m, _ := v.(*param.Map)
		if m == nil {
			continue
		}
		for _, key := range m.Keys() {
			if seen[key] {
				c.warn(path, task, "write the steps as tasks of their own: `+first:` and below it `"+key+": ...`, then `+second:`",
					"%s is in this list more than once, and only the last one counts", key)
				return
			}
			seen[key] = true
		}
	}
}

// task looks at one task; retried says that a group around it has a _retry.
func (c *critic) task(path []string, name string, config *param.Map, retried bool) {
	c.tasks++
	s := shapeOf(config)
	if strings.HasSuffix(name, "+") {
		c.warn(path, name, "write a name behind the +", "a task has no name")
	}
	off, err := param.AsBool("_disable", valueOf(config, "_disable"))
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
	c.envFiles(path, name, config)
	if c.level > 0 {
		operatorFaults(OperatorOf(config), config, c.reporter(path, name))
	}
	around := c.exports
	c.exports = c.exported(path, name, around, config.Map("_export"))
	defer func() { c.exports = around }()
	c.handlers(path, name, config)
	if s.typed || s.operators > 0 {
		c.operator(path, name, config)
		return
	}
	switch {
	case s.subtasks > 0:
	case len(path) == 0:
		c.warn(nil, "", "write tasks, such as `+hello:` and below it `echo>: hello`", "workflow %s has no tasks: it runs nothing", c.name)
	case config.Has("_export"): // without, it may be a place that is kept free
		c.warn(path, name, "write an operator, such as `sh>:`, or tasks below it; what this one exports is seen by its own tasks alone", "nothing is run here: it has neither an operator nor tasks")
	}
	retries := c.group(path, name, config, retried)
	if c.level > 0 && config.Has("_pool") {
		outer := c.pooled
		c.pooled = name
		defer func() { c.pooled = outer }()
	}
	mode, _ := parallelOf(config) // define has read it without error
	first := true
	for key, v := range config.All() {
		if !strings.HasPrefix(key, "+") {
			continue
		}
		sub, ok := v.(*param.Map)
		if list, isList := v.([]param.Value); isList {
			sub, ok = merged(list), true
			c.replaced(append(slices.Clone(path), key), name+key, list)
		}
		below := append(slices.Clone(path), key)
		if background, err := param.AsBool("", valueOf(sub, "_background")); ok && err == nil && background && !mode.on && !first {
			c.warn(append(below, "_background"), name+key, "put what must come first and this task into a group of their own",
				"a _background task waits for nothing: it starts together with the first task of its group")
		}
		first = false
		c.task(below, name+key, sub, retried || retries)
	}
}

// handlers looks at the tasks that are made when this one fails, has succeeded or is over.
func (c *critic) handlers(path []string, name string, config *param.Map) {
	static, keys := c.tasks, []string{"_error", "_check"}
	if c.level > 0 {
		keys = append(keys, closingKeys()...)
	}
	for _, key := range keys {
		if body := config.Map(key); body != nil {
			c.task(append(slices.Clone(path), key), name+"^"+key[1:], body, false)
		}
	}
	c.tasks = static
}

// group warns about keys that a group accepts and does not follow.
func (c *critic) group(path []string, name string, config *param.Map, retried bool) (retries bool) {
	if c.level == 0 && valueOf(config, "_check") != nil {
		c.warn(append(path, "_check"), name, "put it on a task with an operator, add a last task to the group, or put `zerodag: 1` at the top of the file",
			"_check of a group is never run")
	}
	v := valueOf(config, "_retry")
	if text, ok := v.(string); ok && strings.Contains(text, "${") {
		c.warn(append(path, "_retry"), name, "write a number", "_retry of a group is not evaluated: %s is ignored", text)
		return false
	}
	if v != nil && retried {
		c.warn(append(path, "_retry"), name, "keep one of them", "a _retry inside of a group with _retry multiplies the tries")
	}
	return v != nil
}

func valueOf(config *param.Map, key string) param.Value {
	v, _ := config.Get(key)
	return v
}
