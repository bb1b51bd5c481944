package lint

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// misread warns about values that a built-in operator will refuse when its task runs.
func (c *critic) misread(at []string, task, operator, command string, config *param.Map) {
	if c.known.Misread == nil || !slices.Contains(c.known.BuiltIn, operator) {
		return
	}
	for key, v := range config.All() {
		name := key
		if key == command || command == "_type" && key == "_command" {
			name = operator + ">"
		}
		if why := c.known.Misread(operator, name, v); why != "" {
			of := ""
			if key != command {
				of = " as its " + key
			}
			c.warn(append(slices.Clone(at), key), task, why, "%s> cannot read %s%s, so the task will fail", operator, param.Sample(v), of)
		}
	}
}

// Forms in which other tools write variables in text.
var (
	jinja  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{[-\s]*([A-Za-z_][A-Za-z0-9_]*)[^{}]*\}\}`) })
	dollar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`) })
)

// Further forms: `$ {name}`, `$[name]` and `{name}`; and a command in text, as in a shell.
var (
	otherForms = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\$\s+\{([A-Za-z_]\w*)\}|\$\[([A-Za-z_]\w*)\]|(?:^|[^${\w])\{([A-Za-z_]\w*)\}`)
	})
	shellCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\([a-z][^()]*\)`) })
)

// Forms of further tools: `<%= name %>`, `%(name)s` and `%name%`; and a command in backticks, which Markdown also uses.
var (
	moreForms = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`<%=?\s*([A-Za-z_]\w*)\s*%>|%\(([A-Za-z_]\w*)\)s|%([A-Za-z_]\w*)%`)
	})
	backticks = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("`(date|hostname|whoami|pwd|uname|uptime|id)( [^`]*)?`|`(cat|ls|wc|head|tail|grep|awk|sed|cut|basename|dirname|expr) [^`]*`")
	})
)

// ofAirflow maps variables of Airflow's templates to the closest ones here.
var ofAirflow = map[string]string{
	"ds": "session_date", "ds_nodash": "session_date_compact", "ts": "session_time", "execution_date": "session_time", "logical_date": "session_time",
	"data_interval_start": "session_time", "data_interval_end": "next_session_time", "next_ds": "next_session_date", "prev_ds": "last_session_date",
	"run_id": "session_uuid", "dag_run": "session_uuid", "ti": "task_name", "task_instance": "task_name", "params": "NAME", "var": "NAME",
}

// ofJinja warns about a variable in double braces, and reports whether it did.
func (c *critic) ofJinja(place []string, task, text string) bool {
	m := jinja().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	name := ofAirflow[m[1]]
	if name == "" && c.variable(m[1]) {
		name = m[1]
	}
	switch {
	case name == "":
		return false
	case strings.Contains(text, "$"+m[0]):
		c.warn(place, task, "write ${"+name+"}, with one pair of braces", "$%s is a JavaScript object, not the value of %s", m[0], m[1])
	default:
		c.warn(place, task, "write variables as ${"+name+"} (`zerodag docs variables`)", "%s is not expanded", m[0])
	}
	return true
}

// ofShell warns about text that only a shell would replace with a command's output, and reports whether it did.
func (c *critic) ofShell(place []string, task, operator, text string) bool {
	inBackticks, inParentheses := backticks().FindString(text), shellCommand().FindString(text)
	shows := operator == "echo" || operator == "fail"
	switch {
	case inBackticks != "" && shows:
		c.warn(place, task, "write `sh>: echo \"...\"`: a shell runs it", "%s is not expanded because %s> runs no commands", inBackticks, operator)
	case inParentheses != "" && c.variable(strings.TrimSpace(inParentheses[2:len(inParentheses)-1])):
		c.warn(place, task, "write ${"+strings.TrimSpace(inParentheses[2:len(inParentheses)-1])+"}", "%s is not expanded", inParentheses)
	case inParentheses != "" && shows:
		c.warn(place, task, "write `sh>: echo \"...\"`: a shell runs it", "%s is not expanded because %s> runs no commands", inParentheses, operator)
	default:
		return false
	}
	return true
}

// foreign warns about variables in text that are written as in another program or a shell, and so are not expanded.
func (c *critic) foreign(place []string, task, operator string, v param.Value) {
	text, isText := v.(string)
	if !isText {
		return
	}
	if c.ofJinja(place, task, text) {
		return
	}
	if !slices.Contains(c.known.BuiltIn, operator) || len(c.known.parameters(operator)) == 0 && operator != "echo" && operator != "fail" || slices.Contains(c.known.parameters(operator), "_env") {
		return // a command has parameters in its environment
	}
	for _, form := range []*regexp.Regexp{otherForms(), moreForms()} {
		if m := form.FindStringSubmatch(text); m != nil && c.variable(cmp.Or(m[1], m[2], m[3])) {
			c.warn(place, task, "write ${"+cmp.Or(m[1], m[2], m[3])+"}", "%s is not expanded", strings.TrimSpace(m[0]))
			return
		}
	}
	if c.ofShell(place, task, operator, text) {
		return
	}
	for _, m := range dollar().FindAllStringSubmatch(text, -1) {
		if c.variable(m[1]) {
			c.warn(place, task, "write ${"+m[1]+"}", "$%s is not expanded: only a shell reads it without braces", m[1])
			return
		}
	}
}
