package remedy

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine"
	"zerodag/internal/term"
)

// Meant returns a question asking whether the nearest of some names was meant, if one is near, followed by list, which
// explains how to list the names.
func Meant(name string, names []string, list string) string {
	if near := Near(name, names); near != "" {
		return "did you mean " + near + "? " + list
	}
	return list
}

// MeantWorkflow is Meant for a workflow's name, which may have been given as a file name.
func MeantWorkflow(name string, names []string, list string) string {
	file := name[strings.LastIndexByte(name, '/')+1:]
	if plain := strings.TrimSuffix(file, ".dig"); plain != name && slices.Contains(names, plain) {
		return "on a server, use the name of the workflow, not its file: " + plain
	}
	return Meant(name, names, list)
}

// mostMeant is the largest number of names that are listed if none is near.
const mostMeant = 10

// dayAtStart matches a string that begins with a date.
var dayAtStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{4}-\d\d-\d\d`) })

// MeantTask suggests the task that a pattern may have been meant to match, or lists the existing tasks, with "; " at
// its end; "" if nothing is known.
func MeantTask(pattern string, names []string) string {
	var last []string
	for _, name := range names {
		if word := engine.OwnName(name); strings.HasPrefix(word, "+") && word != name && !slices.Contains(last, word) {
			last = append(last, word)
		}
	}
	switch {
	case strings.HasPrefix(pattern, "ession"), dayAtStart().MatchString(pattern):
		return "write --session with two dashes: --session 2026-01-01; "
	case strings.Contains(pattern, "="):
		return "pass parameters with -p: -p " + term.ShellWord(pattern) + "; "
	case strings.HasSuffix(pattern, ".dig"):
		return "the second argument is a task, not a file; "
	}
	near := "+" + pattern
	if !slices.Contains(last, near) {
		near = Near("+"+strings.TrimLeft(engine.OwnName(pattern), "+"), last)
	}
	switch {
	case near != "":
		return "did you mean " + near + "? "
	case len(last) == 0:
		return ""
	case len(last) > mostMeant:
		return "some tasks are " + strings.Join(last[:mostMeant], ", ") + "; "
	}
	return "the tasks are " + strings.Join(last, ", ") + "; "
}
