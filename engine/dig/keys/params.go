package keys

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

const (
	// ParamsKey is the key at the top of a file for the parameters that a start of the workflow may give.
	ParamsKey = "params"
	// openKey is the key of `params` that allows a start to give other parameters. A parameter may also have that name.
	openKey = "additional"
)

// Params is `params` of a file.
type Params struct {
	List   []Param
	Closed bool // a start may give no other parameters
}

// Param is a parameter that a start of the workflow may give.
type Param struct {
	Name        string
	Description string
	Rule        rule.Rule
	Default     param.Value // nil: none
	Required    bool
	Fixed       bool // it always has its default
	Secret      bool // it names a secret
}

const paramsForm = "write names and rules: `params: {days: {type: integer, minimum: 1, default: 7, description: how far back}}`"

var (
	paramName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`) })
	secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`) })
)

func paramsKey() Key {
	return Key{
		Name: ParamsKey, Where: AtTop,
		Doc:   "the parameters that may be passed at the start: types, rules, defaults",
		Check: checkParams,
		Schema: func(meaning rule.Meaning) rule.Schema {
			return rule.Schema{"type": "object", "additionalProperties": rule.SchemaOf(meaning, nil, paramWords()...),
				"properties": rule.Schema{openKey: rule.Schema{"anyOf": []any{rule.Schema{"type": "boolean"}, rule.SchemaOf(meaning, nil, paramWords()...)}}}}
		},
	}
}

// ParamsOf reads `params` of a file in its stored form; the zero value if it has none.
func ParamsOf(config *param.Map) Params {
	var p Params
	if language, _ := Gate(config); language.Level == 0 {
		return p
	}
	return ReadParams(config)
}

// ReadParams reads `params` of a task in a file with `zerodag: 1`.
func ReadParams(config *param.Map) (p Params) {
	if v, there := config.Get(ParamsKey); there {
		p.read(v, func([]string, string, string) {})
	}
	return p
}

// checkParams requires rules that a start can be checked against.
func checkParams(_ string, v param.Value, report rule.Report) {
	new(Params).read(v, report)
}

func (p *Params) read(v param.Value, report rule.Report) {
	m, ok := v.(*param.Map)
	if !ok || m.Len() == 0 {
		report(nil, "'params' must name parameters: "+param.Sample(v), paramsForm)
		return
	}
	r := rule.Reader{Of: "params", Report: report}
	for name, v := range m.All() {
		at := []string{name}
		if open, isWord := v.(bool); isWord && name == openKey {
			p.Closed = !open
			continue
		}
		switch builtIn := slices.Contains(builtInNames(), name); {
		case !paramName().MatchString(name):
			r.Fail(at, "use letters, digits and _, beginning with a letter", "'%s' is not a valid name of a parameter", name)
		case builtIn:
			r.Fail(at, "choose another name", "'%s' is a variable that every task has", name)
		}
		m, ok := v.(*param.Map)
		if !ok {
			r.Fail(at, paramsForm, "the rule of '%s' must be an object: %s", name, param.Sample(v))
			continue
		}
		p.List = append(p.List, readParam(r, name, m, at))
	}
}

// paramWords returns a parameter's keys other than its rule.
func paramWords() []string { return []string{"default", "required", "fixed", "secret"} }

// readParam reads one parameter.
func readParam(r rule.Reader, name string, m *param.Map, at []string) Param {
	p := Param{Name: name}
	p.Default, _ = m.Get("default")
	p.Description, _ = m.Value("description").(string)
	p.Rule = r.Read(m, at, rule.Words(append(paramWords(), "description")...), func(key string, v param.Value, at []string) bool {
		return key == "default" || r.Described(key, v, at) || r.Yes("required", &p.Required, key, v, at) ||
			r.Yes("fixed", &p.Fixed, key, v, at) || r.Yes("secret", &p.Secret, key, v, at)
	})
	under := func(key string) []string { return append(slices.Clone(at), key) }
	if p.Secret && p.Rule.Type == "" {
		p.Rule.Type = "string"
	}
	switch {
	case p.Secret && p.Rule.Type != "string":
		r.Fail(under("secret"), "write `type: string`, or omit the type", "secret is for values of type string: the name of a secret")
	case p.Fixed && p.Default == nil:
		r.Fail(under("fixed"), "write the value as its default", "'%s' is fixed but has no default, so it has no value", name)
	case strings.Contains(param.Text(p.Default), "${"):
		r.Fail(under("default"), "put it in `_export` at the top, under a different name", "a default must be a plain value, because ${...} is not evaluated in it: %s", param.Sample(p.Default))
	case p.Default != nil:
		if _, faults := p.fit(p.Default); len(faults) > 0 {
			r.Fail(under("default"), "change the default or the rule", "the default violates its own rule: %s", strings.Join(faults, "; "))
		}
	}
	return p
}

