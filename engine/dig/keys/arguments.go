package keys

import (
	"fmt"
	"slices"

	"zerodag/engine/param"
)

// Arguments turns the parameters that a task gives to an operator with these `params` into the parameters that the
// operator's tasks see. The value after the operator's name goes to the first parameter. As everywhere, a parameter
// that is not given and has no default keeps the value that it has outside the task. faults lists all violations of
// rules.
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
		fault := fmt.Sprintf("'%s' is not a parameter of %s>", key, operator)
		if s := param.DidYouMean(key, names); s != "" {
			fault += ", " + s
		}
		faults = append(faults, fault)
		given.Delete(key)
	}
	switch {
	case command == nil:
	case len(names) == 0:
		faults = append(faults, fmt.Sprintf("%s> takes no value: its file declares no params", operator))
	case given.Has(names[0]):
		faults = append(faults, fmt.Sprintf("'%s' is given twice: the value after %s> also sets it", names[0], operator))
	default:
		given.Set(names[0], command)
	}
	filled, wrong := p.Fill(given, false)
	return filled, append(faults, wrong...)
}
