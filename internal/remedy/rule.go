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

// remedyRule fixes the errors of a form; {1} is what the first group of the form has found.
type remedyRule struct {
	form   *regexp.Regexp
	remedy string
}

var remedyRules = sync.OnceValue(func() (list []remedyRule) {
	for _, r := range [][2]string{
		{`'_command'`, "'_command' is what stands behind {operator}>:, which takes: {takes}"},
		{`^Command failed with code 127`, "127 is what a shell says of a program that it does not find: is it on the PATH of the machine that runs the task? A script whose first line ends with CR LF, as on Windows, is none for it, too"},
		{`^Command failed with code 126`, "126 is what a shell says of a file that it may not run: chmod +x?"},
		{`^Failed to evaluate a variable (?s:.*?)\$\{([A-Za-z_]\w*):[-=?+]`, "${{1}:...} is the shell's: put the script into a file, or write ${this.{1} || '...'} if it is a parameter"},
		{`^Invalid parametrization: '\$\{([A-Za-z_]\w*):[-=?+]`, "${{1}:...} is the shell's, and a second $ does not help: put the script into a file, or write ${this.{1} || '...'} if it is a parameter"},
		{`^Invalid parametrization: `, "${NAME:KEY} asks for a secret, as ${secret:KEY} does; what is the shell's belongs into a script, a file of its own"},
		{`\(ReferenceError: ([A-Z][A-Z0-9_]*) is not defined\)`, "${{1}} is a parameter, and a variable of the environment is not: sh> knows it as ${1}, without braces; else give it with -p {1}=\"${1}\""},
		{`\(ReferenceError: (\w+) is not defined\)`, "no parameter is called {1}: give it with -p {1}=..., export it with `_export: {{1}: ...}`, let a task before store it, or write ${this.{1} || '...'}"},
		{`\(TypeError: Cannot read property '([^']*)' of`, "what stands before .{1} has no value: `zerodag run --show-params` shows what a task is given"},
		{`^Failed to evaluate a variable (?s:.*)toLocaleString\((?s:.*)radix`, "expressions support only English: a task with py> or sh> can write it as a language does"},
		{`^Failed to evaluate a variable (?s:.*)took longer than`, "let a task compute it, such as one with py>, and store what it has found"},
		{`^Failed to evaluate a variable (?s:.*)JSON\.parse\((?s:.*)\(SyntaxError: `, "what JSON.parse is given is no JSON, such as the page of an error: a task with echo> before this one shows it"},
		{`^Failed to evaluate a variable (?s:.*)\(SyntaxError: `, "what is between ${ and } is JavaScript, and there it is wrong (`zerodag docs expressions`); what is the shell's belongs into a script, a file of its own"},
		{`^Failed to evaluate a variable `, "what is between ${ and } is JavaScript (`zerodag docs expressions`)"},
		{`No module named '([^']*[/\\][^']*)'`, "py> is written as MODULE.FUNCTION, with points between folders, and not as a path: `py>: tasks.main` is main of tasks.py, `py>: jobs.load.main` that of jobs/load.py"},
		{`No module named '([^']+)'`, "py> looks for {1}.py in the folder of the project, then for what is installed for the `python` that runs it: is there such a file, or does `pip install` help?"},
		{`Module '([^']+)' has no attribute '([^']+)'`, "py> is written as MODULE.FUNCTION or MODULE.CLASS.METHOD: is there a `def {2}` in {1}.py? If there is, Python has a module {1} itself, which hides the file: rename it"},
		{`Failed to call python command with code:`, "the function called sys.exit, which fails the task: let it return, or raise an error whose message is then that of the task"},
		{`'([^']+)' object has no attribute '([^']+)'`, "is there a `def {2}` in the class {1}?"},
		{`[Mm]ethod '[^']+' requires parameter '([^']+)'`, "write `{1}: ...` into the task, give it with -p {1}=..., or give the argument a default"},
		{`uninitialized constant (\w+)`, "`_export: {rb: {require: FILE}}` names the file of the project that has {1}"},
		{`syntax error at or near "\$"|unterminated dollar-quoted string`, "$$ becomes a single $ before the database sees it: write $$$$, or quote with a name, such as $body$"},
		{`^Cannot run program .*argument list too long`, "every parameter that the task sees is given to the command, used or not"},
		{`^prepare scratch folder: .*(?:permission denied|read-only file system)`, "commands need a folder in which they may write, below that of the project: run a copy that is yours, such as `cp -R . ~/project && cd ~/project`"},
		{`^Cannot run program .*there is no such directory`, "_workdir is a folder below that of the project: is it there?"},
		{`^File not found: `, "the path is relative to the folder of the project, or to _workdir"},
		{`^Parameter '(\w+)' must be an object`, "write names and values below it: `{1}: {name: value}`"},
		{`^Parameter '([a-z]\w*)' is required but null(?: \(config\))?$`, "{1} is null: write a value, or '' for an empty text. A command has each exported parameter as a variable, and none can be null"},
		{`^Parameter '([a-z]\w*)' is required but (?:not set|null)(?: \(config\))?$`, "write `{1}: ...` {below}"},
		{`^Expected 'true' or 'false' for key '_(?:if|disable)'`, "write the whole comparison within ${...}, as in `_if: ${rows > 0}`; on, off, yes and no are texts for an expression"},
		{`^Invalid _retry|^Invalid retry_interval_type`, "write a number, or {limit: 3, interval: 10}, intervals in seconds; interval_type is constant or exponential"},
		{`^Invalid _parallel`, "write true or false, or {limit: 2}"},
		{`^A task can't have more than one operator`, "give each operator a task of its own"},
		{`invalid port|cannot parse|invalid character .* in host name|no Host in request URL`, "an address is http:// or https://, a host and, perhaps, :PORT up to 65535 and a path"},
		{`unsupported protocol scheme|^Invalid URI`, "an address begins with http:// or https://"},
		{`connection refused|no such host|i/o timeout|no route to host`, "is the address right, and can the machine that runs the task reach it?"},
		{`^Missing SMTP configuration`, "write `host: ...` into the task, or `_export: {mail: {host: ..., port: ..., from: ...}}`; secrets mail.host, mail.username, mail.password work as well"},
		{`^Dependent workflow does not exist`, "require> names a workflow of this project; project_name names another project"},
	} {
		list = append(list, remedyRule{regexp.MustCompile(r[0]), r[1]})
	}
	return list
})

// byRule is the remedy of the first rule whose form the message has; "" for none.
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

// below is where a missing required parameter belongs: below the key that has its siblings, otherwise into the task.
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
	if m := f.Config.Map(operator + ">"); m != nil && !m.Has("data") { // {data: TEXT} is only a text
		return "below " + operator + ">:"
	}
	return "into the task, or export it: `_export: {" + found[1] + ": ...}`"
}
