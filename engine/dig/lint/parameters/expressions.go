package parameters

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Expressions checks what a task's expressions do with parameters whose types affect the result.
type Expressions struct {
	Level     int          // of the language
	Exports   *param.Scope // of the tasks around it, and its own
	Loops     []string     // variables of the loops around it
	Answers   func() bool  // whether http> responses may be stored
	Defined   func() *Definitions
	Uses      func(text string) []param.Use // lists what the expressions in a string do; nil if unavailable
	Variables []string                      // built-in ones
	Taken     []string                      // names from outside the project: operators, their parameters
	Warn      func(place []string, task, hint, format string, args ...any)
}

// Types warns about expressions on text that looks like numbers, booleans or mappings.
func (c Expressions) Types(place []string, task string, v param.Value) {
	switch x := v.(type) {
	case string:
		if c.Uses == nil || !strings.Contains(x, "${") {
			return
		}
		for _, use := range c.Uses(x) {
			c.use(place, task, use)
		}
	case []param.Value:
		for _, e := range x {
			c.Types(place, task, e)
		}
	case *param.Map:
		for k, e := range x.All() {
			c.Types(append(slices.Clone(place), k), task, e)
		}
	}
}

// use warns about an expression's use of a parameter, or about the expression itself.
func (c Expressions) use(place []string, task string, use param.Use) {
	switch use.Kind {
	case param.Mistake:
		c.Warn(place, task, use.Hint, "%s", use.Says)
	case param.Property:
		c.property(place, task, use)
	case param.Minus:
		c.minus(place, task, use.Name)
	case param.Within:
		if _, isList := c.Exports.Value(use.Name).([]param.Value); isList {
			c.Warn(place, task, "write "+use.Name+".includes(...)", "`in` searches the indexes of %s, not its values", use.Name)
		}
	case param.Written:
		c.compared(place, task, use.Name, use.Other)
	case param.Assigned:
		if isCondition(place) {
			c.Warn(place, task, "write "+use.Name+" == ... to compare", "%s = ... assigns a value instead of comparing", use.Name)
		}
	default:
		c.text(place, task, use)
	}
}

// dateForms are the formats of built-in variables that hold times.
var dateForms = sync.OnceValue(func() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"_date":         regexp.MustCompile(`^\d{4}(-\d\d(-\d\d)?)?$`),
		"_date_compact": regexp.MustCompile(`^\d{4,8}$`),
		"_time":         regexp.MustCompile(`^\d{4}(-\d\d(-\d\d(T.*)?)?)?$`),
	}
})

// outcomes are the values of ${outcome} in _finally.
var outcomes = []string{"success", "error", "canceled"}

// compared warns about a comparison with a string that a built-in variable never has.
func (c Expressions) compared(place []string, task, name, text string) {
	if name == "outcome" && c.Level > 0 && !c.Exports.Has(name) && !slices.Contains(outcomes, text) {
		c.Warn(place, task, "its values are "+strings.Join(outcomes, ", "), "outcome is never '%s'", text)
		return
	}
	for _, ending := range []string{"_date_compact", "_date", "_time"} {
		if strings.HasSuffix(name, ending) && c.isTextVariable(name) && text != "" && !dateForms()[ending].MatchString(text) {
			example := map[string]string{"_date": "2026-12-31", "_date_compact": "20261231", "_time": "2026-12-31T00:00:00+00:00"}[ending]
			c.Warn(place, task, "write it as '"+example+"', or compare ${moment("+strings.TrimSuffix(name, "_compact")+").format(...)}", "%s has the form %s, but '%s' has a different one", name, example, text)
			return
		}
	}
}

// minus warns about a difference that is also the name of a parameter, and about subtractions from dates.
func (c Expressions) minus(place []string, task, name string) {
	first, _, hyphens := strings.Cut(name, "-")
	switch {
	case hyphens && (c.Exports.Has(name) || c.Defined().texts[name] != "" || c.Defined().others[name]):
		c.Warn(place, task, `write ${this["`+name+`"]}, or name the parameter `+strings.ReplaceAll(name, "-", "_"), "%s is read as a subtraction, not as the parameter of that name", name)
	case c.isTextVariable(first) && !strings.HasSuffix(first, "_compact"):
		c.Warn(place, task, "write, for example, ${moment("+first+").subtract(1, 'day').format('YYYY-MM-DD')}, or ${moment(a).diff(moment(b), 'days')}", "%s is text, and subtracting from text does not give a number", first)
	}
}

