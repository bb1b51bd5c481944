package operators

import (
	"regexp"
	"slices"
	"strings"
)

// ofPlugins are operators of plugins that projects in public use, and what comes closest here.
var ofPlugins = []struct{ name, plugin, instead string }{
	{"athena.", "digdag-operator-athena", "athena>"},
	{"ecs_task.", "digdag-operator-ecs_task", "ecs>, or commands with `sandbox:` on Fargate"},
	{"aws.ecs.", "digdag-operator-aws", "ecs>"},
	{"emr_fleet.", "digdag-operator-emr_fleet", "emr>"},
	{"glue.", "digdag-operator-glue", "glue>"},
	{"mssql", "digdag-plugin-mssql", "sh> with the client sqlcmd"},
	{"snow", "digdag-plugin-snowflake", "sh> with the client snowsql"},
	{"pg_lock", "digdag-operator-pg_lock", "pg>"},
	{"datadog_event", "digdag-plugin-datadog", "http>"},
	{"sentry", "digdag-plugin-sentry", "http>"},
	{"gke", "digdag-plugin-gke", "sh> with kubectl"},
	{"k8s_job", "a plugin for Kubernetes", "sh> with kubectl"},
	{"param_eval", "digdag-operator-param", "param_set>"},
	{"param_reset", "digdag-operator-param", "param_set>"},
	{"param_store", "digdag-operator-param", "param_set>"},
	{"sh_result", "digdag-plugin-shresult", "py>, or an executable of the project with an answer"},
	{"ipynb", "a plugin for notebooks", "sh> with jupyter nbconvert"},
}

// otherNames are names that people give to operators who come from elsewhere, and what those are called here.
var otherNames = map[string]string{
	"bash": "sh", "shell": "sh", "cmd": "sh", "command": "sh", "exec": "sh", "script": "sh", "run": "sh",
	"python": "py", "python3": "py", "ruby": "rb", "print": "echo", "log": "echo", "message": "echo",
	"email": "mail", "sendmail": "mail", "postgres": "pg", "postgresql": "pg", "psql": "pg", "sql": "pg",
	"sleep": "wait", "delay": "wait", "curl": "http", "request": "http", "rest": "http", "webhook": "http",
	"foreach": "for_each", "for": "for_each", "map": "for_each", "while": "loop", "repeat": "loop", "when": "if", "switch": "if",
	"include": "call", "workflow": "call", "subworkflow": "call", "trigger": "require", "depends_on": "require", "error": "fail",
}

// Missing says where an operator that is not built in here is known from, and what to do; ""
// when it is not known.
func Missing(name string) string {
	for _, p := range ofPlugins {
		if name == p.name || strings.HasSuffix(p.name, ".") && strings.HasPrefix(name, p.name) {
			return name + "> is of the plugin " + p.plugin + ", which is not loaded here; instead there is " + p.instead
		}
	}
	if here := otherNames[strings.ToLower(name)]; here != "" {
		return "it is " + here + "> here (`zerodag operators " + here + "`)"
	}
	return ""
}

// ParametersOf lists the names that a built-in operator reads, by the tables of its page; nil
// of an operator for which every parameter may have a meaning, as one of a function or of
// tasks that it calls.
func ParametersOf(name string) []string {
	switch name {
	case "py", "rb", "call", "require", "param_set":
		return nil
	}
	page, ok := Page(name)
	if !ok {
		return nil
	}
	list := []string{} // not nil: it is known that there are no others
	for key := range PageKeys(page) {
		if parameterName.MatchString(key) && key != "parameter" {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}

// ExportedNames lists the names in an _export with a meaning for operators: those under which pages say that
// defaults are, and those that are of every command.
func ExportedNames() []string {
	names := []string{"docker", "sandbox", "plugin", "eval", "python", "shell"}
	for _, page := range allPages() {
		_, section, _ := strings.Cut(page, "\n## Parameters\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for line := range strings.Lines(section) {
			if strings.HasPrefix(line, "|") {
				continue
			}
			for _, m := range exported().FindAllStringSubmatch(line, -1) {
				names = append(names, m[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var parameterName = regexp.MustCompile(`^_?[a-z][a-z0-9_.-]*$`)
