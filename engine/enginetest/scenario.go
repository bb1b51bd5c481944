package enginetest

import (
	"fmt"
	"strings"
)

// Step is one command of a scenario file, with its expected output.
type Step struct {
	Comment string // lines before it, verbatim
	Line    int    // of the command, from 1
	Command string // "succeed +wf+a store={x: 1}"
	Body    string // lines between the command and ----
	Want    string // lines below ---- up to an empty line
}

// Parse splits a scenario file into steps. A step is a command line, optionally lines of YAML, a line ----, and the
// output, which ends with an empty line.
func Parse(text string) ([]Step, error) {
	var steps []Step
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	comment := ""
	for i := 0; i < len(lines); {
		if lines[i] == "" || strings.HasPrefix(lines[i], "#") {
			comment += lines[i] + "\n"
			i++
			continue
		}
		s := Step{Comment: comment, Line: i + 1, Command: lines[i]}
		comment = ""
		i++
		from := i
		for i < len(lines) && lines[i] != "----" {
			i++
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: no ---- after the command", s.Line)
		}
		s.Body = joined(lines[from:i])
		i++
		from = i
		for i < len(lines) && lines[i] != "" {
			i++
		}
		s.Want = joined(lines[from:i])
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("no command")
	}
	if !strings.HasPrefix(steps[0].Comment, "#") {
		return nil, fmt.Errorf("the first line must be a comment that names the rule")
	}
	return steps, nil
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Format writes steps as Parse reads them.
func Format(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "%s%s\n%s----\n%s", s.Comment, s.Command, s.Body, s.Want)
	}
	return b.String()
}

// Run runs a scenario and returns it with its actual output, and a trace of its tasks' states.
func Run(text string) (string, *Trace, error) {
	steps, err := Parse(text)
	if err != nil {
		return "", nil, err
	}
	in := newInterpreter()
	for i := range steps {
		out, err := in.command(steps[i])
		if err != nil {
			return "", nil, fmt.Errorf("line %d: %s: %w", steps[i].Line, steps[i].Command, err)
		}
		steps[i].Want = strings.TrimRight(out, "\n") + "\n"
	}
	return Format(steps), &in.trace, nil
}
