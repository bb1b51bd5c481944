package lint

import (
	"maps"
	"path"
	"slices"
	"strings"

	"zerodag/engine/dig"

	"zerodag/engine/dig/lint/shell"
	"zerodag/engine/param"
)

// endless warns about a request that Digdag's language retries without limit. A file with `zerodag: 1` has a limit.
func (c *critic) endless(place []string, task, operator string, config *param.Map) {
	if c.level > 0 || c.toldEndless || operator != "http" && operator != "http_call" {
		return
	}
	for _, key := range []string{"retry", "retry_for"} {
		if config.Has(key) || c.exports.Has(key) || c.exports.Map("http").Has(key) {
			return
		}
	}
	method := config.Value("method")
	if method == nil {
		method = c.exports.Map("http").Value("method")
	}
	text, isText := method.(string)
	if method == nil || isText && slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE"}, strings.ToUpper(text)) {
		c.toldEndless = true // once per file: its author repeats it out of habit
		c.warn(place, task, "write `retry_for: 10m`, or `retry: false`; `_export: {http: {retry_for: 10m}}` sets it for the whole file", "%s> retries forever while the server does not answer, even if its name is mistyped", operator)
	}
}

// retryCount warns about a number of retries if http> expects true or false.
func (c *critic) retryCount(at []string, task, operator string, config *param.Map) {
	v := config.Value("retry")
	n, isNumber := v.(int64)
	if operator != "http" && operator != "http_call" || !isNumber || n < 0 {
		return
	}
	c.warn(append(slices.Clone(at), "retry"), task, "write `retry_for: 1m` to limit the time, or `retry: false` and `_retry: "+param.Sample(v)+"` to limit the number of retries",
		"retry of %s> must be true or false; %d does not set the number of retries", operator, n)
}

// sqlOperators run SQL from text or a file.
var sqlOperators = []string{"pg", "redshift", "mysql", "td", "td_for_each", "td_wait", "athena", "bq"}

// dollars warns about `$$` in a command or in SQL, which becomes a single `$`: the shell's process id, or the quotes
// around a function's body.
func (c *critic) dollars(place []string, task, operator string, command param.Value, config *param.Map) {
	isSQL := slices.Contains(sqlOperators, operator)
	if !isSQL && operator != "sh" && operator != "ssh" {
		return
	}
	hint := "write $$$$ for $$, or put the script in a file"
	if isSQL {
		hint = "write $$$$ for $$, or quote with a name: $body$"
	}
	warn := func(at []string, text, where string) {
		if line := twoDollars(text); line > 0 {
			c.warn(at, task, hint, "$$ becomes a single $%s", where)
		}
	}
	at := slices.Clone(place)
	for _, v := range []param.Value{command, config.Value("query"), config.Value("command"), config.Value("script")} {
		switch x := v.(type) {
		case string:
			warn(at, x, "")
		case *param.Map:
			text, _ := x.Value("data").(string)
			warn(append(slices.Clone(at), "data"), text, "")
		}
	}
	if isSQL {
		c.dollarsInFile(place, task, command, config, hint)
	}
}

// dollarsInFile is dollars for a file with SQL.
func (c *critic) dollarsInFile(place []string, task string, command param.Value, config *param.Map, hint string) {
	file, _ := command.(string)
	folder, known := c.workdir(config)
	if !known || file == "" || strings.ContainsAny(file, "\n$") {
		return
	}
	name := path.Join(folder, file)
	if text, err := c.read(name); err == nil {
		if line := twoDollars(string(text)); line > 0 {
			c.warn(place, task, hint, "line %d of %s: $$ becomes a single $", line, name)
		}
	}
}

// twoDollars returns the line of the first `$$` of a string that is neither before an expression nor written twice; 0
// for none.
func twoDollars(text string) int {
	for i := 0; i < len(text); {
		if text[i] != '$' {
			i++
			continue
		}
		end := i
		for end < len(text) && text[end] == '$' {
			end++
		}
		run := end - i
		if end < len(text) && text[end] == '{' {
			run = 0
		}
		if run == 2 || run == 3 {
			return strings.Count(text[:i], "\n") + 1
		}
		i = end
	}
	return 0
}

// scheduled warns about a called file whose schedule starts nothing, since the file is not a workflow.
func (c *critic) scheduled(place []string, task, file string) {
	if !strings.Contains(file, "/") {
		return // a file at the top of the project is also a workflow
	}
	if raw, err := dig.LoadFile(c.read, file); err == nil && raw.Has("schedule") {
		c.warn(place, task, "put the schedule in a workflow at the top of the project", "schedule of %s has no effect: schedules work only in files at the top of the project", file)
	}
}

// storeFile warns about a command that writes to a file that exists only with `zerodag: 1`.
func (c *critic) storeFile(place []string, task, operator string, command param.Value) {
	text, _ := command.(string)
	if c.level > 0 || operator != "sh" && !c.runsCommand(operator) {
		return
	}
	for _, name := range []string{"$ZERODAG_STORE", "$DIGDAG_STORE"} {
		if strings.Contains(text, name) {
			c.warn(place, task, "put `zerodag: 1` at the top of the file", "%s is not set in files without `zerodag: 1`", name)
			return
		}
	}
}

// passedFiles warns about a file that one task writes and a later one reads: on a server, each task begins with the
// project as it was pushed.
func (c *critic) passedFiles(place []string, task, operator string, command param.Value, config *param.Map) {
	if c.known.Only != "" {
		return // a local run keeps the files
	}
	text, _ := command.(string)
	if operator == "sh" {
		for _, name := range slices.Sorted(maps.Keys(c.madeFiles)) {
			if by := c.madeFiles[name]; by != task && shell.HasWord(text, name) && !strings.Contains(text, "> "+name) && !strings.Contains(text, ">"+name) {
				c.warn(place, task, "write and read it in one task, or store it elsewhere, such as in a bucket or a table",
					"%s is written by %s: on a server this task does not see it, because each task starts with a fresh copy of the project", name, by)
				delete(c.madeFiles, name)
			}
		}
		for _, file := range shell.Written(text) {
			c.made(file, task)
		}
	}
	if file, _ := config.Value("download_file").(string); file != "" && !strings.Contains(file, "${") {
		c.made(file, task)
	}
}

func (c *critic) made(file, task string) {
	if c.madeFiles == nil {
		c.madeFiles = map[string]string{}
	}
	c.madeFiles[file] = task
}
