package keys

import (
	"fmt"
	"slices"

	"zerodag/engine/param"
)

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
		if s := param.DidYouMean(key, names); s != "" {
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
