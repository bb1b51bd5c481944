package keys

import (
	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// OutputsKey is the key at the top of a file for the results of a successful attempt of the workflow.
const OutputsKey = "outputs"

// MostOutputs is the maximum size of an attempt's outputs in bytes, as JSON.
const MostOutputs = 256 << 10

// Output is a result of a successful attempt.
type Output struct {
	Name  string
	Value param.Value // `${...}` is not yet evaluated
	Rule  rule.Rule
}

const outputsForm = "write names and values: `outputs: {rows: \"${rows}\", table: {value: \"${table}\", type: string}}`"

func outputsKey() Key {
	return Key{
		Name: OutputsKey, Where: AtTop,
		Doc:   "the result of a successful attempt, for users and other programs",
		Check: checkOutputs,
		Schema: func(meaning rule.Meaning) rule.Schema {
			return rule.Schema{"type": "object", "additionalProperties": rule.Schema{"anyOf": []any{
				rule.Schema{"type": []any{"string", "number", "boolean", "array"}}, rule.SchemaOf(meaning, []string{"value"}, "value")}}}
		},
	}
}

// ReadOutputs reads `outputs` at the top of a file with `zerodag: 1`.
func ReadOutputs(config *param.Map) []Output {
	v, _ := config.Get(OutputsKey)
	return readOutputs(v, func([]string, string, string) {})
}

// checkOutputs requires values, and rules that they can be checked against.
func checkOutputs(_ string, v param.Value, report rule.Report) {
	readOutputs(v, report)
}

func readOutputs(v param.Value, report rule.Report) (list []Output) {
	m, ok := v.(*param.Map)
	if !ok || m.Len() == 0 {
		report(nil, "'outputs' must name values: "+param.Sample(v), outputsForm)
		return nil
	}
	r := rule.Reader{Of: "outputs", Report: report}
	for name, v := range m.All() {
		o, at := Output{Name: name, Value: v}, []string{name}
		if !paramName().MatchString(name) {
			r.Fail(at, "use letters, digits and _, beginning with a letter", "'%s' is not a valid name of an output", name)
		}
		if m, isRule := v.(*param.Map); isRule {
			o.Value, _ = m.Get("value")
			o.Rule = r.Read(m, at, rule.Words("description", "value"), func(key string, v param.Value, at []string) bool {
				return key == "value" || r.Described(key, v, at)
			})
			if o.Value == nil {
				r.Fail(at, outputsForm, "'%s' has no value", name)
			}
		}
		list = append(list, o)
	}
	return list
}

// OutputsOf checks evaluated values against the outputs' rules.
func OutputsOf(list []Output, values *param.Map) (*param.Map, error) {
	out, faults := param.New(), []string{}
	for i := range list {
		v, _ := values.Get(list[i].Name)
		v, wrong := list[i].Rule.Fit(list[i].Name, param.Code(v))
		faults = append(faults, wrong...)
		out.Set(list[i].Name, v)
	}
	if len(faults) > 0 {
		return nil, param.Errorf("outputs: %s", rule.Faults(faults))
	}
	if n := len(param.Text(out)); n > MostOutputs {
		return nil, param.Errorf("outputs: they take up %d bytes, but at most %d are allowed: store the data elsewhere and write its location here", n, MostOutputs)
	}
	return out, nil
}
