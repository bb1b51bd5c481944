package dig

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// habits warns of what works in other places and means nothing, or something else, here.
func (c *critic) habits(path []string, task string, config *param.Map) {
	at := func(keys ...string) []string { return slices.Concat(path, keys) }
	if len(path) > 0 && config.Has(levelKey) {
		c.warn(at(levelKey), task, "write `zerodag: 1` at the top of the file, without indentation", "zerodag of a task has no effect")
	}
	for key, v := range config.All() {
		if !strings.HasPrefix(key, "+") && !holdsTasks(config, key) {
			c.expressionHabits(at(key), task, v)
		}
	}
	for key, v := range config.All() {
		c.password(at(key), task, key, v)
	}
	for key, v := range config.Map("_export").All() {
		c.password(at("_export", key), task, key, v)
		inner, _ := v.(*param.Map)
		for name, value := range inner.All() {
			c.password(at("_export", key, name), task, name, value)
		}
	}
	if script, isText := valueOf(config, "sh>").(string); isText {
		c.scriptHabits(at("sh>"), task, script, config)
	}
}

// passwords are names under which nothing but a secret can be meant.
func passwords() []string {
	return []string{"password", "passwd", "api_key", "apikey", "secret_key", "secret_access_key", "access_token", "private_key"}
}

// password warns of a secret that is written into a workflow.
func (c *critic) password(place []string, task, key string, v param.Value) {
	text, isText := v.(string)
	if isText && text != "" && slices.Contains(passwords(), strings.ToLower(key)) && !strings.Contains(text, "${") {
		c.warn(place, task, "remove it, and set a secret: `zerodag secrets --project NAME --set KEY`; operators read secrets, not parameters, for passwords",
			"%s is written into the workflow, where everyone who may read it sees the value", key)
	}
}

// What expressions have in JavaScript and in moment that is hardly meant.
var (
	dateSum = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(session_date|session_time|session_local_time|last_session_date|next_session_date)\s*[+-]\s*\d`)
	})
	lowerDates = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\.format\(\s*['"][^'"]*(yyyy|-mm-dd|dd[/.]mm)[^'"]*['"]`)
	})
)

func (c *critic) expressionHabits(place []string, task string, v param.Value) {
	switch x := v.(type) {
	case []param.Value:
		for _, e := range x {
			c.expressionHabits(place, task, e)
		}
	case *param.Map:
		for key, e := range x.All() {
			c.expressionHabits(append(slices.Clone(place), key), task, e)
		}
	case string:
		for inner := range expressions(x) {
			if found := dateSum().FindStringSubmatch(inner); found != nil {
				c.warn(place, task, "write ${moment("+found[1]+").add(1, 'days').format('YYYY-MM-DD')}", "%s is a text, to which a number is appended", found[1])
			}
			if lowerDates().MatchString(inner) {
				c.warn(place, task, "write YYYY-MM-DD, and HH:mm:ss for a time", "moment reads yyyy as the year of an era, mm as minutes and dd as a day of the week")
			}
		}
	}
}

// Scripts of one line whose effect ends with them.
var (
	onlyCD     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^cd\s+[^;&|\n]+$`) })
	onlyExport = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^export\s+\w+=[^;&|\n]*$`) })
)

func (c *critic) scriptHabits(place []string, task, script string, config *param.Map) {
	trimmed := strings.TrimSpace(script)
	switch {
	case onlyCD().MatchString(trimmed):
		c.warn(place, task, "write `_workdir: FOLDER` at the tasks that should run there", "cd ends with its task: the next task runs in the folder of the project again")
	case onlyExport().MatchString(trimmed):
		c.warn(place, task, "write the variable into `_env` or `_export` of the tasks that read it", "a variable ends with its task: the next task does not have it")
	}
	first, _, _ := strings.Cut(trimmed, "\n")
	program, isShebang := strings.CutPrefix(first, "#!")
	program = strings.TrimSpace(program)
	if isShebang && program != "/bin/sh" && !config.Has("shell") && !c.exports.Has("shell") && !c.exports.Map("sh").Has("shell") {
		c.warn(place, task, "write `shell: ["+strings.Join(strings.Fields(program), ", ")+"]`", "the first line of the script is a comment: /bin/sh runs it, not %s", program)
	}
}

// missingDays warns of a monthly schedule on a day that some months do not have.
func (c *critic) missingDays(config *param.Map) {
	text, _ := valueOf(config, "monthly>").(string)
	day, _, _ := strings.Cut(text, ",")
	if slices.Contains([]string{"29", "30", "31"}, strings.TrimSpace(day)) {
		c.warn([]string{"schedule", "monthly>"}, "", "for the last day of each month, write `cron>: \"0 7 L * *\"`", "months without a day %s have no session", strings.TrimSpace(day))
	}
}
