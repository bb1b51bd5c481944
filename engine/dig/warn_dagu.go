package dig

import (
	"slices"
	"strings"
	"unicode"

	"zerodag/engine/param"
)

// ofDagu are keys of steps in Dagu, which its users write out of habit, and what does the same here.
func ofDagu(key string) string {
	return map[string]string{
		"command":               "`sh>`",
		"script":                "`sh>: |` with the lines below it",
		"depends":               "`_after: [+NAME]`, in a group with `_parallel: true`",
		"dir":                   "`_workdir`, a folder of the project",
		"working_dir":           "`_workdir`, a folder of the project",
		"stdout":                "`> FILE` in the command",
		"stderr":                "`2> FILE` in the command",
		"output":                "`_store: {NAME: stdout}`",
		"preconditions":         "`_if`",
		"continue_on":           "`_ignore_error`",
		"retry_policy":          "`_retry`",
		"repeat_policy":         "`_repeat`",
		"timeout_sec":           "`_timeout: 30s`",
		"handler_on":            "`_error`, `_finally` and `_cancel`",
		"signal_on_stop":        "`_cancel`: no signal can be chosen",
		"max_clean_up_time_sec": "`_timeout: {grace: 10s}`",
		"mail_on_error":         "`_error` with `mail>`, or a setting of the server",
		"container":             "`docker: {image: IMAGE}`",
	}[snakeCase(key)]
}

// snakeCase writes timeoutSec, as older files of Dagu have it, as timeout_sec.
func snakeCase(key string) string {
	var b strings.Builder
	for _, r := range key {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// dagu warns of a key of a step of Dagu beside an operator that does not read it. Files without `zerodag: 1` may have
// such names for variables of their own, and so may whatever hands all of its keys to a function or to its command.
func (c *critic) dagu(place []string, task, operator, key string, config *param.Map) bool {
	meant := ofDagu(key)
	if c.level == 0 || meant == "" || operator == "py" || operator == "rb" || slices.ContainsFunc(config.Keys(), func(k string) bool { return asksShellFor(valueOf(config, k), key) }) {
		return false
	}
	c.warn(place, task, "write "+meant+"; a variable of your own needs another name, or _export", "%s is Dagu's, and is not read by %s>", key, operator)
	return true
}

// asksShellFor says whether a text has $NAME or ${NAME}, for which a command has each key of its task.
func asksShellFor(v param.Value, name string) bool {
	text, _ := v.(string)
	return strings.Contains(text, "$"+name) || strings.Contains(text, "{"+name)
}
