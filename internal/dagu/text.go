package dagu

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// value is what a name in `${NAME}` may mean in a workflow.
type value struct {
	kind valueKind
	// as is how an expression names it.
	as string
}

type valueKind int

const (
	ofParam  valueKind = iota + 1 // given at a start
	ofEnv                         // a variable of all commands, and maybe an exported one
	ofOutput                      // a step stores it
	ofSecret                      // a variable of all commands, and nothing else
	ofItem                        // of a loop
)

var (
	reference  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)`) })
	identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
	backticks  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`]*)`") })
)

// builtIn are variables that Dagu has in each run, as expressions.
func builtIn(w *workflow) map[string]string {
	return map[string]string{"DAG_NAME": "'" + w.name + "'", "DAG_RUN_ID": "attempt_id", "DAG_RUN_STEP_NAME": "task_name",
		"DAG_RUN_ARTIFACTS_DIR": artifacts, "DAG_RUN_WORK_DIR": "'.'", "DAG_RUN_STATUS": "'finished'"}
}

// The folder for files of a run: one of the machine that runs the commands.
const (
	artifacts   = "artifacts_dir"
	artifactsIn = "/tmp/artifacts-${attempt_id}"
)

// expression is what `${...}` of Dagu is as an expression; "" when nobody but a shell knows it.
func (w *workflow) expression(inner string) string {
	name, path, _ := strings.Cut(inner, ".")
	if x, there := builtIn(w)[name]; there && path == "" {
		if name == "DAG_RUN_ARTIFACTS_DIR" {
			w.used[artifacts] = true
		}
		return x
	}
	if key, isOutput := outputKey(path); isOutput {
		if v, there := w.values[name+"."+key]; there {
			_, rest, _ := strings.Cut(strings.TrimPrefix(path, "output"), key)
			return v.as + rest
		}
		if v, there := w.values[key]; there && v.kind == ofOutput { // of a workflow that is called, whose values are seen here
			return v.as
		}
	}
	v, there := w.values[name]
	switch {
	case !there || v.kind == ofSecret:
		return ""
	case path == "":
		w.used[name] = true
		return v.as
	case v.kind == ofItem:
		return v.as + "." + path
	case v.kind == ofOutput || v.kind == ofParam || v.kind == ofEnv:
		w.used[name] = true
		return "JSON.parse(" + v.as + ")." + path
	}
	return ""
}

// outputKey is the first name behind `output.` or `outputs.`.
func outputKey(path string) (string, bool) {
	rest, found := strings.CutPrefix(path, "output.")
	if !found {
		rest, found = strings.CutPrefix(path, "outputs.")
	}
	key, _, _ := strings.Cut(rest, ".")
	return key, found && key != ""
}

// command is a text that a shell reads. What the shell knows alone stays for it.
func (w *workflow) command(text string) string {
	return w.replaced(text, func(inner, whole, next string) string {
		if x := w.expression(inner); x != "" {
			return "${" + x + "}"
		}
		if identifier().MatchString(inner) && !startsWord(next) {
			return "$" + inner
		}
		return "${'$'}{" + inner + "}"
	})
}

// plain is a text that no shell reads.
func (w *workflow) plain(m *param.Map, key, text string) string {
	return w.replaced(text, func(inner, whole, _ string) string {
		if x := w.expression(inner); x != "" {
			return "${" + x + "}"
		}
		w.lost(m, key, "write the value, or give it as a parameter", "nobody knows what %s is", whole)
		return "${'$'}{" + inner + "}"
	})
}

func startsWord(text string) bool { return text != "" && identifier().MatchString("_"+text[:1]) }

// replaced replaces what stands in braces; next is what follows.
func (w *workflow) replaced(text string, by func(inner, whole, next string) string) string {
	var b strings.Builder
	last := 0
	for _, at := range reference().FindAllStringSubmatchIndex(text, -1) {
		if at[2] < 0 {
			continue // $NAME stays: commands have it as a variable
		}
		b.WriteString(text[last:at[0]])
		b.WriteString(by(text[at[2]:at[3]], text[at[0]:at[1]], text[at[1]:]))
		last = at[1]
	}
	return b.String() + text[last:]
}

// script is a text as an expression of JavaScript, with what `${...}` and `$NAME` in it mean.
func (w *workflow) script(m *param.Map, key, text string) string {
	var parts []string
	last := 0
	literal := func(s string) {
		if s != "" {
			parts = append(parts, quotedScript(s))
		}
	}
	for _, at := range reference().FindAllStringSubmatchIndex(text, -1) {
		var inner string
		if at[2] >= 0 {
			inner = text[at[2]:at[3]]
		} else {
			inner = text[at[4]:at[5]]
		}
		x := w.expression(inner)
		if x == "" {
			w.lost(m, key, "compare parameters, outputs of steps, or what a command prints", "nobody knows what %s is in a condition", text[at[0]:at[1]])
			x = "''"
		}
		literal(text[last:at[0]])
		parts = append(parts, x)
		last = at[1]
	}
	literal(text[last:])
	switch len(parts) {
	case 0:
		return "''"
	case 1:
		return parts[0]
	}
	return "'' + " + strings.Join(parts, " + ")
}

// quotedScript is a text of JavaScript. A `}` would end the expression of a workflow file, a `$` could begin another one.
func quotedScript(text string) string {
	r := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "{", `\x7b`, "}", `\x7d`, "$", `\x24`)
	return "'" + r.Replace(text) + "'"
}

// fits is a condition: whether a text of Dagu is what is expected, "re:..." for a regular expression.
func fits(text, expected string) string {
	if pattern, isPattern := strings.CutPrefix(expected, "re:"); isPattern {
		return "new RegExp(" + quotedScript(pattern) + ").test(" + text + ")"
	}
	return text + " == " + quotedScript(expected)
}

// needs are the outputs that a command asks its shell for, and so must have as variables.
func (w *workflow) needs(text string) []string {
	var names []string
	for _, found := range reference().FindAllStringSubmatch(text, -1) {
		if v, there := w.values[found[2]]; there && (v.kind == ofOutput || v.kind == ofItem) && !slices.Contains(names, found[2]) {
			names = append(names, found[2])
		}
	}
	return names
}

// asCommand says whether a text is a command in backticks, and which.
func asCommand(text string) (string, bool) {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "`")
	if !ok {
		if inner, ok = strings.CutPrefix(text, "$("); ok {
			return strings.CutSuffix(inner, ")")
		}
		return "", false
	}
	return strings.CutSuffix(inner, "`")
}

// shellWord quotes a word for a shell.
func shellWord(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
