package references

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/sequence"
)

// Artifacts is the exported name of the folder for a run's files, on the machine that runs the commands.
const Artifacts = "artifacts_dir"

// ArtifactsIn returns that folder. All attempts of a session share it, so that a resumed run finds the files of its
// tasks.
func (s *Scope) ArtifactsIn() string {
	return "/tmp/artifacts-" + s.Name + "-${project_id}-${session_unixtime}"
}

// builtIn returns the variables that Dagu sets in each run, as expressions.
func (s *Scope) builtIn() map[string]string {
	status := map[string]string{"failure": "'failed'", "success": "'succeeded'", "abort": "'aborted'", "init": "'running'",
		"exit": "(outcome == 'success' ? 'succeeded' : outcome == 'error' ? 'failed' : 'aborted')"}[s.Handles]
	if s.Handles == "success" && s.Partial != "" {
		status = "(" + s.Partial + " ? 'partially_succeeded' : 'succeeded')"
	}
	step := "task_name"
	switch handler := map[string]string{"init": "onInit", "success": "onSuccess", "failure": "onFailure", "exit": "onExit",
		"abort": "onAbort", "cancel": "onAbort"}[s.Handles]; {
	case handler != "":
		step = QuotedScript(handler)
	case s.current != nil:
		step = QuotedScript(s.current.Called)
	}
	all := map[string]string{"DAG_NAME": QuotedScript(s.Called()), "DAG_RUN_ID": "attempt_id", "DAG_RUN_STEP_NAME": step,
		"DAG_RUN_ARTIFACTS_DIR": Artifacts, "DAG_RUN_WORK_DIR": "'.'"}
	if status != "" { // only handlers have a status
		all["DAG_RUN_STATUS"] = status
	}
	for name, file := range s.logs() {
		all[name] = Artifacts + " + " + QuotedScript(file)
	}
	if s.Params.Len() > 0 {
		all["DAG_PARAMS_JSON"] = s.paramsJSON()
		all["DAGU_PARAMS_JSON"] = all["DAG_PARAMS_JSON"]
	}
	return all
}

// RunLog is the file that replaces the run's log, in the folder for the run's files.
const RunLog = "/run.log"

// logs returns the log files that commands may name, by variable: the run's log, and the current step's logs. Handlers
// have only the run's log.
func (s *Scope) logs() map[string]string {
	all := map[string]string{"DAG_RUN_LOG_FILE": RunLog}
	if at := s.current; at != nil && s.Handles == "" {
		for _, stream := range []string{"stdout", "stderr"} {
			if _, there := s.Values[at.ID+"."+stream]; there {
				all[StreamVariable(stream)] = "/streams/" + at.ID + "." + stream
			}
		}
	}
	return all
}

// StreamVariable returns the variable that names the file for a step's stdout or stderr.
func StreamVariable(stream string) string {
	return "DAG_RUN_STEP_" + strings.ToUpper(stream) + "_FILE"
}

// writesLog provides the run with a file for DAG_RUN_LOG_FILE.
func (s *Scope) writesLog(m *param.Map, key string) {
	s.Outside(s.Map, "container", "the log of the run")
	s.Used[Artifacts], s.Used[RunLog] = true, true
	s.Note(m, key, "read the log with `zerodag log`", false,
		"the file in DAG_RUN_LOG_FILE has one line with the name of the run, and is on the machine that runs the commands")
}

// paramsJSON returns an expression for the values of all named parameters in the format of DAG_PARAMS_JSON: a JSON
// object of strings, ordered by name, in which Go escapes three HTML characters. Parameters without a value are
// omitted.
func (s *Scope) paramsJSON() string {
	as := map[string]string{}
	for name, v := range s.Values {
		if of, isParam := strings.CutPrefix(name, "params."); isParam {
			as[of] = v.Param
		}
	}
	for _, nameless := range s.Positional {
		delete(as, nameless)
	}
	if len(as) == 0 {
		return "''"
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(as)) {
		key, of := QuotedScript(strconv.Quote(name)+":"), "this."+as[name]
		pairs = append(pairs, "("+of+" === undefined ? '' : "+key+" + JSON.stringify('' + "+of+"))")
	}
	return `'\x7b' + [` + strings.Join(pairs, ", ") +
		`].filter(String).join(',').replace(/</g, '\\u003c').replace(/>/g, '\\u003e').replace(/&/g, '\\u0026') + '\x7d'`
}

