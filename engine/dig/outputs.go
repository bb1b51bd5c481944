package dig

import (
	"zerodag/engine/param"
)

// OutputsKey is the key at the top of a file that says what a successful attempt of the workflow comes to.
const OutputsKey = "outputs"

// MostOutputs is how many bytes the outputs of an attempt have at most, as JSON.
const MostOutputs = 256 << 10

// Output is a value that a successful attempt comes to.
type Output struct {
	Name  string
	Value param.Value // `${...}` is not evaluated yet
	Rule  Rule
}

const outputsForm = "write names and values: `outputs: {rows: \"${rows}\", table: {value: \"${table}\", type: string}}`"

// ReadOutputs reads `outputs` of the top of a file that has keys of zerodag.
func ReadOutputs(config *param.Map) []Output {
	v, _ := config.Get(OutputsKey)
	return readOutputs(v, func([]string, string, string) {})
}

// checkOutputs wants values, and rules that they can be held against.
func checkOutputs(_ string, v param.Value, report func([]string, string, string)) {
	readOutputs(v, report)
}

func readOutputs(v param.Value, report func(below []string, message, hint string)) (list []Output) {
	m, ok := v.(*param.Map)
	if !ok || m.Len() == 0 {
		report(nil, "'outputs' must name values: "+sample(v), outputsForm)
		return nil
	}
	r := ruleReader{of: "outputs", report: report}
	for name, v := range m.All() {
		o, at := Output{Name: name, Value: v}, []string{name}
		if !paramName().MatchString(name) {
			r.fail(at, "write it with letters, digits and _, beginning with a letter", "'%s' is no name of an output", name)
		}
		if m, isRule := v.(*param.Map); isRule {
			o.Value, _ = m.Get("value")
			o.Rule = r.read(m, at, sortedWords("description", "value"), func(key string, v param.Value, at []string) bool {
				return key == "value" || r.described(key, v, at)
			})
			if o.Value == nil {
				r.fail(at, outputsForm, "'%s' has no value", name)
			}
		}
		list = append(list, o)
	}
	return list
}

// OutputsOf holds evaluated values against the rules of the outputs.
func OutputsOf(list []Output, values *param.Map) (*param.Map, error) {
	out, faults := param.New(), []string{}
	for i := range list {
		v, _ := values.Get(list[i].Name)
		v, wrong := list[i].Rule.Fit(list[i].Name, param.Code(v))
		faults = append(faults, wrong...)
		out.Set(list[i].Name, v)
	}
	if len(faults) > 0 {
		return nil, param.Errorf("outputs: %s", Faults(faults))
	}
	if n := len(param.Text(out)); n > MostOutputs {
		return nil, param.Errorf("outputs: they have %d bytes, and %d at most are possible: put the data where others can read it, and its place here", n, MostOutputs)
	}
	return out, nil
}
