package tasks

import (
	"slices"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
)

// fixed returns lines that store the fixed values of a step with a command.
func (s *Step) fixed() string {
	if s.Published() != nil {
		return ""
	}
	lines := ""
	for as, v := range s.Ruled.All() {
		m, isMap := v.(*param.Map)
		if isMap && m.Has("from") {
			continue
		}
		if isMap && m.Has("value") {
			s.Only(m, "value")
			v, _ = m.Get("value")
		}
		switch x := v.(type) {
		case *param.Map, []param.Value:
			lines += as + "=" + s.JSON(s.Map, "output", v) + "\n"
		case string:
			lines += as + "=" + s.Plain(s.Map, "output", x) + "\n"
		default:
			lines += as + "=" + param.Text(v) + "\n"
		}
	}
	if lines == "" {
		return ""
	}
	if references.WritesOutputs(s.Map) {
		s.Refuse(s.Map, "output", "let the command write them into $ZERODAG_STORE",
			"fixed values and an output file in one step are not translated")
	}
	return "cat >> \"$ZERODAG_STORE\" <<'END_OF_VALUES'\n" + lines + "END_OF_VALUES\n"
}

// WithoutValue returns the value that later steps get if the step did not store one: for a declared output, the
// reference itself as text.
func (s *Step) WithoutValue(as string) string {
	for name, v := range s.Values {
		if v.By == s.Node && v.As == as && strings.HasPrefix(name, "steps.") {
			return references.Literal("${" + name + "}")
		}
	}
	return ""
}

// Published returns the values of a step that runs no command; nil for any other step.
func (s *Step) Published() *param.Map {
	m := s.Map.Map("output")
	if m == nil || s.Has("command") || s.Has("script") || s.Has("exec") {
		return nil
	}
	return m
}

// publish returns a script that stores the published values.
func (s *Step) publish() string {
	out := param.New()
	for key, v := range s.Published().All() {
		if m, isMap := v.(*param.Map); isMap && m.Has("value") {
			v, _ = m.Get("value")
		}
		if m, isMap := v.(*param.Map); isMap && m.Has("from") {
			s.Refuse(s.Published(), key, "write the value", "an output needs a command to come from")
		}
		out.Set(s.Values[s.ID+".output."+key].As, v)
	}
	return "cat >> \"$ZERODAG_STORE\" <<'END_OF_VALUES'\n" + s.JSON(s.Published(), "output", out) + "\nEND_OF_VALUES\n"
}

// stored returns the `_store` of a command.
func (s *Step) stored() *param.Map {
	out := param.New()
	if s.Published() != nil {
		return out
	}
	v, _ := s.Get("output")
	if x, isMap := v.(*param.Map); !isMap || x.Has("name") && !x.Has("from") {
		if of := s.Values[s.ID+".output"]; of.Kind == references.OfOutput && slices.Contains(s.Stores, of.As) {
			out.Set(of.As, "stdout")
		}
	}
	for as, v := range s.Ruled.All() {
		m, isMap := v.(*param.Map)
		if !isMap || !m.Has("from") {
			continue
		}
		rule := param.New()
		for word, v := range m.All() {
			switch word {
			case "path":
				rule.Set(word, s.Plain(m, word, document.TextOf(v)))
			case "from", "decode", "select":
				rule.Set(word, v)
			default:
				s.Refuse(m, word, "see `_store`", "%s of an output is unknown", word)
			}
		}
		out.Set(as, rule)
	}
	return out
}
