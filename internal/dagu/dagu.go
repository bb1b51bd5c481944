// Package dagu translates Dagu workflows (YAML) into workflow files with `zerodag: 1`. It reports everything that it
// could not translate, with the place in the file and a remedy. A step whose meaning it does not fully understand
// becomes a `fail>`.
//
// The command line calls it (`zerodag import dagu`). It must never run anything or read files: the text is its only
// input. Its packages do the work, from bottom to top: document, precomputed, forms, sequence, references, tasks,
// kinds, workflow.
package dagu

import (
	"cmp"
	"slices"

	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/workflow"
	"zerodag/internal/dagu/written"
)

// File is a translated workflow file.
type File = written.File

// Note is a message about something that was translated differently or not at all.
type Note = document.Note

// Release selects how to read a file, because Dagu releases differ.
type Release = document.Release

const (
	// ByKeys reads a file as one for today's releases if it has keys that only they support, and as one for an earlier
	// release otherwise.
	ByKeys = document.ByKeys
	// Earlier is any release before 2.7.
	Earlier = document.Earlier
	// Today is release 2.7 or later.
	Today = document.Today
)

// ReleaseOf returns how a release, given by a version such as "2.15" or "v2.15.1", reads files.
func ReleaseOf(version string) (Release, error) { return document.ReleaseOf(version) }

// Result is the translation of a file.
type Result struct {
	Files  []File
	Notes  []Note
	Steps  Count
	Dotenv bool // Dagu also reads the file .env next to the workflow
}

// Count is the number of steps by outcome. It includes the steps of handlers and loops, and counts each step once.
type Count struct {
	Translated int // steps that run as in Dagu
	Changed    int // steps that run, with a note about a difference
	Refused    int // steps that became a `fail>` with the reason
}

// Total returns the number of steps of the file.
func (c Count) Total() int { return c.Translated + c.Changed + c.Refused }

// Translate creates a workflow file for each document of a file. It returns an error if the text is not a Dagu
// workflow.
func Translate(name string, text []byte, by Release) (Result, error) {
	docs, err := document.Read(name, text, by)
	if err != nil {
		return Result{}, err
	}
	var r Result
	for _, w := range workflow.All(docs) {
		r.Files = append(r.Files, w.Written())
		r.Notes = append(r.Notes, w.Notes...)
		r.Steps.add(w)
		r.Dotenv = r.Dotenv || !w.Has("dotenv")
	}
	slices.SortStableFunc(r.Notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	return r, written.Check(r.Files)
}

func (c *Count) add(w *workflow.Workflow) {
	for _, s := range w.Every {
		switch {
		case s.Refusal != "" || w.Itself.Refusal != "":
			c.Refused++
		case s.Changed:
			c.Changed++
		default:
			c.Translated++
		}
	}
}
