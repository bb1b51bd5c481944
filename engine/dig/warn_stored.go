package dig

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// EvalsStored says whether a workflow exports `eval: {stored: true}`: what its operators
// store is evaluated again then, as the original does. Else it is data.
func EvalsStored(workflow *param.Map) bool {
	on, err := param.AsBool("eval.stored", valueOf(workflow.Map("_export").Map("eval"), "stored"))
	return on && err == nil
}

const storedHint = "what is stored is data here (`zerodag docs compatibility`); `_export: {eval: {stored: true}}` evaluates it again"

// handsOn are the operators whose evaluated values others see: a text that was written to be
// evaluated by those is not.
var handsOn = []string{"for_each>", "param_set>", "fail>"}

// madeReference is an expression that puts a reference to a secret together.
var madeReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[^}]*["'][^"'}]*secret:`) })

// stored warns of what the original evaluates a second time.
func (c *critic) stored(at []string, task string, config *param.Map) {
	if c.evalsStored {
		return
	}
	for k, v := range config.All() {
		if text, ok := v.(string); ok && madeReference().MatchString(text) {
			c.warn(append(slices.Clone(at), k), task, storedHint, "a reference to a secret that an expression makes is not looked up: write ${secret:key} itself")
		}
		if slices.Contains(handsOn, k) && escapes(v) {
			c.warn(append(slices.Clone(at), k), task, storedHint, "$${ makes a text with ${...} that nobody evaluates any more")
		}
	}
}

func escapes(v param.Value) bool {
	switch x := v.(type) {
	case string:
		return strings.Contains(x, "$${")
	case []param.Value:
		return slices.ContainsFunc(x, escapes)
	case *param.Map:
		for _, e := range x.All() {
			if escapes(e) {
				return true
			}
		}
	}
	return false
}

// scriptStores is a line of a script that stores or exports text with `${`.
var scriptStores = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:store|export|set_state)\w*\b.*\$\{`) })

// StoredByScript lists the lines of a Python or Ruby file that store text which the original
// would evaluate.
func StoredByScript(name string, content []byte) Errors {
	var found Errors
	line := 0
	for text := range strings.Lines(string(content)) {
		line++
		if scriptStores().MatchString(text) {
			found = append(found, Error{File: name, Line: line, Hint: storedHint, Message: "${...} that a script stores or exports is not evaluated any more"})
		}
	}
	return found
}
