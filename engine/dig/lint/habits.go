package lint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"
	"zerodag/engine/dig/lint/shell"

	"zerodag/engine/param"
)

// habits warns about things that work in other tools but mean nothing, or something else, here.
func (c *critic) habits(path []string, task string, config *param.Map) {
	at := func(keys ...string) []string { return slices.Concat(path, keys) }
	if len(path) > 0 && config.Has(keys.LevelKey) {
		c.warn(at(keys.LevelKey), task, "write `zerodag: 1` at the top of the file, without indentation", "zerodag has no effect in a task")
	}
	for key, v := range config.All() {
		if !strings.HasPrefix(key, "+") && !keys.HoldsTasks(config, key) {
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
	if script, isText := config.Value("sh>").(string); isText {
		c.scriptHabits(at("sh>"), task, script, config)
	}
}

// passwords returns names that can only mean a secret.
func passwords() []string {
	return []string{"password", "passwd", "api_key", "apikey", "secret_key", "secret_access_key", "access_token", "private_key"}
}

// password warns about a secret that is written into a workflow.
func (c *critic) password(place []string, task, key string, v param.Value) {
	text, isText := v.(string)
	if isText && text != "" && slices.Contains(passwords(), strings.ToLower(key)) && !strings.Contains(text, "${") {
		c.warn(place, task, "remove it and set a secret: `zerodag secrets --project NAME --set KEY`; operators read passwords from secrets, not from parameters",
			"the value of %s is visible to everyone who can read the workflow", key)
	}
}

// Forms in expressions that JavaScript and moment accept but that authors rarely intend.
var (
	dateSum = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(session_date|session_time|session_local_time|last_session_date|next_session_date)\s*\+\s*\d`)
	})
	momentText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\bmoment\(\s*['"](\d{1,2}([./-])(\d{1,2})[./-](?:\d{4}|\d{2}))['"]\s*\)`)
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
		for inner := range keys.Expressions(x) {
			if found := dateSum().FindStringSubmatch(inner); found != nil {
				c.warn(place, task, "write ${moment("+found[1]+").add(1, 'days').format('YYYY-MM-DD')}", "%s is text, so + appends the number to it", found[1])
			}
			if found := momentText().FindStringSubmatch(inner); found != nil {
				parts := []string{"DD", "MM", "YYYY"}
				if n, _ := strconv.Atoi(found[3]); n > 12 {
					parts = []string{"MM", "DD", "YYYY"}
				}
				form := strings.Join(parts, found[2])
				c.warn(place, task, "write it as 2026-12-31, or give its format: moment('"+found[1]+"', '"+form+"')", "moment may mistake the day of %s for the month", found[1])
			}
		}
	}
}

// percent matches a variable written as in cmd.exe, and ofWindows lists variables that every Windows system sets.
var (
	percent   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%([A-Za-z_]\w*)%`) })
	ofWindows = []string{"APPDATA", "CD", "COMPUTERNAME", "ERRORLEVEL", "HOMEDRIVE", "HOMEPATH", "PATH", "PROGRAMFILES", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE", "WINDIR"}
)

func (c *critic) scriptHabits(place []string, task, script string, config *param.Map) {
	scripts{c}.scriptText(place, task, script, config)
	for _, found := range percent().FindAllStringSubmatch(script, -1) {
		if slices.Contains(ofWindows, strings.ToUpper(found[1])) || c.variable(found[1]) {
			c.warn(place, task, "in a shell, write $"+found[1], "%s is not expanded: only Windows' cmd.exe replaces it", found[0])
			break
		}
	}
	if program, is := shell.Interpreter(script); is && program != "/bin/sh" && !config.Has("shell") && !c.exports.Has("shell") && !c.exports.Map("sh").Has("shell") {
		c.warn(place, task, "write `shell: ["+strings.Join(strings.Fields(program), ", ")+"]`", "the first line of the script is a comment: /bin/sh runs it, not %s", program)
	}
}
