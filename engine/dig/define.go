package dig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/param"
)

// Define checks one raw workflow and rebuilds it as it is stored: the keys of the top
// level, all tasks, the time zone and the schedule. Errors is what is wrong with it.
func Define(name string, raw *param.Map) (Workflow, error) {
	d := define(nil, name, "", raw, nil)
	return d.Workflow, unplaced(slices.Concat(d.problems, d.wrong, d.unused))
}

// defined is a workflow and what is wrong with it; wrong and unused are of its schedule.
type defined struct {
	Workflow
	problems, wrong, unused []problem
}

// define is Define for a file in a folder of a project, nil is none, with the calendar that its schedule names; nil is none.
func define(read Source, name, folder string, raw, calendar *param.Map) defined {
	w, problems := rebuild(read, name, folder, raw)
	w.Config = withCalendar(w.Config, calendar)
	if fault := WorkflowNameFault(name); fault != "" && taskNameFault("+"+name) == "" {
		problems = append(problems, problem{Error: Error{
			Message: fmt.Sprintf("name %s: %q", fault, name), Hint: "rename the file"}})
	}
	language, config := Gate(w.Config)
	c := &compiler{language: language}
	c.tree("", "+"+name, config)
	problems = append(problems, c.problems...)
	problems = append(problems, paramFaults(w)...)
	unused, wrong := scheduleFaults(w)
	return defined{w, problems, wrong, unused}
}

// TopKeys are the keys of a workflow besides its tasks.
func TopKeys() []string { return append([]string{"timezone", "_export"}, storedKeys()...) }

// storedKeys follow _export in the stored config, in this order.
func storedKeys() []string {
	return []string{"schedule", "sla", "_error", "_check", "_retry", "_parallel"}
}

// rebuild checks the keys of the top level and puts them in their stored order. With
// a folder, `_workdir` is exported so that scripts run beside the file.
func rebuild(read Source, name, folder string, raw *param.Map) (Workflow, []problem) {
	w := Workflow{Name: name, Zone: "UTC", Config: param.New()}
	var problems []problem
	fail := func(key, hint, message string) {
		problems = append(problems, problem{path: []string{key}, Error: Error{Message: message, Hint: hint}})
	}
	level, fault, hint := levelOf(raw)
	if fault != "" {
		fail(levelKey, hint, fault)
	}
	known, stored := append(TopKeys(), levelKey), storedKeys()
	if level > 0 {
		known, stored = append(known, AddedKeys(AtTop)...), append(stored, AddedKeys(AtTop)...)
		w.Config.Set(levelKey, int64(level))
	}
	if v, _ := raw.Get("timezone"); v != nil && v != "" { // an empty text is none, as in the original
		var err error
		if w.Zone, err = zoneOf(v); err != nil {
			fail("timezone", "", err.Error())
			w.Zone = "UTC"
		}
	}
	export, err := exportOf(raw, folder)
	if err != nil {
		fail("_export", "write it as keys and values", err.Error())
	}
	if export.Len() > 0 {
		w.Config.Set("_export", export)
	}
	for _, key := range stored {
		if v, ok := raw.Get(key); ok && key != levelKey {
			w.Config.Set(key, v)
		}
	}
	var unknown []string
	for key, v := range raw.All() {
		switch {
		case strings.HasPrefix(key, "+"):
			w.Config.Set(key, v)
			if strings.Contains(key, "^") {
				fail(key, "^ is for generated tasks", fmt.Sprintf("task name must not contain ^ character: %q", key))
			}
		case slices.Contains(known, key):
		case len(unknown) < maxListed:
			unknown = append(unknown, key)
		}
	}
	if level > 0 {
		w.Config = withDefaults(w.Config, read)
	}
	if len(unknown) > 0 {
		fail(unknown[0], "", fmt.Sprintf("Workflow '%s' includes unknown keys: [%s]", name, strings.Join(unknown, ", ")))
		explainKeys(&problems[len(problems)-1], raw, unknown, known, level)
	}
	return w, problems
}

// maxListed bounds how many wrong keys one message lists.
const maxListed = 20

// explainKeys gives a problem the explanation of the first wrong key that one is known for, and the further keys their own.
func explainKeys(p *problem, raw *param.Map, unknown, known []string, level int) {
	hints := make([]string, len(unknown))
	for i, key := range unknown {
		hints[i] = unknownKeyHint(raw, key, known, level)
		p.Hint = cmp.Or(p.Hint, hints[i])
	}
	p.Hint = cmp.Or(p.Hint, "the name of a task starts with + (quote it when it is a number: \"+1\"); parameters belong under _export")
	for i := 1; i < len(unknown); i++ {
		p.also = append(p.also, furtherKey(unknown[i], hints[i], p.Hint))
	}
}

// unknownKeyHint explains a wrong key; "" where nothing is known of it.
func unknownKeyHint(raw *param.Map, key string, known []string, level int) string {
	if s := ungated(key); s != "" && level == 0 {
		return s
	}
	if s, remedy := slip(key, known, level, AtTop); s != "" {
		return strings.TrimSuffix("'"+key+"': "+s+" "+remedy, " ")
	}
	if strings.Contains(key, "\u00a0") {
		return "there is a no-break space before '" + strings.TrimSpace(strings.Trim(key, "\u00a0")) + "', which only looks like a blank: replace it by a blank"
	}
	if isTask(raw.Map(key)) {
		return "'" + key + "' holds a task, and the name of a task begins with +: write `" + marked(key) + ":`"
	}
	if strings.HasSuffix(key, ">") {
		return "an operator belongs into a task: put `" + key + "` under a key such as `+run:`"
	}
	return ""
}

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
