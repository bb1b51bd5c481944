package dig

import (
	"errors"
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/param"
)

// operator looks at a task that runs something: whether there is such an operator, and
// whether the file or workflow that it names is in the project. Names with `${` are not
// known yet.
func (c *critic) operator(at []string, task string, config *param.Map) {
	name, key, command := operatorOf(config)
	place := append(slices.Clone(at), key)
	if !strings.Contains(name, "${") && !slices.Contains(c.known.Operators, name) && len(c.missing) < maxMissing {
		c.missing = append(c.missing, problem{path: place, Error: Error{Task: task, Message: name}})
	}
	if text, ok := command.(string); ok && text != "" && !strings.Contains(text, "${") {
		c.target(place, task, name, text, config)
		if slices.Contains(c.known.BuiltIn, name) {
			c.files(place, task, name, text, config)
		}
		if name == "require" && text == c.name && !config.Has("session_time") && !config.Has("project_name") && !config.Has("project_id") {
			c.warn(place, task, "name another workflow, or another session with session_time", "require> waits for the end of its own workflow, and so never ends")
		}
	}
	if c.pooled != "" && waits(name) {
		c.warn(place, task, "let it wait before that group", "%s> waits while %s has slots of a pool, which nobody else can use meanwhile", name, c.pooled)
	}
	c.endless(place, task, name, config)
	c.storeFile(place, task, name, command)
	c.passedFiles(place, task, name, command, config)
	c.dollars(place, task, name, command, config)
	c.bodies(at, task, name, key, config)
	c.rounds(place, task, name, command)
	c.misread(at, task, name, key, config)
	c.written(at, task, name, key, config)
	for k, v := range config.All() {
		c.foreign(append(slices.Clone(at), k), task, name, v)
	}
	if text, ok := command.(string); ok && (name == "echo" || name == "fail") && strings.Contains(text, "${secret:") {
		c.warn(place, task, "secrets are given to operators that log in somewhere, and to commands by `_env:`", "%s> shows no secrets: ${secret:...} stays as text", name)
	}
	c.environment(at, task, name, key, config)
	if !slices.Contains(c.known.BuiltIn, name) || c.runsCommand(name) || config.Has("download_file") {
		c.makesFiles = true
	}
	around := c.loops
	c.loops = append(slices.Clone(around), loopNames(name, command)...)
	defer func() { c.loops = around }()
	for path, body := range BodiesOf(config) {
		c.task(slices.Concat(at, path), task+"^sub", body, false)
	}
}

// waits says of an operator that it may wait for long, for something that others do or for a time.
func waits(operator string) bool {
	return operator == "wait" || operator == "require" || operator == "td_wait_table" || strings.HasSuffix(operator, "_wait")
}

// BodiesOf are the tasks that the operator of a task may make, with the keys under which they stand.
func BodiesOf(config *param.Map) iter.Seq2[[]string, *param.Map] {
	return func(yield func([]string, *param.Map) bool) {
		for _, key := range []string{"_do", "_else_do"} {
			if body := config.Map(key); body != nil && !yield([]string{key}, body) {
				return
			}
		}
		if OperatorOf(config) != "switch" {
			return
		}
		for name := range config.Map("_cases").All() {
			if body := config.Map("_cases").Map(name); body != nil && !yield([]string{"_cases", name}, body) {
				return
			}
		}
		if body := config.Map("_default"); body != nil {
			yield([]string{"_default"}, body)
		}
	}
}

// OperatorOf is the name of the operator of a task; "" of a group.
func OperatorOf(config *param.Map) string {
	name, _, _ := operatorOf(config)
	return name
}

func operatorOf(config *param.Map) (name, key string, command param.Value) {
	if v, ok := config.Get("_type"); ok {
		name, _ = v.(string)
		return name, "_type", valueOf(config, "_command")
	}
	for k, v := range config.All() {
		if strings.HasSuffix(k, ">") {
			return k[:len(k)-1], k, v
		}
	}
	return "", "", nil
}

