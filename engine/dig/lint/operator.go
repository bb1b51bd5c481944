package lint

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/dig/letters"
	"zerodag/engine/param"
)

// namesSession reports whether a require> is for a session or project other than its own.
func namesSession(config *param.Map) bool {
	return config.Has("session_time") || config.Has("project_name") || config.Has("project_id")
}

// operator checks a task with an operator: whether the operator exists, and whether the file or workflow that it names
// is in the project. Names with `${` are not yet known.
func (c *critic) operator(at []string, task string, config *param.Map) {
	name, key, command := keys.Operator(config)
	place := append(slices.Clone(at), key)
	c.missingOperator(place, task, name)
	if text, ok := command.(string); ok && text != "" && !strings.Contains(text, "${") {
		c.targets(place, task, name, text, config)
	}
	if c.pooled != "" && waits(name) {
		c.warn(place, task, "let it wait before that group", "%s> waits while %s occupies slots of a pool, which no other task can use meanwhile", name, c.pooled)
	}
	if text, ok := command.(string); ok && name == "py" && slices.Contains(c.known.BuiltIn, name) {
		c.arguments(at, task, text, config)
	}
	c.twoOperators(at, task, name, key, config)
	c.condition(place, task, name, command)
	c.endless(place, task, name, config)
	c.objects(at, task, name, key, config)
	c.retryCount(at, task, name, config)
	c.storeFile(place, task, name, command)
	c.passedFiles(place, task, name, command, config)
	c.dollars(place, task, name, command, config)
	c.bodies(at, task, name, key, config)
	c.cases(at, task, name, config)
	repeats{c}.rounds(place, task, name, command, config)
	c.misread(at, task, name, key, config)
	c.written(at, task, name, key, config)
	for k, v := range config.All() {
		c.foreign(append(slices.Clone(at), k), task, name, v)
	}
	c.secrets(at, task, name, key, config)
	c.storedNames(at, task, name, command, config)
	scripts{c}.environment(at, task, name, key, config)
	c.makesFiles = c.makesFiles || !slices.Contains(c.known.BuiltIn, name) || c.runsCommand(name) || config.Has("download_file")
	around := c.loops
	c.loops = append(slices.Clone(around), keys.LoopNames(name, command)...)
	defer func() { c.loops = around }()
	for path, body := range keys.BodiesOf(config) {
		c.task(slices.Concat(at, path), task+"^sub", body, false)
	}
}

// missingOperator records a task whose operator does not exist.
func (c *critic) missingOperator(place []string, task, name string) {
	if !strings.Contains(name, "${") && !slices.Contains(c.known.Operators, name) && len(c.missing) < maxMissing {
		c.missing = append(c.missing, dig.Problem{Path: place, Error: dig.Error{Task: task, Message: name}})
	}
}

// targets checks the files and the workflow that a task names in its value.
func (c *critic) targets(place []string, task, operator, text string, config *param.Map) {
	c.target(place, task, operator, text, config)
	if slices.Contains(c.known.BuiltIn, operator) {
		scripts{c}.files(place, task, operator, text, config)
	}
	if operator == "require" && text == c.name && !c.circles[fmt.Sprint(place)] && !namesSession(config) {
		c.warn(place, task, "name a different workflow, or a different session with session_time", "require> waits for its own workflow, so it never ends")
	}
}

// twoOperators warns about a second operator, or a second value, that is written in a different form and ignored.
func (c *critic) twoOperators(at []string, task, operator, key string, config *param.Map) {
	if key != "_type" {
		if config.Has("_command") {
			c.warn(append(slices.Clone(at), "_command"), task, "keep one of them", "_command is ignored because %s has a value", key)
		}
		if slices.Contains(c.known.BuiltIn, operator) && config.Has("_env") && c.takesNoOthers(operator) {
			c.warn(append(slices.Clone(at), "_env"), task, "write `_export: {NAME: value}` for ${NAME}", "_env is for commands, but %s> runs none", operator)
		}
		return
	}
	for _, other := range config.Keys() {
		if strings.HasSuffix(other, ">") {
			c.warn(append(slices.Clone(at), "_type"), task, "remove _type", "_type makes this a task of %s>, so the value of %s is ignored", operator, other)
			return
		}
	}
}

