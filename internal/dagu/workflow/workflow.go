// Package workflow translates a whole workflow: its settings, parameters and variables, its handlers, and its steps in
// order. It must not know the kinds of steps: package kinds creates their tasks.
package workflow

import (
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/forms"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/tasks"
	"zerodag/internal/dagu/written"
)

// Workflow is a document that is being translated.
type Workflow struct {
	references.Translator
	forms     forms.Reader
	positions int        // number of positional parameters
	handed    int        // number of nameless parameters that callers in the file pass
	finders   []string   // scripts that compute variables, for a first task
	found     *param.Map // scripts that store a parameter that was not passed, by its name
	secrets   *param.Map
}

// All begins the translation of a file's documents, which may call each other.
func All(docs []*document.Document) []*Workflow {
	handed := map[string]int{}
	for _, d := range docs {
		forms.Reader{Document: d}.Passed(handed)
	}
	local, all := map[string]*references.Scope{}, make([]*Workflow, len(docs))
	for i, d := range docs {
		all[i] = newWorkflow(d, local, handed[d.Name])
	}
	for _, w := range all {
		w.declare()
	}
	return all
}

// newWorkflow begins the translation of a document. local contains the file's workflows; the new one is added to it.
func newWorkflow(d *document.Document, local map[string]*references.Scope, handed int) *Workflow {
	names := references.NewScope(d, local)
	local[d.Name] = names
	return &Workflow{Translator: references.Translator{Scope: names}, forms: forms.Reader{Document: d}, handed: handed,
		found: param.New(), secrets: param.New()}
}

// declare reads the parts of the workflow that its callers need.
func (w *Workflow) declare() {
	w.Today = w.Release == document.Today || w.Release == document.ByKeys && w.forms.WrittenToday()
	w.CheckKeys(w.Map, document.TopKeys(), "")
	w.forms.CheckPlace(w.Map)
	if v, there := w.Map.Get("container"); there && document.Text(w.Map.Map("container"), "image") == "" && v != nil {
		w.Refuse(w.Map, "container", "name an image", "commands cannot run in an existing container")
	}
	w.parameters()
}

// Written returns the workflow file. After that, its notes are complete.
func (w *Workflow) Written() written.File {
	tree := w.translate()
	return written.File{Name: w.Name + ".dig", Text: written.Print(w.Document, w.heading(), tree)}
}

// translate creates the whole workflow file.
func (w *Workflow) translate() *param.Map {
	if kind := document.Text(w.Map, "type"); kind != "" && kind != "chain" && kind != "graph" {
		w.Refuse(w.Map, "type", "write its steps as tasks", "a workflow of type %s is not translated", kind)
	}
	w.constants()
	w.secret()
	w.environment()
	steps := w.steps()
	on := w.handlerSteps()
	if len(flattened(steps)) == 0 {
		w.Refuse(w.Map, "steps", "write steps", "the workflow has no steps")
	}
	handlers := param.New()
	w.Partial = w.ignoring(steps)
	w.handlers(on, handlers) // handlers may need a task in the body
	body := w.body(steps, on)

	out := param.New("zerodag", int64(1))
	set := func(key string, v param.Value) {
		if m, isMap := v.(*param.Map); v == nil || isMap && m.Len() == 0 {
			return
		}
		out.Set(key, v)
	}
	set("description", w.description())
	set("tags", w.tags())
	set("schedule", w.schedule())
	set("params", w.Params)
	set("_export", w.export(steps))
	set("_env_files", w.dotenv())
	set("_env", w.variables())
	if n := w.Whole(w.Map, "timeout_sec"); n > 0 {
		set("_timeout", strconv.FormatInt(n, 10)+"s")
	}
	set("concurrency", w.concurrency())
	set("_pool", w.queue())
	if m := w.Map.Map("retry_policy"); m != nil {
		set("_retry", tasks.Retry(w.Document, m, ""))
	}
	if w.Itself.Refusal != "" {
		handlers, body = w.stopped(handlers), w.stopped(body)
	}
	for key, v := range handlers.All() {
		out.Set(key, v)
	}
	for key, v := range body.All() {
		out.Set(key, v)
	}
	inline(out, expressionsOf(out.Map("_export")))
	return out
}

// stopped returns a task tree with every operator replaced with a failure.
func (w *Workflow) stopped(tree *param.Map) *param.Map {
	out := param.New()
	if keys.OperatorOf(tree) != "" {
		out = failing(w.Itself.Refusal)
	}
	for key, v := range tree.All() {
		m, isMap := v.(*param.Map)
		switch {
		case isMap && (strings.HasPrefix(key, "+") || slices.Contains([]string{"_error", "_finally", "_cancel"}, key)):
			out.Set(key, w.stopped(m))
		case key == "_after" || key == "_parallel" && keys.OperatorOf(tree) == "" || key == written.Comment:
			out = param.Merge(param.New(key, v), out)
		}
	}
	return out
}

// failing returns a task that fails with a reason.
func failing(reason string) *param.Map {
	return param.New("fail>", "not translated from Dagu: "+references.Literal(reason))
}