func (c *critic) target(place []string, task, operator, named string, config *param.Map) {
	switch operator {
	case "call":
		folder, known := c.workdir(config)
		if !known {
			return
		}
		file := calledFile(folder, named)
		if _, err := c.read(file); err != nil {
			if c.makesFiles {
				return // a task before it may make this file
			}
			c.warn(place, task, "the path is relative to the folder of this workflow, or to _workdir", "call> names %s, which is not in the project", file)
			return
		}
		c.scheduled(place, task, file)
		if chain := c.calls.itself(file); chain != nil {
			c.warn(place, task, "a call> that leads back to its own file ends only where an if> ends it", "call> never ends: %s", strings.Join(chain, " -> "))
		}
	case "http", "http_call":
		if fault := addressFault(named); fault != "" {
			c.warn(place, task, "an address is http:// or https://, a host and, perhaps, :PORT up to 65535 and a path", "%s> cannot send a request to %q: %s", operator, named, fault)
		}
	case "require":
		if !slices.Contains(c.names, named+suffix) && !config.Has("project_name") && !config.Has("project_id") {
			hint := "that is right only together with project_name or project_id"
			if slices.Contains(c.names, named) {
				hint = "write `require>: " + workflowName(named) + "`, without the ending of the file"
			}
			c.warn(place, task, hint, "require> names the workflow %s, which is not in the project", named)
		}
	}
}

// addressFault says why no request can be sent to an address; "" where one can.
func addressFault(address string) string {
	u, err := url.Parse(address)
	var wrong *url.Error
	switch {
	case errors.As(err, &wrong):
		return wrong.Err.Error()
	case err != nil:
		return err.Error()
	case u.Scheme != "http" && u.Scheme != "https":
		return "it does not begin with http:// or https://"
	case u.Hostname() == "":
		return "it has no host"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "there is no port " + port
		}
	}
	return ""
}

// withBodies are the built-in operators that run tasks of their own, which stand below _do, and for if> below
// _else_do.
var withBodies = []string{"if", "loop", "for_each", "for_range", "td_for_each"}

// bodies looks whether an operator has the tasks that it runs, and no others.
func (c *critic) bodies(at []string, task, operator, key string, config *param.Map) {
	runs := slices.Contains(withBodies, operator)
	if !slices.Contains(c.known.BuiltIn, operator) {
		return
	}
	if operator == "switch" && !c.exports.Has("_cases") {
		caseFaults(config, func(path []string, message, hint string) {
			c.warn(slices.Concat(at, path), task, hint, "%s", message)
		})
	}
	for _, body := range []string{"_do", "_else_do"} {
		if config.Has(body) && !(runs && (body == "_do" || operator == "if")) {
			c.warn(append(slices.Clone(at), body), task, "move them into a task of their own, behind this one", "%s is not read by %s>: nobody runs its tasks", body, operator)
		}
	}
	if !runs || config.Has("_do") || operator == "if" && config.Has("_else_do") {
		return
	}
	if slices.ContainsFunc(config.Keys(), func(k string) bool { return isBody(config, k) }) {
		return // which was told as a key that nobody reads
	}
	c.warn(append(slices.Clone(at), key), task, "write `_do:` with tasks below it", "%s> has no _do and will fail: there is nothing to run", operator)
}

