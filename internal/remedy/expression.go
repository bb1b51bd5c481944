package remedy

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/expr/script"
	"zerodag/engine/param"
	oprun "zerodag/operators/run"
)

// unknownName returns the remedy for an unknown name in an expression, or "" if only the rules have one.
func (f Fault) unknownName(name string) string {
	if name == "secret" || name == "secrets" {
		return "write secrets as ${secret:KEY}, in operators that read secrets and in _env"
	}
	if calls(f.Message, name) || filters(f.Message, name) {
		return script.FunctionHint(name)
	}
	for _, look := range []func(string) string{ofOtherLanguages, f.ofFile, f.ofTime, f.nearName} {
		if hint := look(name); hint != "" {
			return hint
		}
	}
	return ""
}

// ofOtherLanguages returns the remedy for names from other languages, and for names that only scheduled sessions have.
func ofOtherLanguages(name string) string {
	switch {
	case slices.Contains([]string{"True", "False", "None", "TRUE", "FALSE", "NULL", "nil", "Null"}, name):
		return "write true, false and null, as in JavaScript"
	case slices.Contains([]string{"process", "env", "ENV", "os", "environ"}, name):
		return "only commands see environment variables, expressions do not; pass one with -p NAME=\"$NAME\""
	case strings.HasPrefix(name, "last_session_") || strings.HasPrefix(name, "next_session_"):
		return name + " only exists in workflows with a `schedule:`"
	}
	return ""
}

// ofFile returns the remedy for a name that exists in the file, but in a place that the expression does not see.
func (f Fault) ofFile(name string) string {
	if whole := f.hyphened(name); whole != "" {
		return whole + " is read as a subtraction: write ${this[\"" + whole + "\"]}, or rename the parameter to " + strings.ReplaceAll(whole, "-", "_")
	}
	if what, is := f.Lost[name]; is {
		return what + ", so it did not store " + name + ": write ${this." + name + " || '...'}"
	}
	if f.Config.Has(name) {
		return "a task's parameter is only visible to the lines below it: move " + name + " above the line that uses it, or write `_export: {" + name + ": ...}`"
	}
	if regexp.MustCompile(`\bfor\s+` + name + `\s+in\b|(?m:^|[;&\s])` + name + `=|\bread\s+(?:-r\s+)?` + name + `\b`).MatchString(f.script()) {
		return "the shell sets " + name + " only after ${" + name + "} was evaluated: write $" + name + ", without braces"
	}
	return ""
}

// ofTime returns the remedy for names of days and units.
func (f Fault) ofTime(name string) string {
	if days := map[string]string{"yesterday": "subtract", "tomorrow": "add"}[name]; days != "" {
		return "did you mean ${moment(session_time)." + days + "(1, 'day').format('YYYY-MM-DD')}?"
	}
	if meant := elsewhereNames()[name]; meant != "" {
		return "did you mean ${" + meant + "}?"
	}
	if slices.Contains([]string{"day", "days", "hour", "hours", "minute", "minutes", "week", "weeks", "month", "months", "year", "years"}, name) && unquotedUnit().MatchString(f.Message) {
		return "quote the unit: '" + name + "'"
	}
	return ""
}

// nearName returns the remedy for a name that resembles another name.
func (f Fault) nearName(name string) string {
	if near := param.Nearest(name, slices.Sorted(maps.Keys(f.Names))); near != "" {
		return "did you mean ${" + near + "}, which is set in " + f.Names[near].String() + "?"
	}
	if near := param.Nearest(name, oprun.VariableNames()); near != "" {
		return "did you mean ${" + near + "}?"
	}
	if near := param.Nearest(name, []string{"moment", "JSON", "Math", "Date", "parseInt", "parseFloat", "String", "Number", "encodeURIComponent"}); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// calls reports whether the expression in an error calls a name as a function.
func calls(message, name string) bool {
	return regexp.MustCompile(`(?:^|[^\w.])` + regexp.QuoteMeta(name) + `\s*\(`).MatchString(message)
}

// filters reports whether the expression in an error ends in | and a name, as templates of other tools do.
func filters(message, name string) bool {
	return regexp.MustCompile(`[^|]\|\s*` + regexp.QuoteMeta(name) + `\b`).MatchString(message)
}

// hyphened returns the parameter whose hyphenated name the expression reads as a subtraction, or "" if there is none.
func (f Fault) hyphened(name string) string {
	for _, text := range regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`(?:-\w+)+`).FindAllString(f.Message, -1) {
		if _, is := f.Names[text]; is || f.Config.Map("_export").Has(text) || strings.Contains(f.Message, "${"+text+"}") {
			return text
		}
	}
	return ""
}

// elsewhereNames returns variables of zerodag by the names that other programs or users give them.
func elsewhereNames() map[string]string {
	return map[string]string{"date": "session_date", "today": "session_date", "ds": "session_date", "ds_nodash": "session_date_compact", "execution_date": "session_date", "logical_date": "session_time",
		"time": "session_time", "timestamp": "session_unixtime", "run_id": "session_uuid"}
}

// unquotedUnit matches a call to moment with a unit that is not in quotes.
var unquotedUnit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\.(?:add|subtract|startOf|endOf|diff)\([^'")]*\b(?:day|hour|minute|week|month|year)s?\b[^'"]`)
})
