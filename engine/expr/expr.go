// Package expr evaluates `${...}` in parameter trees and template files.
//
// The agent side of the host calls Eval once before every run of a task and Template for files; the state machine
// itself never does. References to parameters are looked up here; anything that needs JavaScript is passed to package
// script, in this process or another. This package must never run JavaScript, nor link the engine that does.
//
// The rules are language.md 1.7.
package expr

import (
	"strings"
	"time"

	"zerodag/engine/param"
)

// Scope is what expressions see in addition to the parameters.
type Scope struct {
	Zone *time.Location // local time of Date and moment; nil is UTC
	Now  time.Time      // the current time of Date and moment
	Seed uint64         // of Math.random

	// Mark, unless empty, is inserted after the `$` of every `${` that remains in the written text of a template, so
	// that a reference to a secret can be distinguished from data that looks like one.
	Mark string
}

// Eval returns the tree `all` with every string evaluated, in order. A string sees vars, which are not evaluated,
// overlaid by the evaluated entries before it in its own mapping. Values under _do and _else_do are not evaluated, and
// neither are keys. Values without `$` are shared with the result; if nothing changes, the result is the tree itself.
//
// Errors are param.ConfigErrors with Digdag's wording.
func (e *Evaluator) Eval(all, vars *param.Map, s Scope) (*param.Map, error) {
	return e.evalMap(all, vars, &s)
}

// Template evaluates a file's text.
func (e *Evaluator) Template(text string, vars *param.Map, s Scope) (string, error) {
	if strings.IndexByte(text, '$') < 0 {
		return text, nil
	}
	return e.evalText(text, scope{vars: vars}, &s)
}

// Location returns the zone of Date and moment.
func (s *Scope) Location() *time.Location {
	if s.Zone == nil {
		return time.UTC
	}
	return s.Zone
}

// scope holds the values that a string sees: siblings first, then vars. mark, unless empty, is missing from the code in
// vars, since that code was not evaluated.
type scope struct {
	siblings, vars *param.Map
	mark           string
}

func (sc scope) get(key string) (param.Value, bool) {
	if v, ok := sc.siblings.Get(key); ok {
		return v, true
	}
	return sc.vars.Get(key)
}

// merged returns the scope as one mapping: siblings replace values instead of merging with them.
func (sc scope) merged() *param.Map {
	m := markCode(sc.vars, sc.mark).(*param.Map).Clone()
	for key, value := range sc.siblings.All() {
		m.Set(key, value)
	}
	return m
}

// evalMap evaluates the entries of m; it returns m itself if none needs it.
func (e *Evaluator) evalMap(m, vars *param.Map, s *Scope) (*param.Map, error) {
	if !dollar(m) {
		return m, nil
	}
	out := param.New()
	for key, value := range m.All() {
		if key != "_do" && key != "_else_do" {
			v, err := e.evalValue(value, scope{out, vars, s.Mark}, s)
			if err != nil {
				return nil, err
			}
			value = v
		}
		out.Set(key, value)
	}
	return out, nil
}

func (e *Evaluator) evalValue(v param.Value, sc scope, s *Scope) (param.Value, error) {
	switch x := v.(type) {
	case param.Literal:
		return string(x), nil
	case string:
		if strings.IndexByte(x, '$') < 0 {
			return v, nil
		}
		return e.evalText(x, sc, s)
	case *param.Map:
		return e.evalMap(x, sc.vars, s)
	case []param.Value:
		return e.evalList(x, sc, s)
	}
	return v, nil
}

func (e *Evaluator) evalList(list []param.Value, sc scope, s *Scope) (param.Value, error) {
	if !dollar(list) {
		return list, nil
	}
	out := make([]param.Value, len(list))
	for i, v := range list {
		v, err := e.evalValue(v, sc, s)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// dollar reports whether a value has a string to evaluate.
func dollar(v param.Value) bool {
	switch x := v.(type) {
	case param.Literal:
		return true
	case string:
		return strings.IndexByte(x, '$') >= 0
	case *param.Map:
		for i := range x.Len() {
			if k, v := x.At(i); k != "_do" && k != "_else_do" && dollar(v) {
				return true
			}
		}
	case []param.Value:
		for _, v := range x {
			if dollar(v) {
				return true
			}
		}
	}
	return false
}