// Called returns the workflow's name in Dagu.
func (s *Scope) Called() string {
	if own := document.Text(s.Map, "name"); own != "" {
		return own
	}
	return s.Name
}

// Unavailable reports whether a variable that Dagu sets in each run has no counterpart.
func (s *Scope) Unavailable(name string) bool {
	if s.Handles != "" && (name == StreamVariable("stdout") || name == StreamVariable("stderr")) {
		return false // Dagu sets neither
	}
	return slices.Contains([]string{"DAG_RUN_STEP_STDOUT_FILE", "DAG_RUN_STEP_STDERR_FILE", "DAG_WIKI_DIR", "DAG_DOCS_DIR",
		"DAGU_EXECUTABLE", "DAGU_HOME", "DAGU_OUTPUT_FILE", "DAG_WAITING_STEPS", "WEBHOOK_PAYLOAD", "WEBHOOK_HEADERS"}, name)
}

// contextual returns the expression for a value that describes the run, such as "dag.name"; "" if there is none.
func (s *Scope) contextual(field string) string {
	switch field {
	case "step.id":
		if s.Handles != "" || s.current == nil || document.Text(s.current.Map, "id") == "" {
			return ""
		}
		return QuotedScript(document.Text(s.current.Map, "id"))
	case "attempt.id":
		return "attempt_id"
	case "paths.artifacts_dir":
		s.Used[Artifacts] = true
	case "paths.log_file":
		s.writesLog(s.Map, "steps")
	}
	name := map[string]string{"paths.log_file": "DAG_RUN_LOG_FILE", "paths.step_stdout_file": StreamVariable("stdout"),
		"paths.step_stderr_file": StreamVariable("stderr"), "dag.name": "DAG_NAME", "run.id": "DAG_RUN_ID",
		"step.name": "DAG_RUN_STEP_NAME", "run.status": "DAG_RUN_STATUS",
		"paths.artifacts_dir": "DAG_RUN_ARTIFACTS_DIR"}[field]
	return s.builtIn()[name]
}

// OutputFile is the variable that names the file to which a step writes its declared outputs.
const OutputFile = "DAGU_OUTPUT_FILE"

// WritesOutputs reports whether a step has an output file that its command uses.
func WritesOutputs(step *param.Map) bool {
	if step.Has("outputs") {
		return true
	}
	for _, key := range []string{"command", "script", "env", "exec"} {
		v, _ := step.Get(key)
		if strings.Contains(param.Text(v), OutputFile) {
			return true
		}
	}
	return false
}

var managed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(DAG_NAME|DAG_(RUN|WIKI|DOCS|PARAMS|WAITING)_[A-Z_]+|DAGU_(PARAMS_JSON|EXECUTABLE|HOME|OUTPUT_FILE)|WEBHOOK_[A-Z]+)\b`)
})

// needs adds a variable that Dagu sets in each run.
func (s *Scope) needs(name string) {
	switch name {
	case "DAG_RUN_ARTIFACTS_DIR":
		s.Used[Artifacts] = true
		return
	case "DAG_RUN_WORK_DIR":
		s.current.InFolder = true
		return
	}
	if file, isLog := s.logs()[name]; isLog { // exports are not evaluated within _env
		s.current.Extra.Set(name, s.ArtifactsIn()+file)
		return
	}
	s.current.Extra.Set(name, "${"+s.builtIn()[name]+"}")
}

// Outside refuses a command that Dagu runs outside the workflow's container, because here all commands would run in it.
func (s *Scope) Outside(m *param.Map, key, what string) {
	if s.Map.Has("container") {
		s.Refuse(m, key, "name the image at the steps instead of at the top",
			"%s runs outside the workflow container in Dagu, but would run inside it here", what)
	}
}

// On calls do with a step as the current one, to which notes and refusals are attached.
func (s *Scope) On(step *sequence.Node, do func()) {
	current, about := s.current, s.About
	s.current, s.About = step, &step.Verdict
	do()
	s.current, s.About = current, about
}
