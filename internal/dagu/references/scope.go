// Package references translates references such as `${NAME}` and `${id.output.key}`, and strings that contain them,
// into expressions and into text for a shell or another program. It determines what names mean in a workflow and in
// each of its steps. It refuses a reference whose meaning is unknown, because it must not guess.
package references

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/sequence"
)

// Value is a possible meaning of the name in `${NAME}` in a workflow.
type Value struct {
	Kind    ValueKind
	As      string         // how an expression names it
	By      *sequence.Node // the step that stores it; nil for none
	Decoded bool           // it is not a string: its parts need no JSON.parse
	Param   string         // the name of the parameter; "" if it is not a parameter
}

// ValueKind is the source of a value.
type ValueKind int

// The kinds of values.
const (
	OfParam  ValueKind = iota + 1 // passed at the start
	OfEnv                         // a variable for all commands that may also be exported
	OfOutput                      // stored by a step
	OfSecret                      // only a variable for all commands
	OfShell                       // a variable that only the shell of a command can compute
	OfItem                        // an item of a loop
	OfConst                       // an expression that needs no other value
	OfCall                        // the result of a called workflow; only its parts have a value
)

// Meaning is the translation of a reference.
type Meaning struct {
	Expression string // as an expression; "" for none
	Owned      bool   // Dagu replaces it before a shell reads the text
	kept       bool   // Dagu finds no value and leaves the text unchanged
}

// Meaning translates `${inner}`.
func (s *Scope) Meaning(inner string) Meaning {
	is := s.replaced(inner)
	is.kept = is.Expression == "" && s.keeps(inner)
	return is
}

// replaced translates a reference that has a value.
func (s *Scope) replaced(inner string) Meaning {
	if n, err := strconv.Atoi(inner); err == nil {
		if name := s.Positional[n]; name != "" {
			return Meaning{Expression: namedAs(name), Owned: true}
		}
		return Meaning{}
	}
	if parts := sliced().FindStringSubmatch(inner); parts != nil {
		return Meaning{Expression: s.slice(parts)}
	}
	name, path, hasPath := strings.Cut(inner, ".")
	if !hasPath {
		if inner == "params" && s.Today && s.Params.Len() > 0 && s.Values[inner].Kind == 0 {
			return Meaning{Expression: s.paramsJSON(), Owned: true}
		}
		return Meaning{Expression: s.named(inner)}
	}
	if !dotted().MatchString(inner) {
		return Meaning{}
	}
	switch name {
	case "params", "consts", "env", "foreach", "steps":
		return s.scoped(name, path, inner)
	case "context", "dag", "run", "attempt", "step", "paths":
		return Meaning{Expression: s.contextual(strings.TrimPrefix(inner, "context.")), Owned: true}
	}
	if v, there := s.Values[inner]; there {
		return Meaning{Expression: s.held(v), Owned: true}
	}
	if field, ofStep := s.ofStep(name, path); ofStep {
		return Meaning{Expression: field, Owned: true}
	}
	if v, there := s.Values[name]; there {
		return Meaning{Expression: s.within(v, path), Owned: true}
	}
	return Meaning{Owned: true}
}

