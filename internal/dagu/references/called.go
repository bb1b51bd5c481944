package references

import (
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/sequence"
)

// ofResult returns the expression for part of a called workflow's result; "" if there is none. The values that the
// called workflow's steps store are visible to the caller.
func (s *Scope) ofResult(v Value, path string) string {
	if v.By == nil || s.hiddenStep(v.By) || s.Handles != "" || v.By.Has("parallel") || v.By.Has("continue_on") {
		return ""
	}
	path = v.As + path
	if path == "status" {
		return "'succeeded'"
	}
	name, there := strings.CutPrefix(path, "outputs.")
	called := s.Beside[document.FileName(document.Text(v.By.Map, "call"))]
	if !there || !document.Identifier().MatchString(name) || called != nil && !prints(called, name) ||
		s.replacedBy(v.By, name) {
		return ""
	}
	return namedAs(document.Variable(name))
}

// replacedBy reports whether another step may overwrite a value from a called workflow, by storing one under the same
// name, before the current step reads it.
func (s *Scope) replacedBy(by *sequence.Node, name string) bool {
	called := document.FileName(document.Text(by.Map, "call"))
	return slices.ContainsFunc(s.Every, func(other *sequence.Node) bool {
		if other == by || by.Follows(other) || s.current != nil && (other == s.current || other.Follows(s.current)) {
			return false
		}
		target := document.FileName(document.Text(other.Map, "call"))
		switch {
		case !other.Has("call"):
			return slices.Contains(other.Stores, document.Variable(name))
		case s.Beside[target] == nil:
			return target == called
		}
		return prints(s.Beside[target], name)
	})
}

// prints reports whether a step of the workflow stores its output under a name.
func prints(d *document.Document, name string) bool {
	v, _ := d.Get("steps")
	return slices.ContainsFunc(keys.ListOf(v), func(e param.Value) bool {
		m, _ := e.(*param.Map)
		return m != nil && strings.Trim(strings.TrimPrefix(document.Text(m, "output"), "$"), "{}") == name
	})
}