// text warns about text that is used as a number or a boolean.
func (c Expressions) text(place []string, task string, use param.Use) {
	if slices.Contains(c.Loops, use.Name) {
		return
	}
	from := c.textual(use.Name)
	if from == "" {
		return
	}
	kind, message, cast := "boolean", "", use.Name+" == 'true'"
	switch use.Kind {
	case param.Negated:
		message = "!" + use.Name + " is false even for the text 'false'"
		cast = use.Name + " != 'true'"
	case param.Both:
		if from == "-p passes text" && !isCondition(place) {
			return // it may test whether there is text
		}
		message = use.Name + " counts as true even if it is the text 'false'"
	case param.Exactly:
		kind, message, cast = "integer", use.Name+" === 1 is false even for the text '1'", "Number("+use.Name+") === 1"
	case param.Added:
		kind, message, cast = "integer", use.Name+" + 1 appends to text: 5 + 1 is 51", "Number("+use.Name+") + 1"
	case param.Compared:
		other := c.textual(use.Other)
		if other == "" || from == "-p passes text" && other == from && (ordered().MatchString(use.Name) || ordered().MatchString(use.Other)) {
			return // next to a number, both count as numbers; dates and names are compared as text
		}
		kind, message, cast = "integer", use.Name+" and "+use.Other+" are compared character by character if both are text: 9 is greater than 10", "Number("+use.Name+")"
	}
	c.Warn(place, task, c.typeHint(use.Name, from, kind, cast), "%s; %s", message, from)
}

// textual returns why a parameter's value is, or may be, text; "" if it is not, or if that is unknown.
func (c Expressions) textual(name string) string {
	if slices.Contains(c.Variables, name) || slices.Contains(c.Taken, name) {
		return ""
	}
	return c.Defined().textual(name)
}

func (c Expressions) typeHint(name, from, kind, cast string) string {
	if from == fromText {
		return "write the value without quotes, or ${" + cast + "}"
	}
	if (from == "-p passes text" || from == fromRule) && c.Level > 0 {
		return "declare `params: {" + name + ": {type: " + kind + "}}` at the top of the file, or write ${" + cast + "}"
	}
	return "write ${" + cast + "}"
}

// isCondition reports whether a place contains a condition.
func isCondition(place []string) bool {
	key := place[len(place)-1]
	return key == "if>" || key == "_if" || key == "_disable"
}