// condition warns about an if> with text around its expressions, which is neither true nor false.
func (c *critic) condition(place []string, task, operator string, v param.Value) {
	text, _ := v.(string)
	if operator != "if" || !keys.Computed(text) {
		return
	}
	rest, code := text, ""
	for inner := range keys.Expressions(text) {
		rest, code = strings.Replace(rest, "${"+inner+"}", "", 1), inner
	}
	rest = strings.TrimSpace(rest)
	if rest == "" || strings.ContainsAny(rest, "${}") {
		return
	}
	hint := "write the whole condition in one ${...}, such as ${" + strings.TrimSpace(code) + " == 'x'}"
	if word := strings.ToLower(rest); word == "not" || word == "!" {
		hint = "write ${!" + strings.TrimSpace(code) + "}"
	} else if parts := strings.Split(text, "${"); len(parts) == 3 && regexp.MustCompile(`^(===?|!==?|<=?|>=?|&&|\|\||and|or)$`).MatchString(rest) {
		sign := strings.NewReplacer("and", "&&", "or", "||").Replace(rest)
		first, _, _ := strings.Cut(parts[1], "}")
		hint = "write ${" + first + " " + sign + " " + strings.TrimSpace(code) + "}"
	}
	c.warn(place, task, hint, "this condition is neither true nor false: `%s` is outside ${...}", rest)
}

// waits reports whether an operator may wait for a long time, for an external event or a point in time.
func waits(operator string) bool {
	return operator == "wait" || operator == "require" || operator == "td_wait_table" || strings.HasSuffix(operator, "_wait")
}

func (c *critic) target(place []string, task, operator, named string, config *param.Map) {
	switch operator {
	case "call":
		folder, known := c.workdir(config)
		if !known {
			return
		}
		file := dig.CalledFile(folder, named)
		if _, err := c.read(file); err != nil {
			if c.makesFiles {
				return // an earlier task may create this file
			}
			c.warn(place, task, "the path is relative to the folder of this workflow file, or to _workdir", "call> names %s, which is not in the project", file)
			return
		}
		c.scheduled(place, task, file)
		if chain := c.calls.itself(file); chain != nil {
			c.warn(place, task, "a recursive call> ends only if an if> stops it", "call> never ends: %s", strings.Join(chain, " -> "))
		}
	case "http", "http_call":
		if fault := addressFault(named); fault != "" {
			c.warn(place, task, "write http:// or https://, a host and optionally :PORT (at most 65535) and a path", "%s> cannot send a request to %q: %s", operator, named, fault)
		}
	case "require":
		if !slices.Contains(c.names, named+dig.Suffix) && !config.Has("project_name") && !config.Has("project_id") {
			hint := "this works only together with project_name or project_id"
			if _, err := c.read(named + dig.Suffix); err == nil {
				hint = "workflows are files at the top of the project: move the file there, or write `call>: " + named + "` to run it within this workflow"
			}
			if slices.Contains(c.names, named) {
				hint = "write `require>: " + dig.WorkflowName(named) + "`, without the file extension"
			}
			c.warn(place, task, hint, "require> names the workflow %s, which is not in the project", named)
		}
	}
}

