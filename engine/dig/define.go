package dig

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// Define checks one raw workflow and rebuilds it in its stored form: the keys of the top level, all tasks, the time
// zone and the schedule. Errors lists everything that is wrong with it.
func Define(name string, raw *param.Map) (Workflow, error) {
	d := define(nil, name, "", raw, nil)
	return d.Workflow, unplaced(slices.Concat(d.problems, d.wrong, d.unused))
}

// defined is a workflow with its problems; wrong and unused concern its schedule.
type defined struct {
	Workflow
	problems, wrong, unused []Problem
}

// define is Define for a file in a folder of a project (nil for none), with the calendar that its schedule names (nil
// for none).
func define(read Source, name, folder string, raw, calendar *param.Map) defined {
	w, problems := rebuild(read, name, folder, raw)
	w.Config = withCalendar(w.Config, calendar)
	if fault := WorkflowNameFault(name); fault != "" && TaskNameFault("+"+name) == "" {
		problems = append(problems, Problem{Error: Error{
			Message: fmt.Sprintf("name %s: %q", fault, name), Hint: "rename the file"}})
	}
	language, config := keys.Gate(w.Config)
	c := &compiler{language: language, patterns: &keys.Patterns{}}
	c.tree("", "+"+name, config)
	problems = append(problems, c.problems...)
	problems = append(problems, paramFaults(w)...)
	unused, wrong := scheduleFaults(w)
	return defined{w, problems, wrong, unused}
}

// TopKeys returns a workflow's keys other than its tasks.
func TopKeys() []string { return append([]string{"timezone", "_export"}, storedKeys()...) }

// storedKeys lists the keys that follow _export in the stored config, in this order.
func storedKeys() []string {
	return []string{"schedule", "sla", "_error", "_check", "_retry", "_parallel"}
}

// zoneHint returns the hint for an unknown time zone.
func zoneHint(v param.Value) string {
	if text, _ := v.(string); strings.Contains(text, "${") {
		return "${...} is not evaluated here: write the time zone itself"
	}
	return ""
}

// zoneOrUTC reads a time zone, and returns UTC if it is missing or unknown. Empty text counts as missing, as in Digdag.
func zoneOrUTC(v param.Value) (string, error) {
	if v == nil || v == "" {
		return "UTC", nil
	}
	zone, err := zoneOf(v)
	if err != nil {
		return "UTC", err
	}
	return zone, nil
}

// rebuild checks the keys of the top level and puts them in their stored order. With a folder, `_workdir` is exported
// so that scripts run in the file's folder.
func rebuild(read Source, name, folder string, raw *param.Map) (Workflow, []Problem) {
	w := Workflow{Name: name, Config: param.New()}
	var problems []Problem
	fail := func(key, hint, message string) {
		problems = append(problems, Problem{Path: []string{key}, Error: Error{Message: message, Hint: hint}})
	}
	level, fault, hint := keys.LevelOf(raw)
	if fault != "" {
		fail(keys.LevelKey, hint, fault)
	}
	known, stored := append(TopKeys(), keys.LevelKey), storedKeys()
	if level > 0 {
		known, stored = append(known, keys.Added(keys.AtTop)...), append(stored, keys.Added(keys.AtTop)...)
		w.Config.Set(keys.LevelKey, int64(level))
	}
	var err error
	zone, _ := raw.Get("timezone")
	if w.Zone, err = zoneOrUTC(zone); err != nil {
		fail("timezone", zoneHint(zone), err.Error())
	}
	export, err := exportOf(raw, folder)
	if err != nil {
		fail("_export", "write it as keys and values", err.Error())
	}
	if export.Len() > 0 {
		w.Config.Set("_export", export)
	}
	takeOver(w.Config, raw, stored)
	var unknown []string
	for key, v := range raw.All() {
		switch {
		case strings.HasPrefix(key, "+"):
			w.Config.Set(key, v)
			if strings.Contains(key, "^") {
				fail(key, "^ is reserved for generated tasks", fmt.Sprintf("task name must not contain ^ character: %q", key))
			}
		case !slices.Contains(known, key):
			unknown = append(unknown, key)
		}
	}
	unknown = unknown[:min(len(unknown), MaxListed)]
	if level > 0 {
		w.Config = withDefaults(w.Config, read)
		if err := SLAFault(w.Config); err != nil {
			fail("sla", SLAForm, err.Error())
		}
	}
	if len(unknown) > 0 {
		fail(unknown[0], "", fmt.Sprintf("Workflow '%s' includes unknown keys: [%s]", name, strings.Join(unknown, ", ")))
		explainKeys(&problems[len(problems)-1], raw, unknown, known, level)
	}
	return w, problems
}

