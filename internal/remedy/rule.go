package remedy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"
	"zerodag/operators"
)

// remedyRule is a fix for one form of error; {1} stands for the match of the form's first group.
type remedyRule struct {
	form   *regexp.Regexp
	remedy string
}

var remedyRules = sync.OnceValue(func() (list []remedyRule) {
	for _, r := range [][2]string{
		{`'_command'`, "'_command' is the value after {operator}>:, which takes: {takes}"},
		{`^Command failed with code 127`, "code 127 means that the shell did not find a program: is it on the PATH of the machine that runs the task? The same happens if the first line of a script ends with CR LF, as on Windows"},
		{`^Command failed with code 126`, "code 126 means that the shell may not execute a file: chmod +x?"},
		{`^Failed to evaluate a variable (?s:.*?)\$\{([A-Za-z_]\w*):[-=?+]`, "${{1}:...} is shell syntax: put the script in a file, or write ${this.{1} || '...'} if it is a parameter"},
		{`^Invalid parametrization: '\$\{([A-Za-z_]\w*):[-=?+]`, "${{1}:...} is shell syntax, and a second $ does not help: put the script in a file, or write ${this.{1} || '...'} if it is a parameter"},
		{`^Invalid parametrization: `, "${NAME:KEY} refers to a secret, like ${secret:KEY}; put shell syntax in a separate script file"},
		{`\(ReferenceError: ([A-Z][A-Z0-9_]*) is not defined\)`, "${{1}} refers to a parameter, not to an environment variable: in sh>, write ${1} without braces; otherwise pass it with -p {1}=\"${1}\""},
		{`\(ReferenceError: (\w+) is not defined\)`, "there is no parameter {1}: pass it with -p {1}=..., export it with `_export: {{1}: ...}`, store it in an earlier task, or write ${this.{1} || '...'}"},
		{`\(TypeError: Cannot read property '([^']*)' of`, "the part before .{1} has no value: `zerodag run --show-params` shows the parameters of each task"},
		{`^Failed to evaluate a variable (?s:.*)toLocaleString\((?s:.*)radix`, "expressions support only English: format it in a task with py> or sh>"},
		{`^Failed to evaluate a variable (?s:.*)took longer than`, "compute it in a task, for example with py>, and store the result"},
		{`^Failed to evaluate a variable (?s:.*)JSON\.parse\((?s:.*)\(SyntaxError: `, "the text given to JSON.parse is not JSON, but perhaps an error page: print it in an earlier task with echo>"},
		{`^Failed to evaluate a variable (?s:.*)\(SyntaxError: `, "text between ${ and } is JavaScript, and this is invalid (`zerodag docs expressions`); put shell syntax in a separate script file"},
		{`^Failed to evaluate a variable `, "text between ${ and } is JavaScript (`zerodag docs expressions`)"},
		{`No module named '([^']*[/\\][^']*)'`, "write py> as MODULE.FUNCTION, with dots between folders, not as a path: `py>: tasks.main` is main in tasks.py, `py>: jobs.load.main` is main in jobs/load.py"},
		{`No module named '([^']+)'`, "py> searches for {1}.py in the project folder, then for modules installed for the `python` that runs it: does the file exist, or do you need `pip install`?"},
		{`Module '([^']+)' has no attribute '([^']+)'`, "write py> as MODULE.FUNCTION or MODULE.CLASS.METHOD: is there a `def {2}` in {1}.py? If there is, the Python module {1} hides the file: rename it"},
		{`Failed to call python command with code:`, "the function called sys.exit, which fails the task: return instead, or raise an error, whose message becomes that of the task"},
		{`'([^']+)' object has no attribute '([^']+)'`, "is there a `def {2}` in the class {1}?"},
		{`[Mm]ethod '[^']+' requires parameter '([^']+)'`, "write `{1}: ...` in the task, pass it with -p {1}=..., or give the argument a default"},
		{`uninitialized constant (\w+)`, "write `_export: {rb: {require: FILE}}` with the project file that defines {1}"},
		{`syntax error at or near "\$"|unterminated dollar-quoted string`, "$$ becomes a single $ before the database sees it: write $$$$, or quote with a name, such as $body$"},
		{`^Cannot run program .*argument list too long`, "the command receives every parameter of the task, whether used or not"},
		{`^prepare scratch folder: .*(?:permission denied|read-only file system)`, "commands need a writable folder below the project folder: run a copy that you own, such as `cp -R . ~/project && cd ~/project`"},
		{`^Cannot run program .*there is no such directory`, "_workdir must be a folder below the project folder: does it exist?"},
		{`^File not found: `, "the path is relative to the project folder, or to _workdir"},
		{`^Parameter '(\w+)' must be an object`, "write names and values below it: `{1}: {name: value}`"},
		{`^Parameter '([a-z]\w*)' is required but null(?: \(config\))?$`, "{1} is null: write a value, or '' for an empty text. Commands receive exported parameters as environment variables, which cannot be null"},
		{`^Parameter '([a-z]\w*)' is required but (?:not set|null)(?: \(config\))?$`, "write `{1}: ...` {below}"},
		{`^Expected 'true' or 'false' for key '_(?:if|disable)'`, "write the whole comparison inside ${...}, as in `_if: ${rows > 0}`; on, off, yes and no are text in expressions"},
		{`^Invalid _retry|^Invalid retry_interval_type`, "write a number, or {limit: 3, interval: 10} with intervals in seconds; interval_type is constant or exponential"},
		{`^Invalid _parallel`, "write true or false, or {limit: 2}"},
		{`^A task can't have more than one operator`, "give each operator a separate task"},
		{`invalid port|cannot parse|invalid character .* in host name|no Host in request URL`, "write http:// or https://, a host and optionally :PORT (at most 65535) and a path"},
		{`unsupported protocol scheme|^Invalid URI`, "addresses begin with http:// or https://"},
		{`connection refused|no such host|i/o timeout|no route to host`, "is the address correct, and can the machine that runs the task reach it?"},
		{`^Missing SMTP configuration`, "write `host: ...` in the task or `_export: {mail: {host: ..., port: ..., from: ...}}`, or set the secrets mail.host, mail.username and mail.password"},
		{`^Dependent workflow does not exist`, "require> names a workflow of this project; set project_name for a different project"},
	} {
		list = append(list, remedyRule{regexp.MustCompile(r[0]), r[1]})
	}
	return list
})

