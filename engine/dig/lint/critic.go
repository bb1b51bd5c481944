package lint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/dig/lint/parameters"
	"zerodag/engine/param"
)

// workdir returns the project folder in which a task runs; known is false if it is an expression.
func (c *critic) workdir(config *param.Map) (folder string, known bool) {
	v := config.Value("_workdir")
	if v == nil {
		v = c.exports.Value("_workdir")
	}
	if v == nil {
		v = c.folder
	}
	folder, _ = v.(string)
	return folder, !strings.Contains(folder, "${")
}

// script is a project file that runs in a task.
type script struct {
	code      []byte
	words     map[string]bool // all words in it, and "*" if it imports everything from another module
	functions map[string][]function
}

// scriptOf returns a script; nil if there is no such file. Each one is read once.
func (c *critic) scriptOf(file string) *script {
	s, known := c.sources[file]
	if !known {
		if code, err := c.read(file); err == nil && len(code) > 0 { // an editor sends large files by name only, without text
			s = &script{code: code, words: map[string]bool{"*": bytes.Contains(code, []byte("import *"))}}
			parameters.AddWords(s.words, code)
		}
		c.sources[file] = s
	}
	return s
}

// wordsOf returns a script's words; nil if there is no such script.
func (c *critic) wordsOf(file string) map[string]bool {
	if s := c.scriptOf(file); s != nil {
		return s.words
	}
	return nil
}

// runsCommand reports whether an operator runs a command written by the user, which may create files.
func (c *critic) runsCommand(operator string) bool {
	return slices.Contains(c.known.parameters(operator), "_env") || operator == "py" || operator == "rb"
}

// reporter returns a function that warns about mistakes in a task that a push does not refuse, because an operator
// generates the task.
func (c *critic) reporter(at []string, task string) func(path []string, message, hint string) {
	return func(path []string, message, hint string) {
		c.warn(slices.Concat(at, path), task, hint, "%s", message)
	}
}

// faulty reports the first mistake in a file that a task needs.
func (c *critic) faulty(place []string, task string, errs dig.Errors) {
	first := errs[0]
	c.warn(place, task, first.Hint, "%s", dig.Error{File: first.File, Line: first.Line, Column: first.Column, Message: first.Message})
}

// definitions returns the project's definitions, which are read once, on first use.
func (c *critic) definitions() *parameters.Definitions { return c.defined() }

// expressions returns the checks for the current task's expressions.
func (c *critic) expressions() parameters.Expressions {
	return parameters.Expressions{Level: c.level, Exports: c.exports, Loops: c.loops, Answers: c.stores, Defined: c.defined, Uses: c.known.Uses, Variables: c.known.Variables,
		Taken: slices.Concat(c.known.Exported, c.known.Operators), Warn: c.warn}
}

// variable reports whether tasks see a name: it is built in, exported around the task, or a loop variable.
func (c *critic) variable(name string) bool {
	return slices.Contains(c.known.Variables, name) || c.exports.Has(name) || slices.Contains(c.loops, name)
}

// Known describes the environment in which the tasks run, which this package cannot see.
type Known struct {
	Operators []string // names of all available operators
	// Missing returns a hint about an operator that does not exist; "" for none. May be nil.
	Missing func(name string) string
	// Parameters returns the names that a built-in operator reads; none if it is unknown. May be nil.
	Parameters func(operator string) []string
	// Misread returns why a built-in operator cannot read a value for a key; "" if it can, or if that is unknown. May
	// be nil.
	Misread func(operator, key string, v param.Value) string
	// Takes describes the value after the name of a built-in operator, such as "file name". May be nil.
	Takes func(operator string) string
	// Variables holds the names of the built-in variables.
	Variables []string
	// BuiltIn are the operators that do not come from a project.
	BuiltIn []string
	// Exported are the names in an _export that operators read.
	Exported []string
	// Folder lists the names of the files and folders in a folder in the project, by its slash path, "." for the
	// project's root; the result there is false if the folder does not exist. May be nil.
	Folder func(name string) (entries []string, there bool)
	// Below holds the keys that are valid in mappings such as sandbox:, by the mapping's name.
	Below map[string][]string
	// Syntax returns what is wrong with the expressions in a string. May be nil.
	Syntax func(text string) error
	// Uses lists how a string's expressions use parameters whose types affect the result. May be nil.
	Uses func(text string) []param.Use
	// Stop reports whether to skip the remaining checks, because the caller has disconnected or time has run out. May
	// be nil.
	Stop func() bool
	Only string // the only file to check; "" for all
	// Now is when the project is checked; if zero, there are no warnings about things that end soon.
	Now time.Time
	// Given are the parameters that were given to a run, which an _export overrides. May be nil.
	Given *param.Map
}

func (k Known) stopped() bool { return k.Stop != nil && k.Stop() }

func (k Known) parameters(operator string) []string {
	if k.Parameters == nil {
		return nil
	}
	return k.Parameters(operator)
}

// critic walks over a valid workflow.
type critic struct {
	read    dig.Source
	names   []string // the project's workflow files
	known   Known
	folder  string
	found   []dig.Problem
	missing []dig.Problem // tasks whose operator does not exist; the message is its name
	tasks   int

	calls       *calls
	required    *dig.Requires
	defined     func() *parameters.Definitions
	stores      func() bool     // whether http> responses may be stored
	circles     map[string]bool // places of require> already reported as waiting for themselves
	evalsStored bool
	toldEndless bool                   // whether a request without a limit was reported
	level       int                    // of the language
	name        string                 // of the workflow
	root        *param.Map             // the whole workflow
	named       func() map[string]bool // names that its expressions contain
	runsScripts func() bool            // whether it has a task with a shell script
	reading     reading                // of the task whose keys are checked
	exports     *param.Scope           // exports of the tasks around the current one
	loops       []string               // variables of the loops around the current task
	pooled      string                 // the group around the current task that holds slots of a pool
	makesFiles  bool                   // whether an earlier task runs commands, and may therefore create files
	madeFiles   map[string]string      // files that earlier tasks write, with the names of these tasks
	sources     map[string]*script     // by file; nil for one that does not exist
	noFolders   []string               // values of _workdir that were already reported
}

// mostFound limits the warnings about one workflow: only a few are shown.
const mostFound = 1000

// over reports whether the rest of the workflow can stay unchecked.
func (c *critic) over() bool {
	return len(c.found) >= mostFound || c.known.stopped()
}

func (c *critic) warn(path []string, task, hint, format string, args ...any) {
	c.found = append(c.found, dig.Problem{Path: slices.Clone(path), Error: dig.Error{
		Task: task, Message: fmt.Sprintf(format, args...), Hint: hint}})
}
