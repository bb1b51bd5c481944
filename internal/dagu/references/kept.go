package references

import (
	"slices"
	"strings"

	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/sequence"
)

// keeps reports whether Dagu leaves a reference without a value unchanged. It does so for references into its own
// namespaces if the name is unknown or not visible in the step.
func (s *Scope) keeps(inner string) bool {
	if !dotted().MatchString(inner) {
		return false
	}
	root, rest, _ := strings.Cut(inner, ".")
	root, _, _ = strings.Cut(root, "[")
	if s.Values[root].Kind != 0 || s.ofStepNamed(root) {
		return s.Today && s.hidden(root)
	}
	parts := strings.Split(rest, ".")
	switch root {
	case "consts":
		return true
	case "params": // a caller may pass an undeclared parameter
		return !s.Inner && s.Values[inner].Kind == 0
	case "steps":
		return true
	case "foreach":
		return s.current == nil || s.current.Within == nil && !s.current.Has("foreach")
	case "env":
		return len(parts) > 1
	case "context", "dag", "run", "attempt", "step", "trigger", "paths", "profile", "pushback":
		return s.keepsContext(strings.TrimPrefix(inner, "context."))
	}
	return s.Today
}

// hidden reports whether a name belongs to a step, or to a step's output, and that step does not precede the current
// one.
func (s *Scope) hidden(name string) bool {
	of := s.Values[name].By
	if s.Values[name].Kind == 0 {
		of = sequence.Named(s.Every, name)
	}
	return of != nil && s.hiddenStep(of)
}

func (s *Scope) hiddenStep(of *sequence.Node) bool {
	return s.current != nil && s.Handles == "" && of != s.current && !s.current.Follows(of)
}

// keepsName reports whether a string that no shell reads keeps `${NAME}`: Dagu has no such variable, or it is the
// output of a step that does not precede the current one.
func (s *Scope) keepsName(name string) bool {
	if !s.Today || !document.Identifier().MatchString(name) || managed().MatchString(name) || fromMachine(name) {
		return false
	}
	return s.Values[name].Kind == 0 && (s.current == nil || !document.Entries(s.current.Map).Has(name)) || s.hidden(name)
}

// fromMachine reports whether Dagu passes on one of the machine's environment variables.
func fromMachine(name string) bool {
	known := strings.Fields(`PATH HOME USER SHELL TMPDIR TERM EDITOR VISUAL LANG TZ LD_LIBRARY_PATH XDG_CONFIG_HOME
		XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME DOCKER_HOST DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION PWD`)
	return slices.Contains(known, name) ||
		slices.ContainsFunc([]string{"DAG_", "DAGU_", "LC_", "KUBERNETES_"},
			func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// keepsContext is like keeps, for a value that describes the run.
func (s *Scope) keepsContext(field string) bool {
	switch field {
	case "run.status":
		return s.Handles == ""
	case "step.id":
		return s.current != nil
	case "run.root_name", "run.root_id":
		return !s.Inner
	case "trigger.actor", "profile.name", "profile.resolved_at", "pushback.iteration", "pushback.previous_stdout_file":
		return true
	case "dag.name", "run.id", "run.scheduled_at", "run.started_at", "attempt.id", "attempt.started_at", "step.name",
		"trigger.type", "paths.log_file", "paths.work_dir",
		"paths.artifacts_dir", "paths.step_output_file", "paths.wiki_dir", "paths.docs_dir":
		return false
	case "paths.step_stdout_file", "paths.step_stderr_file":
		return s.Handles != ""
	}
	return true
}

// known reports whether a dotted name begins with a namespace or with a name in the workflow.
func (s *Scope) known(inner string) bool {
	name, _, _ := strings.Cut(inner, ".")
	if isScoped(inner) || s.Values[name].Kind != 0 {
		return true
	}
	return s.ofStepNamed(name)
}

// plain reports whether no shell is needed to compute a reference.
func (is Meaning) plain() bool { return is.Expression != "" || is.kept }
