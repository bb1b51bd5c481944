package dig

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"zerodag/engine/param"
)

// operatorFolder is where a project has operators of its own.
const operatorFolder = "operators"

// IsOperatorFile says whether a file of a project, by its slash path, is an operator written as a workflow.
func IsOperatorFile(name string) bool {
	return path.Dir(name) == operatorFolder && path.Ext(name) == suffix && path.Base(name) != suffix
}

// operatorFile is the workflow file that an operator may be.
func operatorFile(name string) string {
	return operatorFolder + "/" + strings.TrimSuffix(name, suffix) + suffix
}

// OperatorGate says what an operator lacks that is written as a file without the gate.
func OperatorGate(file string) string {
	return fmt.Sprintf("%s is no operator without `%s: %d` at its top", file, levelKey, Latest)
}

// Arguments turns what a task gives to an operator that is written with these `params` into what its tasks see: the value
// behind the operator's name is that of the first parameter. One that is not given, and has no default, is what is seen around
// the task, as everywhere. faults lists all that breaks a rule.
func (p Params) Arguments(operator string, command param.Value, given *param.Map) (arguments *param.Map, faults []string) {
	given = given.Clone()
	var names []string
	for _, q := range p.List {
		names = append(names, q.Name)
	}
	for _, key := range slices.Clone(given.Keys()) {
		if slices.Contains(names, key) {
			continue
		}
		fault := fmt.Sprintf("'%s' is no parameter of %s>", key, operator)
		if s := didYouMean(key, names); s != "" {
			fault += ", " + s
		}
		faults = append(faults, fault)
		given.Delete(key)
	}
	switch {
	case command == nil:
	case len(names) == 0:
		faults = append(faults, fmt.Sprintf("%s> takes no value: its file has no params", operator))
	case given.Has(names[0]):
		faults = append(faults, fmt.Sprintf("'%s' is given twice: the value behind %s> is it, too", names[0], operator))
	default:
		given.Set(names[0], command)
	}
	filled, wrong := p.Fill(given, false)
	return filled, append(faults, wrong...)
}

// written looks at what a task gives to an operator that the project has as a workflow file.
func (c *critic) written(at []string, task, operator, key string, config *param.Map) {
	if slices.Contains(c.known.BuiltIn, operator) || strings.ContainsAny(operator, "$/") {
		return
	}
	file := operatorFile(operator)
	if _, err := c.read(file); err != nil {
		return
	}
	place := append(slices.Clone(at), key)
	p := newProject(c.read)
	raw := p.workflow(file)
	if raw != nil && !p.lost {
		p.errs = append(p.errs, p.located(file, raw, define(c.read, workflowName(path.Base(file)), "", raw, nil).problems)...)
	}
	switch {
	case len(p.errs) > 0:
		c.faulty(place, task, p.errs)
		return
	case !raw.Has(levelKey):
		c.warn(place, task, fmt.Sprintf("put `%s: %d` at its top, and `params` with the keys that it takes", levelKey, Latest), "%s", OperatorGate(file))
		return
	}
	if c.level > 0 { // it runs no command, as long as no executable has its name
		commandFaults(operator, config, c.reporter(at, task))
	}
	declared, given := ReadParams(raw), param.New()
	for name, v := range config.All() {
		if !strings.HasPrefix(name, "_") && !strings.HasSuffix(name, ">") {
			given.Set(name, v)
		}
	}
	command := valueOf(config, key)
	for i, q := range declared.List {
		v := valueOf(given, q.Name)
		if i == 0 && v == nil {
			v = command
		}
		if strings.Contains(param.Text(v), "${") { // what it comes to, nobody knows yet
			declared.List[i] = Param{Name: q.Name}
		}
	}
	if _, faults := declared.Arguments(operator, command, given); len(faults) > 0 {
		c.warn(place, task, "see `params` of "+file, "%s> cannot run with this: %s", operator, strings.Join(faults, "; "))
	}
}
