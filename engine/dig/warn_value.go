package dig

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"zerodag/engine/param"
)

// octal is a plain number that begins with 0 and so is one of base 8, as in the original.
var octal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?0[0-7_]+$`) })

// version is a plain number that may be meant as a version, whose last 0 a number does not have.
var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9]\d*\.[1-9]0$`) })

// doubt notes a scalar whose value is hardly what its author reads in it.
func (r *reader) doubt(n *yaml.Node) {
	if r.doubts != nil && n.Style == 0 && version().MatchString(n.Value) {
		r.noteDoubt(n, fmt.Sprintf("quote it, as in '%s', if it is a version or a text", n.Value), "%s is the number %s", n.Value, strings.TrimSuffix(n.Value, "0"))
		return
	}
	if r.doubts == nil || n.Style != 0 || n.Value == "" || !octal().MatchString(n.Value) {
		return
	}
	if v, err := scalar(n); err == nil && strings.Trim(n.Value, "+") != param.Text(v) {
		r.noteDoubt(n, fmt.Sprintf("quote it, as in '%s', if it is a text", n.Value), "%s begins with 0, and so is the number %s, written in base 8", n.Value, param.Text(v))
	}
}

// folded notes a script of several lines that YAML makes one line of, since nothing marks it as a block.
func (r *reader) folded(key string, n *yaml.Node) {
	if r.doubts == nil || key != "sh>" || n.Kind != yaml.ScalarNode || n.Style != 0 || !strings.Contains(n.Value, " ") {
		return
	}
	if !bytes.HasPrefix(r.rest(n), []byte(n.Value)) {
		r.noteDoubt(n, "write `sh>: |` and the lines below it", "the lines of this script are one line for YAML: %s", sample(n.Value))
	}
}

// rest is the text from a node to the end of its line.
func (r *reader) rest(n *yaml.Node) []byte {
	if r.lines == nil {
		r.lines = bytes.Split(r.text, []byte("\n"))
	}
	if n.Line < 1 || n.Line > len(r.lines) {
		return nil
	}
	line := []rune(string(r.lines[n.Line-1]))
	return []byte(string(line[min(max(n.Column-1, 0), len(line)):]))
}

func (r *reader) noteDoubt(n *yaml.Node, hint, format string, args ...any) {
	if len(*r.doubts) < maxReported {
		*r.doubts = append(*r.doubts, Error{File: r.file, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

// misread warns of values that a built-in operator will refuse when its task runs.
func (c *critic) misread(at []string, task, operator, command string, config *param.Map) {
	if c.known.Misread == nil || !slices.Contains(c.known.BuiltIn, operator) {
		return
	}
	for key, v := range config.All() {
		name := key
		if key == command || command == "_type" && key == "_command" {
			name = operator + ">"
		}
		if why := c.known.Misread(operator, name, v); why != "" {
			of := ""
			if key != command {
				of = " as its " + key
			}
			c.warn(append(slices.Clone(at), key), task, why, "%s> cannot read %s%s, and the task will fail", operator, sample(v), of)
		}
	}
}

// The forms in which others write variables in a text.
var (
	jinja  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{[-\s]*([A-Za-z_][A-Za-z0-9_]*)[^{}]*\}\}`) })
	dollar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`) })
)

// ofAirflow are variables of Airflow's templates, and what comes closest here.
var ofAirflow = map[string]string{
	"ds": "session_date", "ds_nodash": "session_date_compact", "ts": "session_time", "execution_date": "session_time", "logical_date": "session_time",
	"data_interval_start": "session_time", "data_interval_end": "next_session_time", "next_ds": "next_session_date", "prev_ds": "last_session_date",
	"run_id": "session_uuid", "dag_run": "session_uuid", "ti": "task_name", "task_instance": "task_name", "params": "NAME", "var": "NAME",
}

// foreign warns of variables in texts that are written as another program or a shell writes them, and so stay as text.
func (c *critic) foreign(place []string, task, operator string, v param.Value) {
	text, isText := v.(string)
	if !isText {
		return
	}
	if m := jinja().FindStringSubmatch(text); m != nil {
		name := ofAirflow[m[1]]
		if name == "" && c.variable(m[1]) {
			name = m[1]
		}
		if name != "" {
			c.warn(place, task, "a variable is written as ${"+name+"} (`zerodag docs variables`)", "%s stays as text", m[0])
			return
		}
	}
	if !slices.Contains(c.known.BuiltIn, operator) || len(c.known.parameters(operator)) == 0 && operator != "echo" && operator != "fail" || slices.Contains(c.known.parameters(operator), "_env") {
		return // a command has parameters in its environment
	}
	for _, m := range dollar().FindAllStringSubmatch(text, -1) {
		if c.variable(m[1]) {
			c.warn(place, task, "write ${"+m[1]+"}", "$%s stays as text: only a shell knows it without braces", m[1])
			return
		}
	}
}

// variable says whether tasks see a name: it is built in, exported around the task, or one of a loop.
func (c *critic) variable(name string) bool {
	return slices.Contains(c.known.Variables, name) || c.exports.Has(name) || slices.Contains(c.loops, name)
}

// loopNames are the variables that the tasks of a loop see.
func loopNames(operator string, command param.Value) []string {
	m, _ := command.(*param.Map)
	switch operator {
	case "loop":
		return []string{"i"}
	case "for_each":
		return m.Keys()
	case "for_range":
		return []string{"range"}
	}
	return nil
}