// objects warns about patterns and incomplete object names in S3 and Cloud Storage, which match no object.
func (c *critic) objects(at []string, task, operator, key string, config *param.Map) {
	var hint string
	switch operator {
	case "s3_wait", "gcs_wait":
		hint = "name one object, such as the last one written"
	case "s3_copy", "s3_move", "s3_delete":
		hint = "a name that ends with / means all objects below it"
	default:
		return
	}
	if !slices.Contains(c.known.BuiltIn, operator) {
		return
	}
	for _, k := range []string{key, "key", "object"} {
		text, _ := config.Value(k).(string)
		place := append(slices.Clone(at), k)
		switch plain := evaluated().ReplaceAllString(text, ""); {
		case k == "object" && operator != "gcs_wait", k == "key" && operator != "s3_wait":
		case strings.Contains(plain, "*") && !strings.Contains(plain, "}"):
			c.warn(place, task, hint, "%s> does not support patterns: * is part of the object name", operator)
		case k == key && text != "" && plain == text && strings.HasPrefix(operator, "s3_") && !strings.Contains(strings.TrimPrefix(text, "s3://"), "/"):
			c.warn(place, task, "write BUCKET/KEY", "%s> names a bucket without an object: %s", operator, text)
		}
	}
}

// evaluated matches `${...}` as far as its end can be determined from the text.
var evaluated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\$\{[^}]*\}`) })

// addressFault returns why no request can be sent to an address; "" if one can.
func addressFault(address string) string {
	u, err := url.Parse(address)
	var wrong *url.Error
	switch {
	case errors.As(err, &wrong):
		return wrong.Err.Error()
	case err != nil:
		return err.Error()
	case u.Scheme != "http" && u.Scheme != "https":
		return "it must begin with http:// or https://"
	case u.Hostname() == "":
		return "it has no host"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "invalid port " + port
		}
	}
	return ""
}

// bodies checks whether an operator has the tasks that it runs, and no others.
func (c *critic) bodies(at []string, task, operator, key string, config *param.Map) {
	runs := slices.Contains(keys.WithBodies, operator)
	if !slices.Contains(c.known.BuiltIn, operator) {
		return
	}
	if operator == "switch" && !c.exports.Has("_cases") {
		keys.CaseFaults(config, func(path []string, message, hint string) {
			c.warn(slices.Concat(at, path), task, hint, "%s", message)
		})
	}
	for _, body := range []string{"_do", "_else_do"} {
		if config.Has(body) && !(runs && (body == "_do" || operator == "if")) {
			c.warn(append(slices.Clone(at), body), task, "move them to a separate task after this one", "%s is ignored by %s>: its tasks never run", body, operator)
		}
	}
	if !runs || config.Has("_do") || operator == "if" && config.Has("_else_do") {
		return
	}
	if slices.ContainsFunc(config.Keys(), func(k string) bool { return keys.IsBody(config, k) }) {
		return // it was reported as an unknown key
	}
	c.warn(append(slices.Clone(at), key), task, "write `_do:` with tasks below it", "%s> has no _do, so it will fail: there is nothing to run", operator)
}

// otherCase lists cases of switch> meant for all other values, and severalValues matches a case meant for several
// values.
var (
	otherCase     = []string{"_default", "default", "*", "_", "else", "_else_do", "otherwise"}
	severalValues = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.-]+(\s*[,|]\s*[\w.-]+)+$`) })
)

// cases warns about switch> cases that match no value.
func (c *critic) cases(at []string, task, operator string, config *param.Map) {
	if operator != "switch" || !slices.Contains(c.known.BuiltIn, operator) {
		return
	}
	for _, name := range config.Map("_cases").Keys() {
		place := append(slices.Clone(at), "_cases", name)
		switch {
		case slices.Contains(otherCase, name):
			c.warn(place, task, "write `_default:` next to `_cases`, not inside it", "%s matches only the value '%s'", name, name)
		case severalValues().MatchString(name):
			c.warn(place, task, "write /^("+strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == '|' || r == ' ' }), "|")+")$/", "%s matches only that text, not several values", name)
		}
	}
}

// decimals warns about a number that loses its decimals.
func (c *critic) decimals(place []string, task, name string, v param.Value) {
	if f, isFloat := v.(float64); isFloat && f != math.Trunc(f) {
		c.warn(place, task, "write a whole number", "%s must be a whole number: %v counts as %v", name, f, math.Trunc(f))
	}
}

