package remedy

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/program"
	"zerodag/internal/term"
	"zerodag/operators"
	"zerodag/operators/all"
)

// Fault holds the known data about a failed task.
type Fault struct {
	Message string               // "" if it failed without one
	Config  *param.Map           // the task's configuration
	Project string               // the project on a server; "" for a local run
	Names   map[string]dig.Place // the names that the task's expressions see according to its workflow; nil if unknown
	Lost    LostNames
	Lines   []string // the lines that it printed last
}

// LostNames holds names of values that tasks should have stored but did not, with the reason, such as "+w+t failed".
type LostNames map[string]string

// Add adds the names that a task lists in `_store` if it failed (even if its error is ignored) or was skipped.
func (l LostNames) Add(task string, config *param.Map, failed, skipped bool) {
	end := " was skipped"
	if failed {
		end = " failed"
	}
	if !failed && !skipped {
		return
	}
	for _, name := range config.Map("_store").Keys() {
		l[name] = task + end
	}
}

// missingSecret finds the key in the message of a task whose secret does not exist.
var missingSecret = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Secret not found for key: '([^']+)'`) })

// missingFile matches the messages of programs about a missing file.
var missingFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`FileNotFoundError|No such file or directory|Errno::ENOENT|ENOENT: no such file`)
})

// Remedies returns fixes for a failure unless its message already contains them; each has one or more lines. Among them
// is the syntax of the operator, if it was written wrongly.
func (f Fault) Remedies() []string {
	operator := keys.OperatorOf(f.Config)
	if f.Message == "" {
		return []string{"give a reason: `fail>: REASON`"}
	}
	if secret := missingSecret().FindStringSubmatch(f.Message); secret != nil {
		where := "--local"
		if f.Project != "" {
			where = "--project " + term.ShellWord(f.Project)
		}
		return []string{"zerodag secrets " + where + " --set " + term.ShellWord(secret[1]) + "=-   reads it from stdin"}
	}
	if strings.HasPrefix(f.Message, "Unknown task type: ") {
		return []string{unknownOperator(operator)}
	}
	if f.Project != "" && missingFile().MatchString(f.Message+"\n"+strings.Join(f.Lines, "\n")) {
		return []string{"on a server each task starts with a fresh copy of the project, without files written by earlier tasks and without files whose names begin with a dot, which a push omits. Write and read a file in one task, or store it elsewhere, such as in a bucket or a table"}
	}
	if key := f.ofRetry(); key != "" {
		return []string{"write _retry as a number, or as {limit: 3, interval: 10}: " + key + " must be a whole number, and intervals are in seconds"}
	}
	var list []string
	if text := f.byRule(operator); text != "" {
		list = append(list, text)
	} else if strings.Contains(f.Message, " failed with code ") {
		return nil // the program's output is more helpful
	} else if reason := operators.Reason(operator, f.Message); reason != "" {
		list = append(list, reason)
	}
	if takes := operators.Takes(operator); takes != "" && strings.HasPrefix(f.Message, "File not found: ") {
		list = append(list, operator+"> takes: "+takes)
	}
	if example := operators.Example(operator); example != "" && f.misread() {
		list = append(list, "`zerodag operators "+operator+"` shows the syntax, such as\n"+strings.TrimRight(example, "\n"))
	}
	return list
}

// wrongType finds the key in the message about a value of the wrong type.
var wrongType = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Expected .* for key '([^']+)' but got `) })

// ofRetry returns the key below _retry that the message is about, or "" if it is about something else.
func (f Fault) ofRetry() string {
	m := wrongType().FindStringSubmatch(f.Message)
	if m == nil || !slices.Contains(keys.RetryKeys(), m[1]) || !f.Config.Map("_retry").Has(m[1]) || f.Config.Has(m[1]) {
		return ""
	}
	return m[1]
}

// misread reports whether a built-in operator was written in a form that cannot be read.
func (f Fault) misread() bool {
	if m := wrongType().FindStringSubmatch(f.Message); m != nil {
		operator := keys.OperatorOf(f.Config)
		own := operators.ParametersOf(operator)
		if m[1] == "_if" || m[1] == "_disable" {
			return false
		}
		return len(own) == 0 || f.Config.Map(operator+">").Has(m[1]) || m[1] == "_do" || m[1] == "_command" || slices.Contains(own, m[1])
	}
	return strings.Contains(f.Message, "'_command'") || strings.Contains(f.Message, "'_do'") || strings.Contains(f.Message, "_else_do") ||
		strings.HasPrefix(f.Message, "Expected ") || strings.HasPrefix(f.Message, "Invalid ") && !strings.HasPrefix(f.Message, "Invalid _") && !strings.HasPrefix(f.Message, "Invalid parametrization")
}

// unknownOperator suggests which operator may have been meant.
func unknownOperator(name string) string {
	if text := operators.Missing(name); text != "" {
		return text
	}
	if near := Near(name, all.Registry().Names()); near != "" {
		return "did you mean " + near + ">? `zerodag operators` lists all of them"
	}
	return "`zerodag operators` lists the operators; executables in operators/ of the project are also operators"
}

// HintLines returns remedies as lines to print below an error, the first line of each prefixed with "hint: ".
func HintLines(remedies []string) (lines []string) {
	for _, text := range remedies {
		for i, line := range slices.Collect(strings.Lines(text)) {
			line = strings.TrimRight(line, "\n")
			if i == 0 {
				lines = append(lines, "hint: "+program.AsCalled(line))
			} else {
				lines = append(lines, "  "+line)
			}
		}
	}
	return lines
}
