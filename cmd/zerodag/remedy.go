package main

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/all"
)

// fault is what is known of a task that failed.
type fault struct {
	message string
	config  *param.Map           // of the task
	project string               // of a server; "" for a run on this machine
	names   map[string]dig.Place // that the task's expressions see by what its workflow says; nil where that is not known
	lost    lostNames
	lines   []string // that it printed last
}

// lostNames are names under which tasks were to store values, and what became of those tasks: they have stored nothing.
type lostNames map[string]string

// add takes the names of a task that has failed, its error ignored or not, or was skipped.
func (l lostNames) add(task string, config *param.Map, failed, skipped bool) {
	end := " was skipped"
	if failed {
		end = " failed"
	}
	if !failed && !skipped {
		return
	}
	for _, name := range config.Map("_store").Keys() {
		l[name] = task + end
	}
}

// remedyRule says what mends the errors of a form; {1} is what the first group of the form has found.
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
		{`^Failed to evaluate a variable (?s:.*)took longer than`, "let a task compute it, such as one with py>, and store what it has found"},
		{`^Failed to evaluate a variable (?s:.*)\(SyntaxError: `, "what is between ${ and } is JavaScript, and there it is wrong (`zerodag docs expressions`); what is the shell's belongs into a script, a file of its own"},
		{`^Failed to evaluate a variable `, "what is between ${ and } is JavaScript (`zerodag docs expressions`)"},
		{`No module named '([^']+)'`, "py> looks for {1}.py in the folder of the project, then for what is installed for the `python` that runs it: is there such a file, or does `pip install` help?"},
		{`Module '([^']+)' has no attribute '([^']+)'`, "py> is written as MODULE.FUNCTION or MODULE.CLASS.METHOD: is there a `def {2}` in {1}.py?"},
		{`'([^']+)' object has no attribute '([^']+)'`, "is there a `def {2}` in the class {1}?"},
		{`[Mm]ethod '[^']+' requires parameter '([^']+)'`, "write `{1}: ...` into the task, give it with -p {1}=..., or give the argument a default"},
		{`uninitialized constant (\w+)`, "`_export: {rb: {require: FILE}}` names the file of the project that has {1}"},
		{`syntax error at or near "\$"|unterminated dollar-quoted string`, "$$ becomes a single $ before the database sees it: write $$$$, or quote with a name, such as $body$"},
		{`^Cannot run program .*argument list too long`, "every parameter that the task sees is given to the command, used or not"},
		{`^prepare scratch folder: .*(?:permission denied|read-only file system)`, "commands need a folder in which they may write, below that of the project: run a copy that is yours, such as `cp -R . ~/project && cd ~/project`"},
		{`^Cannot run program .*there is no such directory`, "_workdir is a folder below that of the project: is it there?"},
		{`^File not found: `, "the path is relative to the folder of the project, or to _workdir"},
		{`^Parameter '(\w+)' must be an object`, "write names and values below it: `{1}: {name: value}`"},
		{`^Parameter '([a-z]\w*)' is required but (?:not set|null)(?: \(config\))?$`, "write `{1}: ...` {below}"},
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

// missingSecret finds the key in the message of a task whose secret there is not.
var missingSecret = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Secret not found for key: '([^']+)'`) })

// missingFile matches the messages of programs about a missing file.
var missingFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`FileNotFoundError|No such file or directory|Errno::ENOENT|ENOENT: no such file`)
})

// remedies are what a failure can be mended with where its message alone does not say it, each a line or
// lines: how the operator is written where it was written wrongly.
func (f fault) remedies() []string {
	operator := dig.OperatorOf(f.config)
	if f.message == "" {
		return []string{"a reason can be given: `fail>: why`"}
	}
	if secret := missingSecret().FindStringSubmatch(f.message); secret != nil {
		where := "--local"
		if f.project != "" {
			where = "--project " + shellWord(f.project)
		}
		return []string{"zerodag secrets " + where + " --set " + shellWord(secret[1]) + "=-   reads it from stdin"}
	}
	if strings.HasPrefix(f.message, "Unknown task type: ") {
		return []string{unknownOperator(operator)}
	}
	if f.project != "" && missingFile().MatchString(f.message+"\n"+strings.Join(f.lines, "\n")) {
		return []string{"on a server each task begins with a fresh copy of the project: files that an earlier task wrote are not there. Write and read them in one task, or keep them elsewhere, such as in a bucket or a table"}
	}
	if key := f.ofRetry(); key != "" {
		return []string{"write _retry as a number, or as {limit: 3, interval: 10}: " + key + " is a whole number, that of an interval counts seconds"}
	}
	var list []string
	if text := f.byRule(operator); text != "" {
		list = append(list, text)
	} else if strings.Contains(f.message, " failed with code ") {
		return nil // what the program has printed says more
	} else if reason := operators.Reason(operator, f.message); reason != "" {
		list = append(list, reason)
	}
	if takes := operators.Takes(operator); takes != "" && strings.HasPrefix(f.message, "File not found: ") {
		list = append(list, operator+"> takes: "+takes)
	}
	if example := operators.Example(operator); example != "" && f.misread() {
		list = append(list, "`zerodag operators "+operator+"` shows how it is written, such as\n"+strings.TrimRight(example, "\n"))
	}
	return list
}

