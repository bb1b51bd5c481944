package taskview

import (
	"fmt"
	"io"
	"strings"

	"zerodag/internal/term"
)

// Lines writes log lines, each after its task's name. No two goroutines may use it at once.
type Lines struct {
	Out   io.Writer
	Ink   term.Palette
	width int  // the width of the task names
	Whole bool // names are not shortened
}

// longestName is the longest part of a task's name that is shown before its lines.
const longestName = 32

// Fit widens the name column for a task's name.
func (v *Lines) Fit(name string) { v.width = max(v.width, min(longestName, term.Width(name))) }

// Show writes one line of a task in a color, or without one if ink is "". It returns the error of Out.
func (v *Lines) Show(task, ink, text string) error {
	name := task
	if !v.Whole {
		name = term.Shorten(task, longestName)
	}
	pad := strings.Repeat(" ", max(0, v.width-term.Width(name)))
	if ink != "" {
		text = ink + text + v.Ink.Reset
	}
	_, err := fmt.Fprintf(v.Out, "%s%s%s%s | %s\n", v.taskInk(task), name, v.Ink.Reset, pad, text)
	return err
}

// taskInk returns the color of a task, so that concurrent tasks can be distinguished.
func (v *Lines) taskInk(name string) string {
	inks := []string{v.Ink.Cyan, v.Ink.Green, v.Ink.Yellow}
	sum := 0
	for _, c := range []byte(name) {
		sum = sum*31 + int(c)
	}
	return inks[(sum%len(inks)+len(inks))%len(inks)]
}