// fixed warns about a value that has the name of a built-in variable.
func (c *critic) fixed(place []string, task, name string) {
	if slices.Contains(c.known.Variables, name) {
		c.warn(place, task, "choose another name", "%s is a built-in variable, so expressions do not see this value", name)
	}
}

// templates finds a `${` that is closed by a brace other than the one its author meant, and expressions that are not
// valid JavaScript.
func (c *critic) templates(at []string, task string, config *param.Map) {
	expressions := c.expressions()
	for k, v := range config.All() {
		if !strings.HasPrefix(k, "+") && !keys.HoldsTasks(config, k) {
			c.syntax(append(slices.Clone(at), k), task, v)
			expressions.Types(append(slices.Clone(at), k), task, v)
		}
		text, _ := v.(string)
		for inner, closed := range keys.Expressions(text) {
			if !closed {
				c.warn(append(slices.Clone(at), k), task, keys.BracesHint, "${ is never closed, so the rest is not expanded")
			} else if strings.Count(inner, "'")%2 == 1 || strings.Count(inner, `"`)%2 == 1 {
				c.warn(append(slices.Clone(at), k), task, keys.BracesHint+`: write one as "\x7d"`,
					"${%s} ends inside quotes", inner)
			}
		}
	}
}

// shellLength matches the shell's syntax for the length of a variable.
var shellLength = regexp.MustCompile(`\$\{#[A-Za-z_]\w*\}`)

// shellDefault matches the shell's syntax for the default of a variable.
var shellDefault = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*):[-=?+]`)

func (c *critic) syntax(place []string, task string, v param.Value) {
	switch x := v.(type) {
	case string:
		if c.known.Syntax == nil || !strings.Contains(x, "${") {
			return
		}
		if at := shellLength.FindString(x); at != "" {
			c.warn(place, task, "put the script in a file, or write ${NAME.length} for a parameter", "this cannot be evaluated: %s is shell syntax, but the shell never sees it", at)
		} else if at := shellDefault.FindStringSubmatch(x); at != nil { // a second $ does not help: the rest is still evaluated
			c.warn(place, task, "put the script in a file, or write ${this."+at[1]+" || '...'} if it is a parameter",
				"this cannot be evaluated: %s...} is shell syntax, but the shell never sees it", at[0])
		} else if err := c.known.Syntax(x); err != nil {
			c.warn(place, task, syntaxHint(x), "this cannot be evaluated: %v", err)
		}
	case []param.Value:
		for _, e := range x {
			c.syntax(place, task, e)
		}
	case *param.Map:
		for k, e := range x.All() {
			c.syntax(append(slices.Clone(place), k), task, e)
		}
	}
}

// reservedWords lists words that JavaScript reserves and that authors use as names of parameters.
var reservedWords = []string{"class", "default", "new", "delete", "function", "return", "switch", "case", "in", "var", "void", "with", "enum", "export", "import", "package", "public", "private", "if", "else", "for", "do", "while", "try", "catch"}

// syntaxHint returns the hint for an expression in a string that is not valid JavaScript.
func syntaxHint(text string) string {
	for inner := range keys.Expressions(text) {
		alike := strings.IndexFunc(inner, func(r rune) bool {
			return strings.ContainsRune("“”„‘’", r) || r == '−' || letters.IsInvisible(r)
		})
		switch name := strings.TrimSpace(inner); {
		case slices.Contains(reservedWords, name):
			return name + " is a reserved word in JavaScript: write ${this." + name + "}"
		case alike >= 0:
			r, _ := utf8.DecodeRuneInString(inner[alike:])
			return "there is " + letters.NameOf(r) + ": " + letters.Remedy(r)
		case strings.Contains(inner, "'\n'") || strings.Contains(inner, "\"\n\""):
			return "in double quotes, YAML reads \\n as a line break: write \\\\n"
		}
	}
	return "text between ${ and } is JavaScript; put shell syntax in a separate script file"
}