// takeOver copies keys of a file unchanged; its level has already been read.
func takeOver(config, raw *param.Map, names []string) {
	for _, key := range names {
		if v, ok := raw.Get(key); ok && key != keys.LevelKey {
			config.Set(key, v)
		}
	}
}

// MaxListed limits how many invalid keys one message lists.
const MaxListed = 20

// explainKeys adds to a problem the hint for the first invalid key that has one, and to each further key the hint for
// that key.
func explainKeys(p *Problem, raw *param.Map, unknown, known []string, level int) {
	hints := make([]string, len(unknown))
	for i, key := range unknown {
		hints[i] = unknownKeyHint(raw, key, known, level)
		p.Hint = cmp.Or(p.Hint, hints[i])
	}
	p.Hint = cmp.Or(p.Hint, "task names start with + (quote a number: \"+1\"); parameters belong under _export")
	for i := 1; i < len(unknown); i++ {
		p.also = append(p.also, furtherKey(unknown[i], hints[i], p.Hint))
	}
}

// topKeys maps each hint to the keys that other tools use at the top of a file for the same purpose.
var topKeys = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"a workflow is named after its file; describe it in `description`":                                                                            {"name", "title", "id", "dag_id", "workflow_name"},
		"remove it; the language level is `zerodag: 1`":                                                                                               {"version", "apiversion", "kind", "schema", "language"},
		"write `schedule:` with `daily>: 07:00:00` or `cron>: \"0 7 * * *\"` below it":                                                                {"schedule_interval", "cron", "schedules", "interval", "crontab", "daily"},
		"write `timezone: Asia/Tokyo`":                                                                                                                {"tz", "time_zone", "zone", "zoneinfo"},
		"workflows are not started by such events: write `schedule:`, or `require>` in the later workflow, or call `zerodag start`":                   {"on", "trigger", "triggers", "when", "events"},
		"write `concurrency: {attempts: 1}`, or `skip_on_overtime: true` below `schedule`":                                                            {"max_active_runs", "max_parallel", "max_concurrency", "concurrent", "max_active_tasks"},
		"write `_error:` with `mail>` or `slack>` below it":                                                                                           {"email_on_failure", "on_failure", "mail_on_error", "notifications", "notify", "email", "on_error", "alerts", "email_on_retry"},
		"secret values never belong in a file: run `zerodag secrets --project NAME --set KEY`; a task reads them by `_env: {KEY: \"${secret:KEY}\"}`": {"secrets", "secret"},
		"write `!include : 'FILE'`":                                             {"include", "includes", "import", "imports", "extends"},
		"write `_defaults:` for keys of all tasks":                              {"default_args", "defaults", "default"},
		"write `params:` for parameters of a start":                             {"inputs", "parameters", "args", "arguments", "param"},
		"write `_export: {NAME: value}`":                                        {"vars", "variables", "env", "environment"},
		"write each task as `+NAME:` without this key around them":              {"jobs", "steps", "tasks", "stages", "dag", "workflow"},
		"write `docker: {image: IMAGE}` in `_export`":                           {"image", "docker", "container"},
		"operators belong in tasks: write `+NAME:` and `sh>: COMMAND` below it": {"run", "sh", "command", "script", "commands"},
	}
})

