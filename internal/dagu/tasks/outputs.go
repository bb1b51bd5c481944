package tasks

import (
	"slices"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
)

// store declares a value of the step under the names that references use for it.
func (s *Step) store(as string, names ...string) {
	for _, name := range names {
		s.Values[name] = references.Value{Kind: references.OfOutput, As: as, By: s.Node}
	}
	if !slices.Contains(s.Stores, as) {
		s.Stores = append(s.Stores, as)
	}
}

// Outputs declares the values that the step stores. It must be called before any reference is translated.
func (s *Step) Outputs() {
	v, _ := s.Get("output")
	if s.Has("call") {
		s.ofCalled(document.TextOf(v))
		return
	}
	s.output(v)
	for key, v := range s.printedOutputs().All() {
		s.keep(key, v, s.ID+".outputs."+key)
	}
	for key := range s.Written().All() { // values that the workflow returns to its caller
		as := document.Variable(key)
		if s.Taken[as] {
			s.Refuse(s.Map, "with", "rename it", "an output of the workflow has the name of a different value: %s", key)
		}
		s.Taken[as] = true
		s.store(as)
	}
	s.declare()
	s.left()
}

// output declares the values of `output`: the whole stdout under a name, or a mapping of rules and values.
func (s *Step) output(v param.Value) {
	switch x := v.(type) {
	case string:
		name := strings.Trim(strings.TrimPrefix(strings.TrimSpace(x), "$"), "{}")
		if name != "" {
			s.printed(name)
		}
	case *param.Map:
		if x.Has("name") && !x.Has("from") && len(x.Keys()) <= 3 && (x.Has("key") || x.Has("omit") || x.Len() == 1) {
			s.printed(document.Text(x, "name"))
			return
		}
		for key, v := range x.All() {
			s.keep(key, v, s.ID+".output."+key, s.ID+".outputs."+key)
		}
	}
}

// declare declares the values that the command writes to its output file.
func (s *Step) declare() {
	for _, d := range s.declarations() {
		if !document.Identifier().MatchString(d.name) {
			s.Refuse(s.Map, "outputs", "use a name of letters, digits and `_`", "invalid name of an output: %s", d.name)
			continue
		}
		as := d.name
		if s.Taken[as] {
			as = document.Variable(s.ID + "_" + as)
		}
		s.store(document.Unique(s.Taken, as), "steps."+s.ID+".outputs."+d.name, s.ID+".outputs."+d.name)
	}
}

// keep declares a value with a rule, or a fixed value.
func (s *Step) keep(key string, v param.Value, names ...string) {
	as := document.Unique(s.Taken, document.Variable(s.ID+"_"+key))
	s.store(as, names...)
	s.Ruled.Set(as, v)
	m, isMap := v.(*param.Map)
	if isMap && !m.Has("from") && m.Has("value") {
		v, _ = m.Get("value")
		_, isMap = v.(*param.Map)
	}
	decode := document.Text(m, "decode")
	for _, name := range names {
		is := s.Values[name]
		is.Decoded = decode == "json" || decode == "yaml" || isMap && decode == "" && s.Published() != nil
		s.Values[name] = is
	}
}

// printedOutputs returns the rules of `stdout: {outputs: ...}`.
func (s *Step) printedOutputs() *param.Map {
	m := s.Map.Map("stdout")
	v, there := m.Get("outputs")
	if !there {
		return nil
	}
	s.Only(m, "outputs")
	out := param.New()
	set := func(name string, rule *param.Map) {
		if rule = rule.Clone(); !rule.Has("value") {
			rule.Set("from", "stdout")
		}
		out.Set(name, rule)
	}
	of, isMap := v.(*param.Map)
	switch {
	case !isMap && document.Identifier().MatchString(document.TextOf(v)):
		set(document.TextOf(v), param.New())
	case of.Map("fields") != nil:
		s.Only(of, "fields")
		for name, v := range of.Map("fields").All() {
			rule, isRule := v.(*param.Map)
			if !isRule && v != nil {
				s.Refuse(of, "fields", "write `decode` and `select`", "an output of stdout has no rule: %s", name)
			}
			if rule == nil {
				rule = param.New()
			}
			set(name, rule)
		}
	case document.Text(of, "field") != "":
		set(document.Text(of, "field"), of.Without("field"))
	default:
		s.Refuse(m, "outputs", "name the `fields`", "outputs of stdout have names that appear only in the output")
	}
	return out
}

// Written returns the values that an outputs.write step returns to the workflow's caller; nil for any other step.
func (s *Step) Written() *param.Map {
	if document.Text(s.Map, "type") != "outputs.write" {
		return nil
	}
	return s.With().Map("values")
}

