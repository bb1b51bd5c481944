package lint

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig"

	"zerodag/engine/dig/lint/parameters"
	"zerodag/engine/param"
)

const storedHint = "stored text is not evaluated again (`zerodag docs compatibility`) unless you write `_export: {eval: {stored: true}}`"

// handsOn lists the operators whose evaluated values other tasks see. Those tasks do not evaluate text again if it was
// written to be evaluated by the operator.
var handsOn = []string{"for_each>", "param_set>", "fail>"}

// madeReference matches an expression that assembles a reference to a secret.
var madeReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[^}]*["'][^"'}]*secret:`) })

// stored warns about text that Digdag evaluates a second time.
func (c *critic) stored(at []string, task string, config *param.Map) {
	if c.evalsStored {
		return
	}
	for k, v := range config.All() {
		if text, ok := v.(string); ok && madeReference().MatchString(text) {
			c.warn(append(slices.Clone(at), k), task, storedHint, "a secret reference built by an expression is not resolved: write ${secret:key} literally")
		}
		if slices.Contains(handsOn, k) && escapes(v) {
			c.warn(append(slices.Clone(at), k), task, storedHint, "$${ produces the text ${...}, which is not evaluated again")
		}
	}
}

// storedNames warns about values that a command stores under the names of built-in variables.
func (c *critic) storedNames(at []string, task, operator string, command param.Value, config *param.Map) {
	if c.level == 0 {
		return
	}
	for _, name := range config.Map("_store").Keys() {
		c.fixed(append(slices.Clone(at), "_store", name), task, name)
	}
	script, isText := command.(string)
	if !isText || operator != "sh" {
		return
	}
	for _, name := range parameters.StoredBy(script) {
		c.fixed(append(slices.Clone(at), "sh>"), task, name)
	}
}

func escapes(v param.Value) bool {
	return param.AnyText(v, func(text string) bool { return strings.Contains(text, "$${") })
}

// scriptStores matches a line of a script that stores or exports text with `${`.
var scriptStores = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:store|export|set_state)\w*\b.*\$\{`) })

// StoredByScript lists the lines of a Python or Ruby file that store text that Digdag would evaluate.
func StoredByScript(name string, content []byte) dig.Errors {
	var found dig.Errors
	line := 0
	for text := range strings.Lines(string(content)) {
		line++
		if scriptStores().MatchString(text) {
			found = append(found, dig.Error{File: name, Line: line, Hint: storedHint, Message: "${...} that a script stores or exports is not evaluated again"})
		}
	}
	return found
}