// byRule returns the remedy of the first rule whose form matches the message, or "" if none does.
func (f Fault) byRule(operator string) string {
	if text := f.notFound(); text != "" {
		return text
	}
	for _, r := range remedyRules() {
		found := r.form.FindStringSubmatch(f.Message)
		if found == nil {
			continue
		}
		if strings.Contains(found[0], "ReferenceError") {
			if text := f.unknownName(found[1]); text != "" {
				return text
			}
		}
		text := strings.NewReplacer("{operator}", operator, "{takes}", operators.Takes(operator), "{below}", f.below(found)).Replace(r.remedy)
		for i, part := range found {
			text = strings.ReplaceAll(text, "{"+strconv.Itoa(i)+"}", part)
		}
		return text
	}
	return ""
}

// below returns where a missing required parameter belongs: below the key that has its siblings, otherwise in the task.
func (f Fault) below(found []string) string {
	if len(found) < 2 {
		return ""
	}
	if f.Config.Map("_retry") != nil && slices.Contains([]string{"limit", "interval"}, found[1]) {
		return "below _retry:"
	}
	operator := keys.OperatorOf(f.Config)
	if f.Config.Map("_parallel") != nil && found[1] == "limit" {
		return "below _parallel:"
	}
	if m := f.Config.Map(operator + ">"); m != nil && !m.Has("data") { // {data: TEXT} is only a string
		return "below " + operator + ">:"
	}
	return "in the task, or export it: `_export: {" + found[1] + ": ...}`"
}
