package operators

import (
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// configuration lists the parameters that built-in operators read in addition to their command, from the tables of
// their pages, and the keys of exported defaults. Tests compare the tables with the code. It is created once and never
// changed, since loops also use it.
var configuration = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, page := range allPages() {
		for key := range PageKeys(page) {
			all[key] = configurationName().MatchString(key)
		}
	}
	delete(all, "parameter") // the header of the tables
	return all
})

var configurationName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_.-]*$`) })

// steers returns why a parameter would control what tasks do, rather than only their data; "" if it would not.
func steers(name string) string {
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(name, "_"), strings.HasSuffix(name, ">"), strings.HasPrefix(name, "+"):
		return "it belongs to the language"
	case configuration()[name], name == "plugin":
		return "an operator reads it as its configuration"
	case name == "moment":
		return "expressions call it as a function"
	case isEnvName(name) && lower != name && strings.ToUpper(name) == name:
		return "it is an environment variable of commands, and names in capitals configure programs"
	case strings.HasSuffix(lower, "_proxy"), strings.HasPrefix(lower, "npm_"), strings.HasPrefix(lower, "pnpm_"), strings.HasPrefix(lower, "yarn_"), strings.HasPrefix(lower, "pip_"), strings.HasPrefix(lower, "dyld_"), strings.HasPrefix(lower, "ld_"):
		return "it is an environment variable that programs read"
	}
	return ""
}

// CheckNames refuses variable names that came with data, such as the keys of fetched JSON: the author of the data must
// not control what tasks do.
func (t *Task) CheckNames(variables *param.Map) error {
	if t.References == nil { // data is trusted like written text
		return nil
	}
	for name := range variables.All() {
		if why := steers(name); why != "" {
			return param.Errorf("an expression cannot create a variable named %q, because %s: write the names in the workflow and compute only the values", name, why)
		}
	}
	return nil
}

// CheckSteering refuses parameters of a caller who may start workflows but not change them.
func CheckSteering(params *param.Map) error {
	for name := range params.All() {
		if why := steers(name); why != "" {
			return param.Errorf("setting parameter %q requires the permission to push, because %s: rename it, or set it in the workflow", name, why)
		}
	}
	return nil
}
