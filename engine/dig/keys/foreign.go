package keys

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// OfDagu maps keys of steps in Dagu, which its users write out of habit, to their equivalents here.
func OfDagu(key string) string {
	return map[string]string{
		"command":               "`sh>`",
		"script":                "`sh>: |` with the lines below it",
		"depends":               "`_after: [+NAME]`, in a group with `_parallel: true`",
		"dir":                   "`_workdir` with a folder of the project",
		"working_dir":           "`_workdir` with a folder of the project",
		"stdout":                "`> FILE` in the command",
		"stderr":                "`2> FILE` in the command",
		"output":                "`_store: {NAME: stdout}`",
		"preconditions":         "`_if`",
		"continue_on":           "`_ignore_error`",
		"retry_policy":          "`_retry`",
		"repeat_policy":         "`_repeat`",
		"timeout_sec":           "`_timeout: 30s`",
		"handler_on":            "`_error`, `_finally` and `_cancel`",
		"signal_on_stop":        "`_cancel`: the signal cannot be chosen",
		"max_clean_up_time_sec": "`_timeout: {grace: 10s}`",
		"mail_on_error":         "`_error` with `mail>`, or a setting of the server",
		"container":             "`docker: {image: IMAGE}`",
	}[snakeCase(key)]
}

// snakeCase converts timeoutSec, as in older Dagu files, to timeout_sec.
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

// foreignKeys maps keys of this language to the keys that other tools use for the same thing. They may begin with _.
var foreignKeys = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"`_if: ${...}`":                                                          {"when", "condition", "conditions", "only_if", "run_if", "if_condition", "unless"},
		"`_do` with tasks below it":                                              {"then", "body", "tasks", "steps", "loop_body", "each"},
		"`_else_do` with tasks below it":                                         {"else", "otherwise", "elif", "else_if"},
		"`_disable: true`, or remove the task":                                   {"enabled", "disabled", "enable", "skip", "active"},
		"`_after: [+NAME]`, in a group with `_parallel: true`":                   {"depends_on", "depends", "dependencies", "needs", "upstream", "run_after", "requires", "wait_for"},
		"`_after: [+NAME]` at the other task, in a group with `_parallel: true`": {"before", "downstream", "run_before"},
		"`_workdir` with a folder of the project":                                {"cwd", "chdir", "working_directory", "work_dir", "working_dir"},
		"`_retry: 3`, or {limit: 3, interval: 5}":                                {"retries", "max_retries", "retry_delay", "retry_count", "retry_interval", "max_attempts", "retry_limit"},
		"`_repeat`, which runs a task until a condition is met":                  {"while", "until", "repeat_until", "poll"},
		"`_ignore_error: true`":                                                  {"ignore_errors", "continue_on_error", "allow_failure", "allow_failures", "ignore_failure", "continue_on_failure", "ignore_failures"},
		"`_error` with tasks below it":                                           {"on_failure", "on_error", "on_failure_callback", "rescue", "catch", "except", "on_fail", "failure", "on_errors", "onerror", "onfailure", "error_handler"},
		"`_check` with tasks below it, which run on success":                     {"on_success", "on_success_callback", "success", "onsuccess"},
		"`_finally` with tasks below it":                                         {"always", "on_exit", "ensure", "on_completion", "on_complete", "teardown", "after_script", "cleanup"},
		"`_timeout: 30s`":                                                        {"timeout_seconds", "timeout_minutes", "execution_timeout", "timeout_secs", "time_limit", "deadline"},
		"`_error` or `_finally`, or `_ignore_error` at earlier tasks":            {"trigger_rule"},
		"`_env: {NAME: value}`":                                                  {"environment", "env_vars", "environ", "envs", "env_variables"},
		"`_store: {NAME: stdout}`, and ${NAME} in later tasks":                   {"output", "outputs", "register", "save_as", "output_variable", "result"},
		"`_export: {NAME: value}`":                                               {"vars", "variables", "let", "set"},
		"each option as a key of the task, such as `_retry: 3`":                  {"options", "task_config"},
		"`for_each>` with the task below `_do`":                                  {"with_items", "matrix", "strategy", "foreach", "items"},
		"`docker: {image: IMAGE}`":                                               {"image", "container"},
		"`sandbox: {cpu: 1, memory: 2GiB}`":                                      {"resources", "limits"},
		"each of its keys as a key of the task, such as `x: 5`":                  {"with", "inputs", "arguments", "kwargs", "op_kwargs"},
		"them after the command, as in `sh>: ./run.sh a b`":                      {"args", "argv"},
	}
})

