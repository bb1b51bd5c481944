package expr

import (
	"errors"
	"strings"

	"zerodag/engine/param"
)

// MaxResult is how many bytes a template with expressions may become.
const MaxResult = 1 << 20

const maxQuoted = 4 << 10 // bytes of a template that a message shows

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

// Evaluator evaluates templates. It has no state: it is as safe for concurrent use as what
// runs its scripts.
type Evaluator struct {
	run func(Script) (string, error)
}

// New returns an Evaluator that has run evaluate what needs JavaScript: package script does, in
// this process or in another one. What a script itself got wrong is a ScriptError; every other
// error of run is handed on as it is.
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
