package dagu

import (
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// store declares a value of the step under the names that references use for it.
func (s *step) store(as string, names ...string) {
	for _, name := range names {
		s.values[name] = value{kind: ofOutput, as: as, by: s}
	}
	if !slices.Contains(s.stores, as) {
		s.stores = append(s.stores, as)
	}
}

// outputs declares the values that the step stores. It runs before any reference is translated.
func (s *step) outputs() {
	v, _ := s.Get("output")
	if s.Has("call") {
		s.ofCalled(textOf(v))
		return
	}
	switch x := v.(type) {
	case nil:
	case string:
		name := strings.Trim(strings.TrimPrefix(strings.TrimSpace(x), "$"), "{}")
		if name != "" {
			s.printed(name)
		}
	case *param.Map:
		if x.Has("name") && !x.Has("from") && len(x.Keys()) <= 3 && (x.Has("key") || x.Has("omit") || x.Len() == 1) {
			s.printed(text1(x, "name"))
			break
		}
		for key, v := range x.All() {
			s.keep(key, v, s.id+".output."+key, s.id+".outputs."+key)
		}
	}
	for key, v := range s.printedOutputs().All() {
		s.keep(key, v, s.id+".outputs."+key)
	}
	for key := range s.written().All() {
		as := variable(key)
		if s.taken[as] {
			s.refuse(s.Map, "with", "give it another name", "an output of the workflow has the name of another value: %s", key)
		}
		s.taken[as] = true
		s.store(as)
	}
	for _, d := range s.declarations() {
		if !identifier().MatchString(d.name) {
			s.refuse(s.Map, "outputs", "give it a name of letters, digits and `_`", "an output cannot be called %s", d.name)
			continue
		}
		as := d.name
		if s.taken[as] {
			as = variable(s.id + "_" + as)
		}
		s.store(unique(s.taken, as), "steps."+s.id+".outputs."+d.name, s.id+".outputs."+d.name)
	}
	s.left()
}

// keep declares a value with a rule, or a fixed one.
func (s *step) keep(key string, v param.Value, names ...string) {
	as := unique(s.taken, variable(s.id+"_"+key))
	s.store(as, names...)
	s.ruled.Set(as, v)
	m, isMap := v.(*param.Map)
	if isMap && !m.Has("from") && m.Has("value") {
		v, _ = m.Get("value")
		_, isMap = v.(*param.Map)
	}
	decode := text1(m, "decode")
	for _, name := range names {
		is := s.values[name]
		is.decoded = decode == "json" || decode == "yaml" || isMap && decode == "" && s.published() != nil
		s.values[name] = is
	}
}

// printedOutputs returns the rules of `stdout: {outputs: ...}`.
func (s *step) printedOutputs() *param.Map {
	m := s.Map.Map("stdout")
	v, there := m.Get("outputs")
	if !there {
		return nil
	}
	s.only(m, "outputs")
	out := param.New()
	set := func(name string, rule *param.Map) {
		if rule = rule.Clone(); !rule.Has("value") {
			rule.Set("from", "stdout")
		}
		out.Set(name, rule)
	}
	of, isMap := v.(*param.Map)
	switch {
	case !isMap && identifier().MatchString(textOf(v)):
		set(textOf(v), param.New())
	case of.Map("fields") != nil:
		s.only(of, "fields")
		for name, v := range of.Map("fields").All() {
			rule, isRule := v.(*param.Map)
			if !isRule && v != nil {
				s.refuse(of, "fields", "write `decode` and `select`", "an output of stdout has no rule: %s", name)
			}
			if rule == nil {
				rule = param.New()
			}
			set(name, rule)
		}
	case text1(of, "field") != "":
		set(text1(of, "field"), of.Without("field"))
	default:
		s.refuse(m, "outputs", "name the `fields`", "outputs of stdout have names that only the output has")
	}
	return out
}

// written returns the values that a step of type outputs.write gives to the caller of the workflow; nil for any other step.
func (s *step) written() *param.Map {
	if text1(s.Map, "type") != "outputs.write" {
		return nil
	}
	return s.with().Map("values")
}

// writeOutputs returns a task that stores the outputs of the workflow.
func (s *step) writeOutputs() *param.Map {
	s.none("output")
	s.only(s.with(), "values")
	out := param.New()
	for key, v := range s.written().All() {
		out.Set(variable(key), v)
	}
	if out.Len() == 0 {
		s.refuse(s.Map, "with", "write `values`", "the step has no outputs")
	}
	s.outside(s.Map, "type", "writing outputs")
	return s.commandTask("cat >> \"$DIGDAG_STORE\" <<'END_OF_VALUES'\n"+s.inJSON(s.with(), "values", out)+"\nEND_OF_VALUES\n", program{posix: true, stops: true})
}

// inJSON returns a value as JSON, with its references as expressions.
func (s *step) inJSON(m *param.Map, key string, v param.Value) string {
	var parts []string
	switch x := v.(type) {
	case *param.Map:
		for name, e := range x.All() {
			parts = append(parts, literal(param.Text(name))+": "+s.inJSON(m, key, e))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []param.Value:
		for _, e := range x {
			parts = append(parts, s.inJSON(m, key, e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		if reference().MatchString(x) {
			return "${JSON.stringify('' + " + s.script(m, key, x) + ")}"
		}
		return literal(param.Text(x))
	}
	return param.Text(v)
}

// fixed returns lines that store the fixed values of a step with a command.
func (s *step) fixed() string {
	if s.published() != nil {
		return ""
	}
	lines := ""
	for as, v := range s.ruled.All() {
		m, isMap := v.(*param.Map)
		if isMap && m.Has("from") {
			continue
		}
		if isMap && m.Has("value") {
			s.only(m, "value")
			v, _ = m.Get("value")
		}
		switch x := v.(type) {
		case *param.Map, []param.Value:
			lines += as + "=" + s.inJSON(s.Map, "output", v) + "\n"
		case string:
			lines += as + "=" + s.plain(s.Map, "output", x) + "\n"
		default:
			lines += as + "=" + param.Text(v) + "\n"
		}
	}
	if lines == "" {
		return ""
	}
	if s.writesOutputs() {
		s.refuse(s.Map, "output", "let the command write them into $DIGDAG_STORE", "fixed values and a file of outputs in one step are not taken over")
	}
	return "cat >> \"$DIGDAG_STORE\" <<'END_OF_VALUES'\n" + lines + "END_OF_VALUES\n"
}

// withoutValue returns what later steps see of a value that the step did not store: for a declared output, the text of the reference.
func (s *step) withoutValue(as string) string {
	for name, v := range s.values {
		if v.by == s && v.as == as && strings.HasPrefix(name, "steps.") {
			return literal("${" + name + "}")
		}
	}
	return ""
}

// ofCalled declares the result of a called workflow. name is the output of the call.
func (s *step) ofCalled(name string) {
	name = strings.Trim(strings.TrimPrefix(strings.TrimSpace(name), "$"), "{}")
	if name != "" {
		s.values[name] = value{kind: ofCall, by: s}
	}
	if !s.today { // which replaces only the name of the output
		s.values[s.id+".outputs"] = value{kind: ofCall, as: "outputs.", by: s}
		s.values[s.id+".output"] = s.values[s.id+".outputs"]
	}
}

// ofResult returns the expression for a part of the result of a called workflow; "" for none. The values that its steps store are visible
// to the caller.
func (w *workflow) ofResult(v value, path string) string {
	if v.by == nil || w.hiddenStep(v.by) || w.handles != "" || v.by.Has("parallel") || v.by.Has("continue_on") {
		return ""
	}
	path = v.as + path
	if path == "status" {
		return "'succeeded'"
	}
	name, there := strings.CutPrefix(path, "outputs.")
	called := w.local[fileName(text1(v.by.Map, "call"))]
	if !there || !identifier().MatchString(name) || called != nil && !called.prints(name) || w.replacedBy(v.by, name) {
		return ""
	}
	return namedAs(variable(name))
}

// replacedBy reports whether another step may store a value of a called workflow again, under the same name, before the current step reads it.
func (w *workflow) replacedBy(by *step, name string) bool {
	called := fileName(text1(by.Map, "call"))
	return slices.ContainsFunc(w.every, func(other *step) bool {
		if other == by || by.follows(other) || w.current != nil && (other == w.current || other.follows(w.current)) {
			return false
		}
		target := fileName(text1(other.Map, "call"))
		switch {
		case !other.Has("call"):
			return slices.Contains(other.stores, variable(name))
		case w.local[target] == nil:
			return target == called
		}
		return w.local[target].prints(name)
	})
}

// prints reports whether a step of the workflow stores what it prints under a name.
func (w *workflow) prints(name string) bool {
	v, _ := w.Map.Get("steps")
	return slices.ContainsFunc(keys.ListOf(v), func(e param.Value) bool {
		m, _ := e.(*param.Map)
		return m != nil && strings.Trim(strings.TrimPrefix(text1(m, "output"), "$"), "{}") == name
	})
}

// printed declares an output that is the whole stdout of the command.
func (s *step) printed(name string) {
	as := variable(name)
	if s.workflow.params.Has(as) {
		s.refuse(s.Map, "output", "give the output another name", "the output has the name of a parameter: %s", name)
	}
	s.taken[as] = true
	s.store(as, name, s.id+".output")
}

// streams declares the files of `${id.stdout}` and `${id.stderr}` if other steps, or the step itself, refer to them.
func (s *step) streams(text string) {
	for _, stream := range []string{"stdout", "stderr"} {
		name, own := s.id+"."+stream, param.Text(s.Map)
		named := strings.Contains(text, "${"+name+"}") || s.handles == "" && (strings.Contains(own, streamVariable(stream)) || strings.Contains(own, "paths.step_"+stream+"_file"))
		if named && s.kindRuns() && !s.Has(stream) {
			s.Map.Set(stream, param.New("artifact", "streams/"+name))
			s.values[name] = value{kind: ofConst, as: artifacts + " + " + quotedScript("/streams/"+name), by: s}
			s.used[artifacts] = true
			s.note(s.Map, "id", "let the step store a value with `_store`", false, "the file of %s is on the machine that runs the commands", name)
		}
	}
}

// left declares the exit code and the stdout of the step if other steps refer to them.
func (s *step) left() {
	text := strings.Join(s.lines, "\n")
	s.streams(text)
	if strings.Contains(text, "${"+s.id+".output") && s.values[s.id+".output"].kind == 0 && !s.Has("output") && s.kindRuns() {
		s.store(unique(s.taken, variable(s.id+"_output")), s.id+".output")
	}
	goesOn := s.ignores()
	if ends := goesOn && len(s.stores) > 0 && s.endsRun(); !ends && !strings.Contains(text, "${"+s.id+".exit_code}") && !strings.Contains(text, "${"+s.id+".exitCode}") {
		return
	}
	switch {
	case s.Has("repeat_policy"), s.handlesNow(), !s.kindRuns():
	case goesOn && len(s.stores) > 0:
		s.store(unique(s.taken, variable(s.id+"_exit_code")), s.id+".exit_code")
	case goesOn:
		of := "failed." + s.name
		if !identifier().MatchString(s.name) {
			of = "failed[" + quotedScript(s.name) + "]"
		}
		if s.Has("preconditions") || s.Has("approval") {
			of = "failed.run"
		}
		s.values[s.id+".exit_code"] = value{kind: ofConst, as: "(" + of + " ? " + of + ".exit_code : 0)", by: s}
	default:
		s.values[s.id+".exit_code"] = value{kind: ofConst, as: "0", by: s}
	}
	if code, there := s.values[s.id+".exit_code"]; there {
		s.values[s.id+".exitCode"] = code
	}
}

// kindRuns reports whether the step becomes a command.
func (s *step) kindRuns() bool {
	return slices.Contains([]string{"", "exec", "docker", "jq", "template", "file.write", "file.mkdir", "file.read", "data.convert", "data.pick"}, text1(s.Map, "type")) && !s.Has("call") && !s.Has("foreach")
}

// handlesNow reports whether a handler refers to the exit code of the step. A handler also runs after a failure.
func (s *step) handlesNow() bool {
	at := slices.IndexFunc(s.lines, func(line string) bool {
		return strings.HasPrefix(strings.ReplaceAll(strings.ToLower(line), "_", ""), "handleron:")
	})
	if at < 0 {
		return false
	}
	for _, line := range s.lines[at+1:] {
		if line != "" && line[0] != ' ' && line[0] != '#' {
			return false
		}
		if strings.Contains(line, "${"+s.id+".exit_code}") || strings.Contains(line, "${"+s.id+".exitCode}") {
			return true
		}
	}
	return false
}

// published returns the values of a step that runs nothing; nil for any other step.
func (s *step) published() *param.Map {
	m := s.Map.Map("output")
	if m == nil || s.Has("command") || s.Has("script") || s.Has("exec") {
		return nil
	}
	return m
}

// publish returns a script that stores them.
func (s *step) publish() string {
	out := param.New()
	for key, v := range s.published().All() {
		if m, isMap := v.(*param.Map); isMap && m.Has("value") {
			v, _ = m.Get("value")
		}
		if m, isMap := v.(*param.Map); isMap && m.Has("from") {
			s.refuse(s.published(), key, "write the value", "an output without a command cannot come from one")
		}
		out.Set(s.values[s.id+".output."+key].as, v)
	}
	return "cat >> \"$DIGDAG_STORE\" <<'END_OF_VALUES'\n" + s.inJSON(s.published(), "output", out) + "\nEND_OF_VALUES\n"
}

// stored returns the `_store` of a command.
func (s *step) stored() *param.Map {
	out := param.New()
	if s.published() != nil {
		return out
	}
	v, _ := s.Get("output")
	if x, isMap := v.(*param.Map); !isMap || x.Has("name") && !x.Has("from") {
		if of := s.values[s.id+".output"]; of.kind == ofOutput && slices.Contains(s.stores, of.as) {
			out.Set(of.as, "stdout")
		}
	}
	for as, v := range s.ruled.All() {
		m, isMap := v.(*param.Map)
		if !isMap || !m.Has("from") {
			continue
		}
		rule := param.New()
		for word, v := range m.All() {
			switch word {
			case "path":
				rule.Set(word, s.plain(m, word, textOf(v)))
			case "from", "decode", "select":
				rule.Set(word, v)
			default:
				s.refuse(m, word, "see `_store`", "%s of an output is unknown", word)
			}
		}
		out.Set(as, rule)
	}
	return out
}
