package expr

import (
	"errors"
	"strings"
	"time"

	"zerodag/engine/param"
)

const (
	maxResult = 1 << 20 // bytes that a template with expressions may become

	maxQuoted = 4 << 10 // bytes of a template that a message shows

	cachedTemplates = 256     // compiled templates that an Evaluator keeps
	cachedLength    = 4 << 10 // the longest of them
)

// Options is what an Evaluator is made of.
type Options struct {
	// Moment gives moment.js when a script needs it first; nil when the build has none.
	// Evaluators on several goroutines may share it.
	Moment func() *Moment
	// Elsewhere, unless nil, evaluates what needs JavaScript: then nothing of the engine runs
	// in this process. What the script itself got wrong is a ScriptError; every other error is
	// handed on as it is.
	Elsewhere func(Script) (string, error)
	// Spent, unless nil, is the processor time that this process has used, which does nothing
	// but evaluate, one template at a time: time and memory are the script's alone.
	Spent func() time.Duration
}

// Script is a template that needs JavaScript, with all that it can see. It may cross to
// another process.
type Script struct {
	Text  string
	Vars  *param.Map
	Scope Scope
}

// ScriptError is what is wrong with a script, for its author.
type ScriptError string

func (e ScriptError) Error() string { return string(e) }

// Evaluator evaluates templates. It is not safe for concurrent use, cheap to make,
// and stays usable after every error.
type Evaluator struct {
	options Options
	common  *libraries // nil until a script is needed
	shared  *script    // for pure scripts, nil until one is needed
	scripts map[string]*compiled
}

// New returns an Evaluator that compiles the libraries for itself when it first
// needs them.
func New(o Options) *Evaluator { return &Evaluator{options: o} }

func (e *Evaluator) library() *libraries {
	if e.common == nil {
		e.common = compileLibraries(e.options)
	}
	return e.common
}

// evalText evaluates one string that has a `$`.
func (e *Evaluator) evalText(text string, sc scope, s *Scope) (string, error) {
	parts := parse(text, s.Mark)
	if result, ok := plain(parts, sc); ok {
		return result, nil
	}
	result, err := e.script(text, parts, sc, s)
	var wrong ScriptError
	if err == nil || !errors.As(err, &wrong) {
		return result, err
	}
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "..."
	}
	return "", param.Errorf("Failed to evaluate a variable %s (%s)", text, wrong)
}

// script evaluates a template with JavaScript, here or elsewhere.
func (e *Evaluator) script(text string, parts []part, sc scope, s *Scope) (string, error) {
	if e.options.Elsewhere != nil {
		return e.options.Elsewhere(Script{Text: text, Vars: sc.reach(parts), Scope: *s})
	}
	compiled, err := e.compiled(text, s.Mark, parts)
	if err != nil {
		return "", ScriptError(err.Error())
	}
	result, err := e.run(compiled, sc, s)
	if err != nil {
		return "", ScriptError(err.Error())
	}
	return result, nil
}

// Script evaluates what another process handed over. What the script got wrong is a
// ScriptError.
func (e *Evaluator) Script(q Script) (string, error) {
	return e.script(q.Text, parse(q.Text, q.Scope.Mark), scope{vars: q.Vars}, &q.Scope)
}

// compiled compiles a template, or finds it compiled: tasks of a loop evaluate the
// same texts again and again.
func (e *Evaluator) compiled(text, mark string, parts []part) (*compiled, error) {
	if p, ok := e.scripts[text]; ok {
		return p, nil
	}
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
