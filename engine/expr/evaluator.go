package expr

import (
	"strings"

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
}

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
	script, err := e.script(text, s.Mark, parts)
	if err == nil {
		var result string
		if result, err = e.run(script, sc, s); err == nil {
			return result, nil
		}
	}
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "..."
	}
	return "", param.Errorf("Failed to evaluate a variable %s (%s)", text, err)
}

// script compiles a template, or finds it compiled: tasks of a loop evaluate the
// same texts again and again.
func (e *Evaluator) script(text, mark string, parts []part) (*compiled, error) {
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
