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

// workdir is the folder of the project in which a task runs; known is false where an expression says it.
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

// wordsOf are the words of a script, and "*" where it imports all of another; nil where there is none. Each is read once.
func (c *critic) wordsOf(file string) map[string]bool {
	words, known := c.words[file]
	if !known {
		if code, err := c.read(file); err == nil && len(code) > 0 { // an editor sends names without their texts where those are large
			words = map[string]bool{"*": bytes.Contains(code, []byte("import *"))}
			parameters.AddWords(words, code)
		}
		c.words[file] = words
	}
	return words
}

// runsCommand says whether an operator runs a command of its author, which may make files.
func (c *critic) runsCommand(operator string) bool {
	return slices.Contains(c.known.parameters(operator), "_env") || operator == "py" || operator == "rb"
}

// reporter warns of what is wrong at a task that no push refuses, since an operator makes it.
func (c *critic) reporter(at []string, task string) func(path []string, message, hint string) {
	return func(path []string, message, hint string) {
		c.warn(slices.Concat(at, path), task, hint, "%s", message)
	}
}

// faulty tells the first of what is wrong with a file that a task needs.
func (c *critic) faulty(place []string, task string, errs dig.Errors) {
	first := errs[0]
	c.warn(place, task, first.Hint, "%s", dig.Error{File: first.File, Line: first.Line, Column: first.Column, Message: first.Message})
}

// definitions are read once, when they are first asked for.
func (c *critic) definitions() *parameters.Definitions { return c.defined() }

// expressions looks at those of the task that is looked at.
func (c *critic) expressions() parameters.Expressions {
	return parameters.Expressions{Level: c.level, Exports: c.exports, Loops: c.loops, Answers: c.stores, Defined: c.defined, Uses: c.known.Uses, Variables: c.known.Variables,
		Taken: slices.Concat(c.known.Exported, c.known.Operators), Warn: c.warn}
}

// variable says whether tasks see a name: it is built in, exported around the task, or one of a loop.
func (c *critic) variable(name string) bool {
	return slices.Contains(c.known.Variables, name) || c.exports.Has(name) || slices.Contains(c.loops, name)
}

// Known is what Warnings is told of what runs the tasks, which this package knows nothing of.
type Known struct {
	Operators []string // names of all that there are
	// Missing says what is known of an operator that is not there; "" for nothing. May be nil.
	Missing func(name string) string
	// Parameters are the names that a built-in operator reads; none of one that is not known.
	// May be nil.
	Parameters func(operator string) []string
	// Misread says why a built-in operator cannot read a value for a key; "" where it can, or where
	// nobody knows. May be nil.
	Misread func(operator, key string, v param.Value) string
	// Takes is what is known of the value behind the name of a built-in operator, such as "file name". May be nil.
	Takes func(operator string) string
	// Variables are the names of the built-in variables.
	Variables []string
	// BuiltIn are those of the operators that no project brings.
	BuiltIn []string
	// Exported are the names in an _export that operators read.
	Exported []string
	// Folder lists the names of the files and folders in a folder of the project, by its slash path, "." for the
	// project's own; there is false where there is no such folder. May be nil.
	Folder func(name string) (entries []string, there bool)
	// Below are the keys of mappings with a meaning, such as sandbox:, by their name.
	Below map[string][]string
	// Syntax says what is wrong with the expressions in a text. May be nil.
	Syntax func(text string) error
	// Uses lists what the expressions in a text do with parameters whose outcome depends on their types. May be nil.
	Uses func(text string) []param.Use
	Only string // the one file to look at; "" for all
	// Now is when the project is looked at; zero: nothing is said of what comes to its end.
	Now time.Time
	// Given are the parameters that a run was given, over which an _export wins. May be nil.
	Given *param.Map
}

func (k Known) parameters(operator string) []string {
	if k.Parameters == nil {
		return nil
	}
	return k.Parameters(operator)
}

// critic walks over a sound workflow.
type critic struct {
	read    dig.Source
	names   []string // workflow files of the project
	known   Known
	folder  string
	found   []dig.Problem
	missing []dig.Problem // tasks whose operator there is not; the message is its name
	tasks   int

	calls       *calls
	required    *dig.Requires
	defined     func() *parameters.Definitions
	stores      func() bool     // whether an answer of http> may be stored
	circles     map[string]bool // places of require> that are told to wait for themselves
	evalsStored bool
	toldEndless bool                       // a request without a limit was told
	level       int                        // of the language
	name        string                     // of the workflow
	root        *param.Map                 // all of it
	named       map[string]bool            // by expressions of it; nil before they are asked for
	exports     *param.Map                 // what tasks around the one that is looked at export
	loops       []string                   // variables of the loops around it
	pooled      string                     // the group around it that has slots of a pool meanwhile
	makesFiles  bool                       // a task before it runs commands, and so may make files
	madeFiles   map[string]string          // files that tasks before it write, with the names of these tasks
	words       map[string]map[string]bool // of scripts that were read, by file
	noFolders   []string                   // of _workdir, that were told already
}

func (c *critic) warn(path []string, task, hint, format string, args ...any) {
	c.found = append(c.found, dig.Problem{Path: slices.Clone(path), Error: dig.Error{
		Task: task, Message: fmt.Sprintf(format, args...), Hint: hint}})
}
