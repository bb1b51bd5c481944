package keys

import (
	"regexp"
	"sync"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

func envKey() Key {
	return Key{
		Name: "_env", Where: AtTop | AtGroup,
		Doc:   "environment variables for the command, or for the commands of all tasks below",
		Check: checkEnv,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"type": []any{"object", "null"}}
		},
	}
}

// checkEnv requires variables with names that a command's environment can have.
func checkEnv(key string, v param.Value, report rule.Report) {
	const form = "write names and values: `_env: {STAGE: test}`"
	m, ok := v.(*param.Map)
	if !ok {
		report(nil, "Parameter '"+key+"' must be an object", form)
		return
	}
	for name, v := range m.All() {
		switch v.(type) {
		case *param.Map, []param.Value:
			report([]string{name}, "the value of a variable must be a string: "+param.Sample(v), "quote it, as JSON if necessary")
		}
		if !EnvName().MatchString(name) {
			report([]string{name}, "'"+name+"' is not a valid variable name", "use letters, digits and _")
		}
	}
}

// EnvName matches names of environment variables.
var EnvName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
