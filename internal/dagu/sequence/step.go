// Package sequence describes a workflow's steps from the outside: their names, what each one waits for, and the
// condition under which it runs. It must not depend on what a step does.
package sequence

import (
	"slices"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
)

// Node is the outside view of a step: its names, its keys and its dependencies.
type Node struct {
	document.Verdict
	*param.Map
	Name    string // its task's name, without "+"
	Called  string // its name in Dagu
	ID      string // the id by which other steps refer to it
	Within  *Node  // the `foreach` that contains it; nil for none
	Depends []*Node
	Own     string     // its condition, as an expression; "" for none
	Before  string     // the part of its whole condition that comes from earlier steps
	all     *string    // its whole condition, once it has been computed
	Stores  []string   // the names of its stored values in expressions
	Extra   *param.Map // additional variables for its command
	// InFolder is true if the command needs the variable for the run's folder.
	InFolder bool
}

// With returns the type-specific configuration of a step.
func (s *Node) With() *param.Map {
	if m := s.Map.Map("with"); m != nil {
		return m
	}
	return param.New()
}

// Named returns the step with the given id or Dagu name; nil if there is none.
func Named(steps []*Node, name string) *Node {
	for _, s := range steps {
		if s.ID == name || s.Called == name {
			return s
		}
	}
	return nil
}

// Follows reports whether the step waits for another step, directly or indirectly.
func (s *Node) Follows(other *Node) bool {
	seen := map[*Node]bool{}
	var after func(of *Node) bool
	after = func(of *Node) bool {
		if seen[of] {
			return false
		}
		seen[of] = true
		return slices.ContainsFunc(of.Depends, func(d *Node) bool { return d == other || after(d) })
	}
	return after(s) || s.Within != nil && s.Within.Follows(other)
}

// Continues reports whether later steps run if this one was skipped or failed; what selects one of the two.
func (s *Node) Continues(what string) bool {
	v, _ := s.Get("continue_on")
	if m, isMap := v.(*param.Map); isMap {
		on, _ := m.Get(what)
		if what == "failed" && on == nil {
			on, _ = m.Get("failure")
		}
		return on == true
	}
	return strings.HasPrefix(document.TextOf(v), what[:4])
}

// Condition returns the condition under which a step runs: its own, and the conditions of the steps that it waits for
// if it is skipped when they are.
func (s *Node) Condition() string {
	if s.all != nil {
		return *s.all
	}
	all := ""
	s.all = &all
	for _, d := range s.Depends {
		if !d.Continues("skipped") && !d.Has("routed") {
			all = Join(all, d.Condition())
		}
	}
	s.Before = all
	all = Join(all, s.Own)
	return all
}

// MayBeAbsent reports whether later steps may run without the values that this step stores.
func (s *Node) MayBeAbsent() bool {
	return s.Condition() != "" || s.Has("continue_on") || s.Has("parallel")
}

// Join combines two conditions with "and"; either may be "".
func Join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "", a == b, strings.HasPrefix(a, "("+b+") && "), strings.Contains(a, " && ("+b+")"):
		return a
	}
	return "(" + a + ") && (" + b + ")"
}
