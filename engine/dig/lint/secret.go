package lint

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// replaceSecrets are the built-in operators that replace ${secret:NAME} in their own parameters.
var replaceSecrets = []string{"sh", "ssh", "http", "http_call", "slack", "td", "td_load", "td_run", "td_result_export", "embulk", "emr"}

const secretHint = "operators that log in somewhere read their secrets by name; commands get secrets by `_env:` of the task"

func hasSecret(v param.Value) bool {
	return param.AnyText(v, func(text string) bool { return strings.Contains(text, "${secret:") })
}

// bareSecret matches a reference to a secret without its braces.
var bareSecret = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^secret:[\w.-]+$`) })

// bareSecrets warns about references without braces in a command's variables.
func (c *critic) bareSecrets(at []string, task string, variables *param.Map) {
	for key, v := range variables.All() {
		if text, _ := v.(string); bareSecret().MatchString(text) {
			c.warn(append(slices.Clone(at), "_env", key), task, "write \"${"+text+"}\"", "%s is not expanded", text)
		}
	}
}

// secrets warns about references to secrets that are not expanded, or whose values become code.
func (c *critic) secrets(at []string, task, operator, command string, config *param.Map) {
	if !showsText(operator) && !slices.Contains(c.known.BuiltIn, operator) {
		return
	}
	c.bareSecrets(at, task, config.Map("_env"))
	for key, v := range config.All() {
		place := append(slices.Clone(at), key)
		switch own := key == command; {
		case strings.HasPrefix(key, "_") || keys.HoldsTasks(config, key) || !hasSecret(v):
		case own && operator == "sh":
			c.warn(place, task, "write `_env: {TOKEN: \"${secret:NAME}\"}`, and \"$TOKEN\" in the script",
				"the value of the secret becomes part of the script, which runs any space, quote or $ in it as code")
		case own && showsText(operator):
			c.warn(place, task, "operators that log in somewhere read secrets; commands get them by `_env:`", "%s> does not read secrets: ${secret:...} is not expanded", operator)
		case !slices.Contains(replaceSecrets, operator) && operator != "require" && operator != "call":
			c.warn(place, task, secretHint, "%s of a task with %s> cannot hold a secret: ${secret:...} is not expanded", key, operator)
		}
	}
}

// showsText reports whether an operator only shows its text.
func showsText(operator string) bool { return operator == "echo" || operator == "fail" }

// exportedSecrets warns about references to secrets in an _export that no task gets: an expression passes them on, to a
// task that may replace them, but a command gets an exported parameter as it is written.
func (c *critic) exportedSecrets(at []string, task string, export *param.Map) {
	for key, v := range export.All() {
		mayReplace := func(operator string) bool {
			return operator == key || slices.Contains(c.known.parameters(operator), key)
		}
		if !hasSecret(v) || slices.ContainsFunc(replaceSecrets, mayReplace) || key == "_secrets" || key == "_env" {
			continue
		}
		asked := regexp.MustCompile(`\$` + regexp.QuoteMeta(key) + `\b`)
		if c.named()[key] && !inScripts(c.root, asked) {
			continue
		}
		c.warn(append(slices.Clone(at), "_export", key), task, secretHint, "%s of _export cannot hold a secret: ${secret:...} is not expanded", key)
	}
}

// inScripts reports whether a script of sh> in a file matches.
func inScripts(v param.Value, form *regexp.Regexp) bool {
	switch x := v.(type) {
	case *param.Map:
		for key, e := range x.All() {
			if script, isText := e.(string); isText && key == "sh>" && form.MatchString(script) || inScripts(e, form) {
				return true
			}
		}
	case []param.Value:
		return slices.ContainsFunc(x, func(e param.Value) bool { return inScripts(e, form) })
	}
	return false
}