// byRule is the remedy of the first rule whose form the message has; "" for none.
func (f fault) byRule(operator string) string {
	for _, r := range remedyRules() {
		found := r.form.FindStringSubmatch(f.message)
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

// unknownName is the remedy for a name in an expression that nothing has; "" where only the rules know one.
func (f fault) unknownName(name string) string {
	if name == "secret" || name == "secrets" {
		return "a secret is written as ${secret:KEY}, in the operators that read secrets and in _env"
	}
	if what, is := f.lost[name]; is {
		return what + ", and so has not stored " + name + ": ask for it as ${this." + name + " || '...'}"
	}
	if f.config.Has(name) {
		return "a task's own parameters are not seen by its expressions: write `_export: {" + name + ": ...}`"
	}
	if meant := elsewhereNames()[name]; meant != "" {
		return "did you mean ${" + meant + "}?"
	}
	if slices.Contains([]string{"day", "days", "hour", "hours", "minute", "minutes", "week", "weeks", "month", "months", "year", "years"}, name) && unquotedUnit().MatchString(f.message) {
		return "quote the unit: '" + name + "'"
	}
	if near := param.Nearest(name, slices.Sorted(maps.Keys(f.names))); near != "" {
		return "did you mean ${" + near + "}, which has its value in " + f.names[near].String() + "?"
	}
	if near := param.Nearest(name, operators.VariableNames()); near != "" {
		return "did you mean ${" + near + "}?"
	}
	if near := param.Nearest(name, []string{"moment", "JSON", "Math", "Date", "parseInt", "parseFloat", "String", "Number", "encodeURIComponent"}); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// elsewhereNames are variables of this program by what others, or people, call them.
func elsewhereNames() map[string]string {
	return map[string]string{"date": "session_date", "today": "session_date", "ds": "session_date", "ds_nodash": "session_date_compact", "execution_date": "session_date", "logical_date": "session_time",
		"yesterday": "last_session_date", "tomorrow": "next_session_date", "time": "session_time", "timestamp": "session_unixtime", "run_id": "session_uuid"}
}

// unquotedUnit is a call of moment with a unit that is not in quotes.
var unquotedUnit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\.(?:add|subtract|startOf|endOf|diff)\([^'")]*\b(?:day|hour|minute|week|month|year)s?\b[^'"]`)
})

// wrongType finds the key in the message about a value of another type than is read.
var wrongType = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Expected .* for key '([^']+)' but got `) })

// ofRetry is the key below _retry that the message is about; "" where it is about something else.
func (f fault) ofRetry() string {
	m := wrongType().FindStringSubmatch(f.message)
	if m == nil || !slices.Contains(dig.RetryKeys(), m[1]) || !f.config.Map("_retry").Has(m[1]) || f.config.Has(m[1]) {
		return ""
	}
	return m[1]
}

// below says where a parameter belongs that is required and not there: below the one that has its neighbours, else
// into the task.
func (f fault) below(found []string) string {
	if len(found) < 2 {
		return ""
	}
	if f.config.Map("_retry") != nil && slices.Contains([]string{"limit", "interval"}, found[1]) {
		return "below _retry:"
	}
	operator := dig.OperatorOf(f.config)
	if f.config.Map("_parallel") != nil && found[1] == "limit" {
		return "below _parallel:"
	}
	if m := f.config.Map(operator + ">"); m != nil && !m.Has("data") { // {data: TEXT} is only a text
		return "below " + operator + ">:"
	}
	return "into the task, or export it: `_export: {" + found[1] + ": ...}`"
}

// misread says that a built-in operator was not written as it can be read.
func (f fault) misread() bool {
	if m := wrongType().FindStringSubmatch(f.message); m != nil {
		operator := dig.OperatorOf(f.config)
		own := operators.ParametersOf(operator)
		return len(own) == 0 || f.config.Map(operator+">").Has(m[1]) || m[1] == "_do" || m[1] == "_command" || slices.Contains(own, m[1])
	}
	return strings.Contains(f.message, "'_command'") || strings.Contains(f.message, "'_do'") || strings.Contains(f.message, "_else_do") ||
		strings.HasPrefix(f.message, "Expected ") || strings.HasPrefix(f.message, "Invalid ") && !strings.HasPrefix(f.message, "Invalid _") && !strings.HasPrefix(f.message, "Invalid parametrization")
}

// unknownOperator says which operator may have been meant.
func unknownOperator(name string) string {
	if text := operators.Missing(name); text != "" {
		return text
	}
	if near := likely(name, all.Registry().Names()); near != "" {
		return "did you mean " + near + ">? `zerodag operators` lists all of them"
	}
	return "`zerodag operators` lists the operators; executables in operators/ of the project are some, too"
}

// hintLines are remedies as lines below an error; the first of each begins with "hint: ".
func hintLines(remedies []string) (lines []string) {
	for _, text := range remedies {
		for i, line := range slices.Collect(strings.Lines(text)) {
			line = strings.TrimRight(line, "\n")
			if i == 0 {
				lines = append(lines, "hint: "+asCalled(line))
			} else {
				lines = append(lines, "  "+line)
			}
		}
	}
	return lines
}