// httpBody lists names that other clients use for a request's body.
var httpBody = []string{"body", "data", "json", "payload", "form"}

// ForeignName returns a key in the form used in the tables of other tools' keys.
func ForeignName(key string) string {
	return strings.TrimLeft(strings.ReplaceAll(snakeCase(key), "-", "_"), "_")
}

// MeantBy returns this language's equivalent of another tool's key, and the key in that equivalent; "" if unknown.
func MeantBy(operator, key string) (meant, ours string) {
	name := ForeignName(key)
	own := "_" + name
	switch isHTTP := operator == "http" || operator == "http_call"; {
	case isHTTP && slices.Contains(httpBody, name):
		return "`content`, with `content_format: json` or `form` if needed", ""
	case (operator == "py" || operator == "rb") && slices.Contains([]string{"args", "arguments", "kwargs", "op_args", "op_kwargs", "params", "parameters"}, name):
		return "each argument as a key of the task, named as in the function", ""
	case isHTTP && name == "params":
		return "`query`, or `content` for the body", ""
	case own == key:
	case slices.Contains(TaskKeys(), own) && own != "_type" && own != "_command", slices.Contains(Added(AtTask), own) && own != LevelKey:
		return "`" + own + "`", own
	}
	meant = meantElsewhere(name)
	return meant, keyIn().FindString(meant)
}

// meantElsewhere returns this language's equivalent of other tools' key; "" if unknown.
func meantElsewhere(name string) string {
	for _, meant := range slices.Sorted(maps.Keys(foreignKeys())) {
		if slices.Contains(foreignKeys()[meant], name) {
			return meant
		}
	}
	return ""
}

// keyIn matches the key in MeantBy's results.
var keyIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_[a-z_]+`) })

// SteeringHint returns the hint for an unknown key that begins with _, or for an unknown key in a group; "" if nothing
// is known about it.
func SteeringHint(key string, level int) string {
	meant, ours := MeantBy("", key)
	if meant == "" {
		return ""
	}
	if level == 0 && NeedsGate(ours) {
		meant += ", which needs `zerodag: 1` at the top of the file"
	}
	return "write " + meant
}

// NeedsGate reports whether a key of a task has no meaning without `zerodag: 1`.
func NeedsGate(key string) bool {
	return key != "" && Ungated(key) != "" && !slices.Contains(TaskKeys(), key)
}

// operatorsElsewhere maps operators to the keys with which other tools run the same thing.
var operatorsElsewhere = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"sh>":   {"sh", "run", "command", "cmd", "script", "shell", "bash", "exec", "commands", "bash_command"},
		"py>":   {"py", "python", "python_callable"},
		"rb>":   {"rb", "ruby"},
		"echo>": {"echo", "print"},
		"http>": {"http", "curl"},
		"pg>":   {"pg", "psql", "postgres"},
		"call>": {"call", "workflow"},
	}
})

// OfElsewhere returns the operator that a key without a > means, as written for other tools, on web pages or by
// mistake; "" if none.
func OfElsewhere(key string) string {
	name := strings.ToLower(strings.TrimRight(strings.TrimSuffix(key, "&gt;"), " <>)}]:;=-.»›"))
	for _, operator := range slices.Sorted(maps.Keys(operatorsElsewhere())) {
		if slices.Contains(operatorsElsewhere()[operator], name) {
			return operator
		}
	}
	if name != "" && name != strings.ToLower(key) && EnvName().MatchString(name) {
		return name + ">"
	}
	return ""
}