// fit is Rule.Fit for the parameter.
func (p *Param) fit(v param.Value) (param.Value, []string) {
	v, faults := p.Rule.Fit(p.Name, v)
	if text, isText := v.(string); p.Secret && isText && !secretName().MatchString(text) {
		faults = append(faults, fmt.Sprintf("'%s' must be the name of a secret, not its value", p.Name))
	}
	return v, faults
}

// Fill converts the given values to the declared types, adds defaults, and lists all rule violations. again means that
// a session is repeated with the parameters of an earlier attempt, so that a fixed parameter gets its current value.
func (p Params) Fill(given *param.Map, again bool) (filled *param.Map, faults []string) {
	filled = given.Clone()
	for i := range p.List {
		q := &p.List[i]
		v, _ := given.Get(q.Name)
		v = param.Code(v)
		switch {
		case v == nil && q.Default == nil:
			if filled.Delete(q.Name); q.Required {
				faults = append(faults, fmt.Sprintf("'%s' is required%s", q.Name, q.about()))
			}
			continue
		case v == nil, again && q.Fixed:
			v = q.Default
		}
		v, wrong := q.fit(v)
		if of, _ := q.fit(q.Default); q.Fixed && len(wrong) == 0 && !param.Equal(v, of) {
			wrong = []string{fmt.Sprintf("'%s' is always %s and cannot be changed", q.Name, rule.Shown(q.Default))}
		}
		faults = append(faults, wrong...)
		filled.Set(q.Name, param.Data(v))
	}
	for _, name := range p.undeclared(given) {
		near := param.DidYouMean(name, p.names())
		switch {
		case near != "":
			faults = append(faults, fmt.Sprintf("'%s' is not a parameter of the workflow: %s", name, near))
		case p.Closed:
			faults = append(faults, fmt.Sprintf("'%s' is not a parameter of the workflow", name))
		}
	}
	return filled, faults
}

// Undeclared lists permitted parameters of a start that `params` does not declare. Without
// `params` there are none.
func (p Params) Undeclared(given *param.Map) []string {
	if len(p.List) == 0 || p.Closed {
		return nil
	}
	return p.undeclared(given)
}

// about returns the text that is added to a message about a missing parameter.
func (p *Param) about() string {
	if p.Description == "" {
		return ""
	}
	return ": " + p.Description
}

func (p Params) names() []string {
	names := make([]string, len(p.List))
	for i, q := range p.List {
		names[i] = q.Name
	}
	return names
}

// undeclared lists names that are neither declared nor variables that every task has.
func (p Params) undeclared(given *param.Map) (names []string) {
	declared := p.names()
	for _, name := range given.Keys() {
		if !slices.Contains(declared, name) && !slices.Contains(builtInNames(), name) && !strings.HasPrefix(name, "_") {
			names = append(names, name)
		}
	}
	return names
}

// builtInNames returns the variables that every task has, or that a schedule sets.
func builtInNames() []string {
	names := []string{"timezone", "project_id", "task_name", "session_id", "session_uuid", "attempt_id", "retry_attempt_name",
		"last_business_date", "next_business_date", "failed"}
	for _, prefix := range []string{"session_", "last_session_", "next_session_", "last_executed_session_"} {
		for _, part := range []string{"time", "date", "date_compact", "local_time", "tz_offset", "unixtime"} {
			names = append(names, prefix+part)
		}
	}
	return names
}
