package script

import (
	"slices"
	"strings"
	"time"

	"zerodag/engine/expr"
)

const (
	cachedTemplates = 256     // compiled templates that an Engine keeps
	cachedLength    = 4 << 10 // the longest of them
)

// Options configure an Engine.
type Options struct {
	// Moment returns moment.js when a script first needs it; nil if the build does not include it. Engines on several
	// goroutines may share it.
	Moment func() *Moment
	// Spent, unless nil, returns the processor time that this process has used. Such a process does nothing but
	// evaluate, one template at a time, so that all time and memory belong to the script.
	Spent func() time.Duration
	// Match limits how long one match of a regular expression may take; 0 means slightly longer than a script may run.
	// The first Engine of a process sets it for all.
	Match time.Duration
}

// Engine runs scripts. It is cheap to make and stays usable after every error, but it is not safe for concurrent use.
type Engine struct {
	options Options
	common  *libraries // nil until a script is needed
	shared  *script    // for pure scripts, nil until one is needed
	scripts map[string]*compiled
}

// New returns an Engine that compiles the libraries itself when it first needs them.
func New(o Options) *Engine {
	limitBacktracking(o.Match)
	return &Engine{options: o}
}

func (e *Engine) library() *libraries {
	if e.common == nil {
		e.common = compileLibraries(e.options)
	}
	return e.common
}

// Run evaluates a template. A mistake in the script is an expr.ScriptError.
func (e *Engine) Run(q expr.Script) (string, error) {
	compiled, err := e.compiled(q.Text, q.Scope.Mark)
	if err != nil {
		return "", expr.ScriptError(err.Error())
	}
	result, err := e.run(compiled, q.Vars, &q.Scope)
	if err != nil {
		return "", expr.ScriptError(err.Error())
	}
	return result, nil
}

// compiled compiles a template, or returns it from the cache: tasks of a loop evaluate the same text repeatedly.
func (e *Engine) compiled(text, mark string) (*compiled, error) {
	if p, ok := e.scripts[text]; ok {
		return p, nil
	}
	parts := expr.Parse(text, mark)
	p, err := compile(parts)
	if err != nil || len(text) > cachedLength || isMarked(parts, mark) {
		return p, err
	}
	if e.scripts == nil || len(e.scripts) >= cachedTemplates {
		e.scripts = map[string]*compiled{}
	}
	e.scripts[text] = p
	return p, nil
}

// isMarked reports whether a template contains the mark of one evaluation, so that no other can use it.
func isMarked(parts []expr.Part, mark string) bool {
	return mark != "" && slices.ContainsFunc(parts, func(p expr.Part) bool { return !p.Code && strings.Contains(p.Text, mark) })
}
