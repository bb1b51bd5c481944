package document

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"zerodag/engine/param"
)

// handling is how the translation treats a Dagu key.
type handling int

const (
	// translated marks keys that the translation supports.
	translated handling = iota + 1
	// elsewhere marks a key for a setting that is configured elsewhere on a server: it gets a note.
	elsewhere
	// dropped marks a key without a counterpart that affects neither what a command does nor where it runs: it gets a
	// warning.
	dropped
	// refused marks a key without a counterpart that decides where, how or whether a command runs: the step must not run.
	refused
)

// Key describes how a Dagu key is handled, with a remedy if it is not translated.
type Key struct {
	how    handling
	remedy string
}

// keysOf returns a table of keys: names lists the translated keys.
func keysOf(names string, others map[string]Key) map[string]Key {
	table := others
	for name := range strings.FieldsSeq(names) {
		table[name] = Key{how: translated}
	}
	return table
}

const (
	keptByServer = "the server decides how long attempts are kept"
	logsByServer = "the server keeps the logs: read them with `zerodag log`"
	ownMail      = "write an `_error` with `mail>` or `notify>`"
	askModel     = "run a command that queries the model"
)

// TopKeys returns a workflow's keys.
var TopKeys = sync.OnceValue(func() map[string]Key {
	return keysOf(`name description labels tags group type shell shell_args working_dir schedule skip_if_successful
		catchup_window overlap_policy env dotenv consts handler_on step_types actions steps timeout_sec
		delay_sec preconditions max_active_runs max_active_steps params retry_policy container secrets
		defaults ssh s3 queue worker_selector`, map[string]Key{
		"hist_retention_days": {elsewhere, keptByServer}, "hist_retention_runs": {elsewhere, keptByServer},
		"log_dir": {elsewhere, logsByServer}, "log_output": {elsewhere, logsByServer},
		"max_output_size":       {elsewhere, "the values of a task have at most 64 KiB"},
		"otel":                  {elsewhere, "see `config.otel` on the server page"},
		"max_clean_up_time_sec": {elsewhere, "write `grace` in `_timeout`"},
		"restart_wait_sec":      {elsewhere, "workflows are not restarted at fixed times"},
		"artifacts":             {elsewhere, "artifacts stay in a folder on the machine that runs the commands"},
		"smtp":                  {dropped, "see `mail>` and the mail settings of the server"},
		"mail_on":               {dropped, ownMail}, "error_mail": {dropped, ownMail},
		"info_mail": {dropped, "add a final task with `mail>`"}, "wait_mail": {dropped, "tasks do not wait for people"},
		"webhook":        {dropped, "let the caller use PUT /api/attempts of the REST API"},
		"registry_auths": {dropped, "log in to the registry on the machine that runs the commands"},
		"redis":          {elsewhere, "steps that use Redis are rejected"},
		"llm":            {dropped, askModel},
		"harness":        {elsewhere, "steps that use it are rejected"}, "harnesses": {elsewhere, "steps that use them are rejected"},
		"kubernetes": {dropped, "run kubectl as a command"},
		"run_config": {dropped, "write `fixed: true` at parameters that a start must not change"},
		"resources":  {dropped, "write `sandbox: {cpu: ..., memory: ...}` at the tasks"},
		"tools":      {refused, "install the programs where the commands run, and remove `tools`"},
	})
})

// StepKeys returns the keys that a step may have.
var StepKeys = sync.OnceValue(func() map[string]Key {
	return keysOf(`name id description working_dir command run action exec executor shell shell_args script stdout
		stderr output outputs depends continue_on retry_policy repeat_policy preconditions call params
		parallel foreach env timeout_sec container type with config approval value routes worker_selector
		log_output`, map[string]Key{
		"mail_on_error":  {dropped, "write an `_error` with `mail>`"},
		"signal_on_stop": {dropped, "commands are terminated with SIGTERM"},
		"shell_packages": {refused, "install the packages where the commands run"},
		"llm":            {refused, askModel}, "messages": {refused, askModel}, "agent": {refused, askModel},
		"tools":         {refused, "install the programs where the commands run"},
		"output_schema": {refused, "write the rule in `_store`"},
		"inputs":        {refused, "builds that reuse earlier results are not supported"},
		"dependencies":  {elsewhere, "put the files in the project folder: a push includes them"},
	})
})

// earlier maps key names from earlier Dagu releases to today's names.
func earlier() map[string]string {
	return map[string]string{"precondition": "preconditions", "dir": "working_dir", "steptypes": "step_types"}
}

// named lists the keys whose mappings contain names that the author of the workflow chose.
func named() []string {
	return []string{"command", "run", "script", "env", "consts", "params", "headers", "query", "form", "files", "data",
		"values", "labels", "tags", "routes", "output", "outputs", "step_types", "actions",
		"input", "items", "collect", "metadata", "worker_selector", "harnesses", "registry_auths", "messages", "secrets"}
}

// snake returns a key as Dagu writes it today. Earlier releases wrote it as one word (retryPolicy) and ignored case.
func snake(name string) string {
	folded := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	for _, table := range []map[string]Key{TopKeys(), StepKeys()} {
		for known := range table {
			if strings.ReplaceAll(known, "_", "") == folded {
				return known
			}
		}
	}
	if now := earlier()[folded]; now != "" {
		return now
	}
	letters := []rune(name)
	var b strings.Builder
	for i, r := range letters {
		begins := unicode.IsUpper(r) && i > 0 && letters[i-1] != '_' && letters[i-1] != '-' &&
			(!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Worded returns a value with all its keys as Dagu writes them today.
func (d *Document) Worded(v param.Value) param.Value {
	switch x := v.(type) {
	case *param.Map:
		out := param.New()
		for name, e := range x.All() {
			now := snake(name)
			switch {
			case now == "steps":
				e = d.wordedSteps(e)
			case !slices.Contains(named(), now):
				e = d.Worded(e)
			}
			if out.Has(now) {
				d.Refuse(x, name, "remove one of the two", "%s appears twice", now)
			}
			out.Set(now, e)
		}
		return d.Made(out, x)
	case []param.Value:
		out := make([]param.Value, len(x))
		for i, e := range x {
			out[i] = d.Worded(e)
		}
		return out
	}
	return v
}

// wordedSteps is Worded for steps, which may be a mapping from names to steps.
func (d *Document) wordedSteps(v param.Value) param.Value {
	m, isMap := v.(*param.Map)
	if !isMap {
		return d.Worded(v)
	}
	out := param.New()
	for name, e := range m.All() {
		out.Set(name, d.Worded(e))
	}
	return d.Made(out, m)
}

// CheckKeys reports each key of a mapping that is not translated. of describes the mapping, such as " of a step".
func (d *Document) CheckKeys(m *param.Map, table map[string]Key, of string) {
	for _, name := range m.Keys() {
		switch k := table[name]; k.how {
		case translated:
		case elsewhere:
			d.Note(m, name, k.remedy, false, "%s%s is not set in the workflow", name, of)
		case dropped:
			d.Lost(m, name, k.remedy, "%s%s is not translated", name, of)
		case refused:
			d.Refuse(m, name, k.remedy, "%s%s is not translated", name, of)
		default:
			d.Refuse(m, name, "remove it, or write the step manually", "%s%s is unknown", name, of)
		}
	}
}
