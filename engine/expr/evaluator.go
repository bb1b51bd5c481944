package expr

import (
	"errors"
	"strings"

	"zerodag/engine/param"
)

// MaxResult is the maximum size in bytes of an evaluated template with expressions.
const MaxResult = 1 << 20

const maxQuoted = 4 << 10 // bytes of a template that a message shows

// Script is a template that needs JavaScript, with everything that it can see. It may be sent to another process.
type Script struct {
	Text  string
	Vars  *param.Map
	Scope Scope
}

// ScriptError describes what is wrong with a script, for its author.
type ScriptError string

func (e ScriptError) Error() string { return string(e) }

// Exceeded reports whether the script was ended because it used more time or memory than allowed.
func (e ScriptError) Exceeded() bool { return strings.HasPrefix(string(e), "the evaluation ") }

// Evaluator evaluates templates. It has no state: it is as safe for concurrent use as the function that runs its
// scripts.
type Evaluator struct {
	run func(Script) (string, error)
}

// New returns an Evaluator whose JavaScript is evaluated by run: package script provides such functions, for this
// process or another. A mistake in a script is a ScriptError; every other error of run is returned unchanged.
func New(run func(Script) (string, error)) *Evaluator { return &Evaluator{run} }

// evalText evaluates one string that has a `$`.
func (e *Evaluator) evalText(text string, sc scope, s *Scope) (string, error) {
	parts := Parse(text, s.Mark)
	if result, ok := plain(parts, sc); ok {
		return result, nil
	}
	result, err := e.run(Script{Text: text, Vars: sc.reach(parts), Scope: *s})
	var wrong ScriptError
	if err == nil || !errors.As(err, &wrong) {
		return result, err
	}
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "..."
	}
	return "", param.Errorf("Failed to evaluate a variable %s (%s)", text, wrong)
}