// topHint explains another tool's key at the top of a file; "" if the key is unknown.
func topHint(key string, raw *param.Map, level int) string {
	name := keys.ForeignName(key)
	for _, meant := range slices.Sorted(maps.Keys(topKeys())) {
		if !slices.Contains(topKeys()[meant], name) {
			continue
		}
		if ours := keyOfAdded().FindStringSubmatch(meant); ours != nil && level == 0 && keys.NeedsGate(ours[1]) {
			meant += "; this needs `zerodag: 1` at the top of the file"
		}
		return meant
	}
	if keys.IsTask(raw.Map(key)) {
		return ""
	}
	if _, ours := keys.MeantBy("", key); ours == "_do" || ours == "_else_do" {
		return "" // a file has no loop and no condition around it
	}
	return keys.SteeringHint(key, level)
}

// keyOfAdded finds the key that a hint names first.
var keyOfAdded = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`(_?[a-z]+)[:`]") })

// unknownKeyHint explains an invalid key; "" if nothing is known about it.
func unknownKeyHint(raw *param.Map, key string, known []string, level int) string {
	if s := keys.Ungated(key); s != "" && level == 0 {
		return s
	}
	if s := topHint(key, raw, level); s != "" && param.Nearest(key, known) == "" {
		return "'" + key + "': " + s
	}
	if s, remedy := keys.Misspelling(key, known, level, keys.AtTop); s != "" {
		return strings.TrimSuffix("'"+key+"': "+s+" "+remedy, " ")
	}
	if strings.Contains(key, "\u00a0") {
		return "there is a no-break space before '" + strings.TrimSpace(strings.Trim(key, "\u00a0")) + "', which only looks like a space: replace it with a space"
	}
	if m := lineNumbered().FindStringSubmatch(key); m != nil {
		return "each line begins with a number, as in a listing with line numbers: remove the numbers"
	}
	if keys.IsTask(raw.Map(key)) {
		return "'" + key + "' holds a task, and task names begin with +: write `" + keys.TaskName(key) + ":`"
	}
	if strings.HasSuffix(key, ">") {
		return "operators belong in tasks: put `" + key + "` under a key such as `+run:`"
	}
	return ""
}

// lineNumbered matches a key preceded by its line number.
var lineNumbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+[:|.]?\s+[+\w]`) })

// exportOf returns the workflow's exports, with the working directory of its folder.
func exportOf(raw *param.Map, folder string) (*param.Map, error) {
	v, _ := raw.Get("_export")
	export, ok := v.(*param.Map)
	if v != nil && !ok {
		return nil, param.Errorf("Parameter '_export' must be an object")
	}
	if folder == "" {
		return export, nil
	}
	if own, _ := export.Get("_workdir"); own != nil {
		text, err := param.AsString("_workdir", own)
		if err != nil {
			return export, err
		}
		folder += "/" + text
	}
	export = export.Clone()
	export.Set("_workdir", folder)
	return export, nil
}

// paramFaults returns problems of `params` that depend on the rest of the file.
func paramFaults(w Workflow) (problems []Problem) {
	export := w.Config.Map("_export")
	for _, p := range keys.ParamsOf(w.Config).List {
		fail := func(message, hint string) {
			problems = append(problems, Problem{Path: []string{keys.ParamsKey, p.Name}, Error: Error{Message: message, Hint: hint}})
		}
		switch {
		case export.Has(p.Name):
			fail(fmt.Sprintf("'%s' is also set by `_export` at the top, which would override the value of a start", p.Name), "remove it there and write its value as `default` here")
		case p.Required && p.Default == nil && w.Config.Has("schedule"):
			fail(fmt.Sprintf("the schedule would start the workflow without '%s', which is required", p.Name), "write a default, or remove `required`")
		}
	}
	return problems
}