// ofCalled declares a called workflow's result. name is the output of the call.
func (s *Step) ofCalled(name string) {
	name = strings.Trim(strings.TrimPrefix(strings.TrimSpace(name), "$"), "{}")
	if name != "" {
		s.Values[name] = references.Value{Kind: references.OfCall, By: s.Node}
	}
	if !s.Today { // today's Dagu replaces only the name of the output
		s.Values[s.ID+".outputs"] = references.Value{Kind: references.OfCall, As: "outputs.", By: s.Node}
		s.Values[s.ID+".output"] = s.Values[s.ID+".outputs"]
	}
}

// printed declares an output that is the command's whole stdout.
func (s *Step) printed(name string) {
	as := document.Variable(name)
	if s.Params.Has(as) {
		s.Refuse(s.Map, "output", "rename the output", "the output has the name of a parameter: %s", name)
	}
	s.Taken[as] = true
	s.store(as, name, s.ID+".output")
}

// streams declares the files of `${id.stdout}` and `${id.stderr}` if other steps, or the step itself, refer to them.
func (s *Step) streams(text string) {
	for _, stream := range []string{"stdout", "stderr"} {
		name, own := s.ID+"."+stream, param.Text(s.Map)
		named := strings.Contains(text, "${"+name+"}") ||
			s.Handles == "" && (strings.Contains(own, references.StreamVariable(stream)) ||
				strings.Contains(own, "paths.step_"+stream+"_file"))
		if named && s.kindRuns() && !s.Has(stream) {
			s.Map.Set(stream, param.New("artifact", "streams/"+name))
			s.Values[name] = references.Value{Kind: references.OfConst,
				As: references.Artifacts + " + " + references.QuotedScript("/streams/"+name), By: s.Node}
			s.Used[references.Artifacts] = true
			s.Note(s.Map, "id", "let the step store a value with `_store`", false,
				"the file in %s is on the machine that runs the commands", name)
		}
	}
}

// left declares the step's exit code and stdout if other steps refer to them.
func (s *Step) left() {
	text := strings.Join(s.Lines, "\n")
	s.streams(text)
	if strings.Contains(text, "${"+s.ID+".output") && s.Values[s.ID+".output"].Kind == 0 && !s.Has("output") &&
		s.kindRuns() {
		s.store(document.Unique(s.Taken, document.Variable(s.ID+"_output")), s.ID+".output")
	}
	if !s.leavesCode(text) {
		return
	}
	s.exitCode()
	if code, there := s.Values[s.ID+".exit_code"]; there {
		s.Values[s.ID+".exitCode"] = code
	}
}

// leavesCode reports whether the file, given as text, refers to the step's exit code, or whether the outcome of the run
// depends on that code.
func (s *Step) leavesCode(text string) bool {
	ends := s.Ignores() && len(s.Stores) > 0 && s.EndsRun()
	return ends || strings.Contains(text, "${"+s.ID+".exit_code}") || strings.Contains(text, "${"+s.ID+".exitCode}")
}

// exitCode declares the step's exit code.
func (s *Step) exitCode() {
	goesOn := s.Ignores()
	switch {
	case s.Has("repeat_policy"), s.handlesNow(), !s.kindRuns():
	case goesOn && len(s.Stores) > 0:
		s.store(document.Unique(s.Taken, document.Variable(s.ID+"_exit_code")), s.ID+".exit_code")
	case goesOn:
		of := "failed." + s.Name
		if !document.Identifier().MatchString(s.Name) {
			of = "failed[" + references.QuotedScript(s.Name) + "]"
		}
		if s.Has("preconditions") || s.Has("approval") {
			of = "failed.run"
		}
		s.Values[s.ID+".exit_code"] = references.Value{Kind: references.OfConst,
			As: "(" + of + " ? " + of + ".exit_code : 0)", By: s.Node}
	default:
		s.Values[s.ID+".exit_code"] = references.Value{Kind: references.OfConst, As: "0", By: s.Node}
	}
}

// kindRuns reports whether the step becomes a command.
func (s *Step) kindRuns() bool {
	return slices.Contains([]string{"", "exec", "docker", "jq", "template", "file.write", "file.mkdir", "file.read",
		"data.convert", "data.pick"}, document.Text(s.Map, "type")) && !s.Has("call") && !s.Has("foreach")
}

// handlesNow reports whether a handler refers to the step's exit code, because handlers also run after a failure.
func (s *Step) handlesNow() bool {
	at := slices.IndexFunc(s.Lines, func(line string) bool {
		return strings.HasPrefix(strings.ReplaceAll(strings.ToLower(line), "_", ""), "handleron:")
	})
	if at < 0 {
		return false
	}
	for _, line := range s.Lines[at+1:] {
		if line != "" && line[0] != ' ' && line[0] != '#' {
			return false
		}
		if strings.Contains(line, "${"+s.ID+".exit_code}") || strings.Contains(line, "${"+s.ID+".exitCode}") {
			return true
		}
	}
	return false
}