// ordered matches the names of values that sort correctly as text: a date, a version, a name.
var ordered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(date|day|time|from|to|start|end|since|until|after|before|month|week|year|first|last|name|version|key|id)$`)
})

// ofTexts and ofAll list JavaScript's built-in properties of strings and of all values.
var (
	ofTexts = []string{"length"}
	ofAll   = []string{"constructor", "hasOwnProperty", "toString", "valueOf", "length"}
)

// property warns about a missing part of a parameter, which evaluates to the empty string.
func (c Expressions) property(place []string, task string, use param.Use) {
	first := use.Path[0]
	switch {
	case use.Name == "http" && !c.hasHTTP(first):
		c.Warn(place, task, "http> stores http.last_status and, with `store_content: true`, http.last_content", "http has no %s: ${http.%s} is empty", first, first)
	case use.Tried || slices.Contains(c.Loops, use.Name) || slices.Contains(ofAll, first):
	case use.Name == "http" && first == "last_content":
		c.content(place, task, use)
	case use.Name == errorName && inFailure(task):
		c.failure(place, task, first)
	case c.isTextVariable(use.Name):
		c.Warn(place, task, "for part of a date, write, for example, ${moment("+use.Name+").format('YYYY')}", "%s is text and has no %s: ${%s.%s} is empty", use.Name, first, use.Name, first)
	case c.Exports.Map(use.Name).Len() > 0:
		c.part(place, task, use)
	case slices.Contains([]string{"size", "count", "len", "length()"}, first):
		if _, isList := c.Exports.Value(use.Name).([]param.Value); isList {
			c.Warn(place, task, "write "+use.Name+".length", "a list has no %s: ${%s.%s} is empty", first, use.Name, first)
		}
	}
}

// hasHTTP reports whether http may have a part: http> stores it, or the project adds it.
func (c Expressions) hasHTTP(part string) bool {
	d := c.Defined()
	return part == "last_status" || part == "last_content" || d.keys["http"][part] || d.open || c.Exports.Map("http").Has(part)
}

// isTextVariable reports whether a built-in variable is text.
func (c Expressions) isTextVariable(name string) bool {
	return slices.Contains(c.Variables, name) && (strings.HasSuffix(name, "_time") || strings.HasSuffix(name, "_date") || strings.HasSuffix(name, "_compact") ||
		slices.Contains([]string{"timezone", "task_name", "session_uuid"}, name))
}

// errorName is the parameter that describes a failure, for tasks that run because of it.
const errorName = "error"

// errorKeys are the parts that it can have.
var errorKeys = []string{"message", "task", "tasks", "exit_code", "missing_secret", "attempt", "stacktrace", "timeout", "errors", "job"}

// inFailure reports whether a task runs because of a failure, by its full name.
func inFailure(task string) bool {
	for _, key := range append(keys.Closing(), "_error") {
		handler := "^" + key[1:]
		if i := strings.Index(task, handler); i >= 0 && (len(task) == i+len(handler) || strings.ContainsRune("+^", rune(task[i+len(handler)]))) {
			return true
		}
	}
	return false
}

// failure warns about a part of `error` that no failure has. Projects that use the name for their own values are
// skipped.
func (c Expressions) failure(place []string, task, part string) {
	d := c.Defined()
	if slices.Contains(errorKeys, part) || d.open || d.others[errorName] || d.texts[errorName] != "" || d.keys[errorName] != nil || d.words[errorName] && d.words[part] {
		return
	}
	hint := "its keys are " + strings.Join(errorKeys[:6], ", ")
	if near := param.Nearest(part, errorKeys); near != "" {
		hint = "did you mean error." + near + "?"
	}
	c.Warn(place, task, hint, "error has no %s, so ${error.%s} is empty", part, part)
}

// part checks a part of a mapping that is exported to the task.
func (c Expressions) part(place []string, task string, use param.Use) {
	d := c.Defined()
	name, first := use.Name, use.Path[0]
	if d.loose[name] || d.keys[name][first] || slices.Contains(c.Taken, name) || d.open || d.words[name] && d.words[first] {
		return
	}
	there := slices.Sorted(maps.Keys(d.keys[name]))
	hint := "its keys are " + strings.Join(there[:min(len(there), dig.MaxListed)], ", ")
	if near := param.Nearest(first, there); near != "" {
		hint = "did you mean " + name + "." + near + "?"
	}
	c.Warn(place, task, hint+" Write ${"+name+"."+first+" || 'default'} if a start may set it", "%s has no %s in any _export, so ${%s.%s} is empty", name, first, name, first)
}

// content checks how the response that `http>` has stored is used.
func (c Expressions) content(place []string, task string, use param.Use) {
	if len(use.Path) > 1 && !slices.Contains(ofTexts, use.Path[1]) {
		c.Warn(place, task, "write ${JSON.parse(http.last_content)."+strings.Join(use.Path[1:], ".")+"}", "http.last_content is text and has no %s", use.Path[1])
		return
	}
	if !c.Answers() {
		c.Warn(place, task, "write `store_content: true` at the task with http>", "http.last_content is empty because no http> in this file has store_content")
	}
}

// StoresAnswers reports whether http> responses may be stored: a request in the file does so, or other files may make
// requests.
func StoresAnswers(file *param.Map) bool {
	asks, stores := answers(file)
	return stores || !asks
}

// answers reports whether a file has requests, and whether one of them stores its response. A file that runs other
// files may have both.
func answers(v param.Value) (asks, stores bool) {
	switch x := v.(type) {
	case *param.Map:
		for key, e := range x.All() {
			below, kept := answers(e)
			asks = asks || below || key == "http>"
			stores = stores || kept || key == "store_content" || key == "call>" || key == "http_call>"
		}
	case []param.Value:
		for _, e := range x {
			below, kept := answers(e)
			asks, stores = asks || below, stores || kept
		}
	}
	return asks, stores
}