// rounds warns of a loop that is written so that it runs nothing.
func (c *critic) rounds(place []string, task, operator string, command param.Value) {
	m, _ := command.(*param.Map)
	nothing := false
	switch operator {
	case "loop":
		n, isNumber := command.(int64)
		nothing = isNumber && n < 1
	case "for_each":
		nothing = m != nil && m.Len() == 0
		for _, v := range m.All() {
			list, isList := v.([]param.Value)
			nothing = nothing || isList && len(list) == 0
			if !isList && !strings.Contains(param.Text(v), "${") && !strings.HasPrefix(strings.Trim(param.Text(v), `" `), "[") {
				c.warn(place, task, "write a list, as in `{name: [a, b]}`", "for_each> cannot read %s as a list, and the task will fail", sample(v))
			}
		}
	case "for_range":
		from, hasFrom := valueOf(m, "from").(int64)
		to, hasTo := valueOf(m, "to").(int64)
		nothing = hasFrom && hasTo && from >= to
		if step, isNumber := valueOf(m, "step").(int64); isNumber && step < 1 || hasFrom && hasTo && !m.Has("step") && !m.Has("slices") {
			c.warn(place, task, "write `step: 1`, or how many slices, such as `slices: 4`", "for_range> has no step of 1 or more and will fail")
		}
	}
	if nothing {
		c.warn(place, task, "give it something to go through, or disable it by `_disable: true`", "%s> runs nothing: %s", operator, sample(command))
	}
}

// isBody says whether a key that the language does not have holds tasks.
func isBody(config *param.Map, key string) bool {
	return !strings.HasPrefix(key, "+") && !strings.HasSuffix(key, ">") && !slices.Contains(TaskKeys(), key) && isTask(config.Map(key))
}

// templates looks for `${` whose brace is not the one that its author meant, and for
// expressions that are no JavaScript.
func (c *critic) templates(at []string, task string, config *param.Map) {
	for k, v := range config.All() {
		if !strings.HasPrefix(k, "+") && !holdsTasks(config, k) {
			c.syntax(append(slices.Clone(at), k), task, v)
		}
		text, _ := v.(string)
		for inner, closed := range expressions(text) {
			if !closed {
				c.warn(append(slices.Clone(at), k), task, bracesHint, "${ is never closed, so the rest stays as text")
			} else if strings.Count(inner, "'")%2 == 1 || strings.Count(inner, `"`)%2 == 1 {
				c.warn(append(slices.Clone(at), k), task, bracesHint+`: write one as "\x7d"`,
					"${%s} ends within quotes", inner)
			}
		}
	}
}

// taskBodies hold tasks, which are looked at by themselves.
var taskBodies = []string{"_do", "_else_do", "_error", "_check", "_cancel", "_finally"}

func holdsTasks(config *param.Map, key string) bool {
	return slices.Contains(taskBodies, key) || slices.Contains(BranchKeys(), key) && OperatorOf(config) == "switch"
}

// shellDefault is how a shell gives a variable a default.
var shellDefault = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*):[-=?+]`)

func (c *critic) syntax(place []string, task string, v param.Value) {
	switch x := v.(type) {
	case string:
		if c.known.Syntax == nil || !strings.Contains(x, "${") {
			return
		}
		if at := shellDefault.FindStringSubmatch(x); at != nil { // a second $ does not help: what follows is evaluated all the same
			c.warn(place, task, "put the script into a file, or write ${this."+at[1]+" || '...'} if it is a parameter",
				"this cannot be evaluated: %s...} is the shell's, which never sees it", at[0])
		} else if err := c.known.Syntax(x); err != nil {
			c.warn(place, task, "what is between ${ and } is JavaScript; what is the shell's belongs into a script, a file of its own", "this cannot be evaluated: %v", err)
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

// bracesHint is the remedy where an expression has another end than its author meant.
const bracesHint = "braces are counted, those within quotes too"

// expressions are what stands behind each ${ of a text, and whether it is closed: the last one may not be, and stays as text.
func expressions(text string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for {
			_, rest, found := strings.Cut(text, "${")
			if !found {
				return
			}
			end := closingBrace(rest)
			if end < 0 {
				yield(rest, false)
				return
			}
			if !yield(rest[:end], true) {
				return
			}
			text = rest[end:]
		}
	}
}

// computed says whether what a text comes to is known only when its task runs. One with a ${ that is never closed keeps it then, and
// so is no number, no duration and no condition.
func computed(text string) (is bool) {
	for _, closed := range expressions(text) {
		is = closed
	}
	return is
}

// closingBrace finds the end of an expression, braces counted as the language does.
func closingBrace(text string) int {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