var sliced = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(?::([0-9]+)(?::([0-9]+))?|:-([^$]*))$`)
})

// slice translates Dagu's shell-like syntax in strings that no shell reads: a part of a value, or a default for an
// empty one.
func (s *Scope) slice(parts []string) string {
	x := s.named(parts[1])
	switch {
	case x == "":
		return ""
	case parts[2] == "":
		return "(" + x + " || " + QuotedScript(parts[4]) + ")"
	case parts[3] == "":
		return "('' + " + x + ").substr(" + parts[2] + ")"
	}
	return "('' + " + x + ").substr(" + parts[2] + ", " + parts[3] + ")"
}

// scoped translates a reference that begins with a namespace.
func (s *Scope) scoped(scope, path, inner string) Meaning {
	is := Meaning{Owned: true}
	switch v, there := s.Values[inner]; {
	case scope == "steps" && (s.Handles != "" || there && v.By == s.current):
		// neither handlers nor the step itself can use the output
	case there && scope != "env":
		is.Expression = s.held(v)
	case scope == "foreach":
		of, field, _ := strings.Cut(path, ".")
		if v, there := s.Values["foreach."+of]; there && field != "" {
			is.Expression = v.As + "." + field
		}
	case scope == "env" && s.inEnv(path):
		is.Expression = s.named(path)
	}
	return is
}

// inEnv reports whether an expression can name the value of an environment variable.
func (s *Scope) inEnv(name string) bool {
	switch s.Values[name].Kind {
	case OfEnv, OfOutput, OfParam:
		return true
	case 0:
		_, there := s.builtIn()[name]
		return there && s.current != nil && name != "DAG_RUN_WORK_DIR"
	}
	return false
}

// ofStep translates `${id.output.key}` and the like; ok reports whether id is a step.
func (s *Scope) ofStep(id, path string) (string, bool) {
	field, rest, _ := strings.Cut(path, ".")
	if !slices.Contains([]string{"output", "outputs", "stdout", "stderr", "exit_code", "exitCode"}, field) {
		return "", false
	}
	if v, there := s.Values[id+"."+field]; there && rest != "" {
		return s.within(v, rest), true
	}
	if key, deeper, isDeeper := strings.Cut(rest, "."); isDeeper {
		if v, there := s.Values[id+"."+field+"."+key]; there {
			return s.within(v, deeper), true
		}
	}
	return "", s.ofStepNamed(id)
}

// named translates a name without dots; "" if only a shell has its value.
func (s *Scope) named(name string) string {
	if x, there := s.builtIn()[name]; there && s.Values[name].Kind == 0 {
		switch name {
		case "DAG_RUN_ARTIFACTS_DIR":
			s.Used[Artifacts] = true
		case "DAG_RUN_LOG_FILE":
			s.writesLog(s.Map, "steps")
		}
		return x
	}
	v, there := s.Values[name]
	if !there || v.Kind == OfSecret || v.Kind == OfShell || v.Kind == OfCall {
		return ""
	}
	s.Used[name] = true
	return s.held(v)
}

// held returns the expression for a value; "" if its step may not have run yet. Handlers may run before a step has
// stored its value.
func (s *Scope) held(v Value) string {
	own := v.By != nil && v.By == s.current // the step's repetition condition may name it
	if v.By != nil && s.current != nil && s.Handles == "" && !own && !s.current.Follows(v.By) {
		return ""
	}
	if v.Kind == OfOutput && (s.Handles != "" || own) {
		return "(this." + v.As + " || '')"
	}
	if v.Kind == OfConst {
		return v.As
	}
	return namedAs(v.As)
}

// within returns the expression for a part of a JSON value.
func (s *Scope) within(v Value, path string) string {
	if !jsonPath().MatchString(path) {
		return ""
	}
	switch {
	case v.Kind == OfCall:
		return s.ofResult(v, path)
	case s.held(v) == "":
	case v.Kind == OfItem:
		return v.As + "." + path
	case v.Decoded && s.Handles == "":
		return s.held(v) + "." + path
	case v.Decoded:
		return "(this." + v.As + " ? " + v.As + "." + path + " : '')"
	case v.Kind == OfOutput && s.Handles != "":
		return "(this." + v.As + " ? JSON.parse(" + v.As + ")." + path + " : '')"
	case v.Kind == OfOutput || v.Kind == OfParam || v.Kind == OfEnv || v.Kind == OfConst:
		if v.Kind == OfEnv {
			s.Used[v.As] = true
		}
		return "JSON.parse(" + s.held(v) + ")." + path
	}
	return ""
}

var jsonPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*|\[[0-9]+\])*$`)
})

// reservedWords lists JavaScript's reserved words.
func reservedWords() []string {
	return strings.Fields(`break case catch class const continue debugger default delete do else enum export extends false
		finally for function if implements import in instanceof interface let new null package private
		protected public return static super switch this throw true try typeof var void while with yield`)
}

// namedAs returns the expression for a variable. A name that is a JavaScript reserved word needs `this.`.
func namedAs(name string) string {
	if slices.Contains(reservedWords(), name) {
		return "this." + name
	}
	return name
}

// isScoped reports whether a dotted name begins with a Dagu namespace.
func isScoped(inner string) bool {
	name, _, isDotted := strings.Cut(inner, ".")
	return isDotted && slices.Contains([]string{"params", "consts", "env", "steps", "foreach", "context"}, name)
}

// ofOutput reports whether a dotted name is a step's output, which Dagu replaces even after a backslash.
func (s *Scope) ofOutput(inner string) bool {
	return strings.Contains(inner, ".") && s.Values[inner].Kind == OfOutput
}

func (s *Scope) ofStepNamed(id string) bool {
	return slices.ContainsFunc(s.Every, func(s *sequence.Node) bool { return s.ID == id || s.Called == id })
}

var dotted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+|\[[0-9]+\])+$`)
})

// Scope holds what names mean in a workflow and in the step that is being translated.
type Scope struct {
	*document.Document
	Local      map[string]*Scope // the file's workflows, by name
	Values     map[string]Value  // the possible meanings of ${NAME}
	Taken      map[string]bool   // names of variables that are in use
	Every      []*sequence.Node  // all steps
	current    *sequence.Node    // the step that is being translated; nil for none
	Params     *param.Map        // parameters that the workflow declares
	Positional map[int]string    // the names of the parameters that $1, $2, ... stand for
	Env        *param.Map        // variables of all commands
	Exports    []string          // lines that set command variables that only a shell can compute
	Used       map[string]bool   // values that expressions refer to
	Partial    string            // the condition (errors were ignored) under which a last task fails; "" for none
	Handles    string            // which handler is being translated; "" for none
}

// NewScope returns the scope of a document that has no names yet. local contains the scopes of the file's workflows.
func NewScope(d *document.Document, local map[string]*Scope) *Scope {
	return &Scope{
		Document: d, Local: local, Values: map[string]Value{}, Taken: map[string]bool{}, Used: map[string]bool{},
		Positional: map[int]string{},
		Params:     param.New(), Env: param.New(),
	}
}
