package dig

import (
	"path"
	"regexp"
	"slices"
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
		c.target(place, task, name, text)
	}
	for _, k := range []string{"_do", "_else_do"} {
		if body := config.Map(k); body != nil {
			c.task(append(slices.Clone(at), k), task+"^sub", body, false)
		}
	}
}

// OperatorOf is the name of the operator of a task; "" of a group.
func OperatorOf(config *param.Map) string {
	name, _, _ := operatorOf(config)
	return name
}

// BodiesOf names the keys of a task under which its operator has tasks that it makes at run time, of those that are
// there; none of an operator that makes them otherwise, or never.
func BodiesOf(config *param.Map) (keys []string) {
	for _, key := range []string{"_do", "_else_do"} {
		if config.Map(key) != nil {
			keys = append(keys, key)
		}
	}
	return keys
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

func (c *critic) target(place []string, task, operator, named string) {
	switch operator {
	case "call":
		file := strings.TrimSuffix(path.Join(c.folder, named), suffix) + suffix
		if _, err := c.read(file); err != nil {
			c.warn(place, task, "", "call> names %s, which is not in the project", file)
		}
	case "require":
		if !slices.Contains(c.names, named+suffix) {
			c.warn(place, task, "that is right only together with project_name or project_id",
				"require> names the workflow %s, which is not in the project", named)
		}
	}
}

// templates looks for `${` whose brace is not the one that its author meant, and for
// expressions that are no JavaScript.
func (c *critic) templates(at []string, task string, config *param.Map) {
	for k, v := range config.All() {
		if !strings.HasPrefix(k, "+") && !slices.Contains(taskBodies, k) {
			c.syntax(append(slices.Clone(at), k), task, v)
		}
		text, isText := v.(string)
		for isText {
			_, rest, found := strings.Cut(text, "${")
			if !found {
				break
			}
			end := closingBrace(rest)
			if end < 0 {
				c.warn(append(slices.Clone(at), k), task, "braces are counted, those within quotes too",
					"${ is never closed, so the rest stays as text")
				break
			}
			if inner := rest[:end]; strings.Count(inner, "'")%2 == 1 || strings.Count(inner, `"`)%2 == 1 {
				c.warn(append(slices.Clone(at), k), task, `braces are counted, those within quotes too: write one as "\x7d"`,
					"${%s} ends within quotes", inner)
			}
			text = rest[end:]
		}
	}
}

// taskBodies hold tasks, which are looked at by themselves.
var taskBodies = []string{"_do", "_else_do", "_error", "_check"}

// shellDefault is how a shell gives a variable a default.
var shellDefault = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*):[-=?+]`)

func (c *critic) syntax(place []string, task string, v param.Value) {
	switch x := v.(type) {
	case string:
		if c.known.Syntax == nil || !strings.Contains(x, "${") {
			return
		}
		if err := c.known.Syntax(x); err != nil {
			hint := "what is between ${ and } is JavaScript"
			if at := shellDefault.FindStringSubmatch(x); at != nil { // a second $ does not help: what follows is evaluated all the same
				hint = "that is the shell's: put the script into a file, or write ${this." + at[1] + " || '...'} if it is a parameter"
			}
			c.warn(place, task, hint, "this cannot be evaluated: %v", err)
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
