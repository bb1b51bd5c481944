package script

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"zerodag/engine/param"
)

// mistake records something in an expression that its author probably does not intend, no matter what values the
// parameters have.
func (u *uses) mistake(hint, format string, args ...any) {
	u.add(param.Use{Kind: param.Mistake, Says: fmt.Sprintf(format, args...), Hint: hint})
}

// comparison checks for comparisons that have the same result for all values, or that do not compare what they seem to
// compare.
func (u *uses) comparison(n *ast.BinaryExpression) {
	if !slices.Contains([]token.Token{token.EQUAL, token.NOT_EQUAL, token.STRICT_EQUAL, token.STRICT_NOT_EQUAL}, n.Operator) {
		return
	}
	for _, side := range []ast.Expression{n.Left, n.Right} {
		switch s := side.(type) {
		case *ast.Identifier:
			if s.Name == "NaN" {
				u.mistake("write isNaN(...)", "nothing equals NaN, not even NaN")
			}
		case *ast.ArrayLiteral:
			u.mistake("compare its contents, such as its .length", "a list never equals another list, even with the same values")
		case *ast.ObjectLiteral:
			u.mistake("compare its values", "a mapping never equals another mapping, even with the same values")
		}
	}
	if call, isCall := n.Left.(*ast.CallExpression); isCall {
		u.part(methodOf(call), n.Right)
	}
}

// parts are functions that return a part of a time as a number, with its minimum, its maximum and its meaning.
var parts = map[string]struct {
	least, most float64
	form        string
}{
	"day": {0, 6, "0 for Sunday to 6 for Saturday"}, "getDay": {0, 6, "0 for Sunday to 6 for Saturday"}, "isoWeekday": {1, 7, "1 for Monday to 7 for Sunday"},
	"month": {0, 11, "0 for January to 11 for December"}, "getMonth": {0, 11, "0 for January to 11 for December"}, "quarter": {1, 4, "1 to 4"},
	"hour": {0, 23, "0 to 23"}, "hours": {0, 23, "0 to 23"}, "getHours": {0, 23, "0 to 23"}, "minute": {0, 59, "0 to 59"}, "minutes": {0, 59, "0 to 59"}, "getMinutes": {0, 59, "0 to 59"},
	"date": {1, 31, "1 to 31"}, "getDate": {1, 31, "1 to 31"}, "isoWeek": {1, 53, "1 to 53"}, "dayOfYear": {1, 366, "1 to 366"},
}

// part checks the value with which a part of a time is compared.
func (u *uses) part(name string, with ast.Expression) {
	p, known := parts[name]
	if !known {
		return
	}
	hint := "write a number, or compare a name, such as .format('dddd') == 'Sunday'"
	switch x := with.(type) {
	case *ast.StringLiteral:
		if value, err := strconv.ParseFloat(x.Value.String(), 64); err == nil && p.least <= value && value <= p.most {
			return
		}
		u.mistake(hint, "%s() is a number (%s), never '%s'", name, p.form, x.Value.String())
	case *ast.NumberLiteral:
		if value, err := strconv.ParseFloat(x.Literal, 64); err == nil && (value < p.least || value > p.most) {
			u.mistake("write a number in that range", "%s() is %s, never %s", name, p.form, x.Literal)
		}
	}
}

// methodOf returns the name of the called method; "" for a function.
func methodOf(n *ast.CallExpression) string {
	if dot, is := n.Callee.(*ast.DotExpression); is {
		return dot.Identifier.Name.String()
	}
	return ""
}

// isMoment reports whether an expression calls moment, or a method of its result.
func isMoment(e ast.Expression) bool {
	for {
		call, is := e.(*ast.CallExpression)
		if !is {
			return false
		}
		switch callee := call.Callee.(type) {
		case *ast.Identifier:
			return callee.Name == "moment"
		case *ast.DotExpression:
			if name, isName := callee.Left.(*ast.Identifier); isName {
				return name.Name == "moment"
			}
			e = callee.Left
		default:
			return false
		}
	}
}

// units are moment's units, in all their spellings.
var units = []string{"year", "years", "y", "quarter", "quarters", "Q", "month", "months", "M", "week", "weeks", "w", "isoWeek", "isoWeeks", "isoweek", "isoweeks", "W", "day", "days", "d", "date", "dates", "D",
	"hour", "hours", "h", "minute", "minutes", "m", "second", "seconds", "s", "millisecond", "milliseconds", "ms", "weekday", "weekdays", "e", "isoWeekday", "isoWeekdays", "E", "dayOfYear", "dayOfYears", "DDD",
	"weekYear", "weekYears", "gg", "isoWeekYear", "isoWeekYears", "GG"}

// called checks calls.
func (u *uses) called(n *ast.CallExpression) {
	if name, is := n.Callee.(*ast.Identifier); is {
		u.function(name.Name.String())
		return
	}
	name, texts := methodOf(n), textsOf(n.ArgumentList)
	if dot, is := n.Callee.(*ast.DotExpression); is && isMoment(dot.Left) && u.ofMoment(name, texts, n.ArgumentList) {
		return
	}
	switch {
	case name == "format" && len(texts) == 1 && texts[0] != "":
		u.form(texts[0])
	case name == "toLocaleString" && len(texts) > 0, name == "locale" && isOtherLanguage(texts):
		u.mistake("format it in a task with py> or sh>", "expressions support only English: %s(...)", name)
	case name == "replaceAll" && len(texts) == 2 && isPattern(texts[0]):
		u.mistake("write x.split("+param.Text(texts[0])+").join(...) to replace literal text", "the first argument of replaceAll is a pattern, as in Java: %s", texts[0])
	}
}

// textsOf returns the arguments that are string literals, and "" for the others.
func textsOf(arguments []ast.Expression) []string {
	texts := make([]string, len(arguments))
	for i, e := range arguments {
		if text, is := e.(*ast.StringLiteral); is {
			texts[i] = text.Value.String()
		}
	}
	return texts
}

// isOtherLanguage reports whether the arguments are the name of a language other than English.
func isOtherLanguage(texts []string) bool {
	return len(texts) == 1 && texts[0] != "" && !strings.HasPrefix(texts[0], "en")
}

// isPattern reports whether a string has characters with a special meaning in patterns, although it is probably not
// meant as a pattern.
func isPattern(text string) bool {
	return strings.ContainsAny(text, ".*+?^$|()[]{}") && !strings.Contains(text, `\`)
}

// ofMoment checks a call to a moment method that takes units, and reports whether it is such a call. texts are the
// arguments that are literals.
func (u *uses) ofMoment(name string, texts []string, arguments []ast.Expression) bool {
	unit := ""
	switch name {
	case "add", "subtract":
		if len(texts) == 1 {
			u.amount(name, texts[0], arguments[0])
		} else if len(texts) == 2 {
			unit = texts[1]
		}
	case "startOf", "endOf":
		if len(texts) == 1 {
			unit = texts[0]
		}
	case "diff":
		if len(texts) > 1 {
			unit = texts[1]
		}
	default:
		return false
	}
	if unit != "" {
		u.unit(name, unit)
	}
	return true
}

// amount checks the only argument of add and subtract.
func (u *uses) amount(name, text string, argument ast.Expression) {
	hint := "write, for example, ." + name + "(1, 'day')"
	switch {
	case text != "" && !isDuration(text):
		u.mistake(hint, "%s(%s) changes nothing: the number is missing", name, param.Text(text))
	case text == "" && isNumber(argument):
		u.mistake(hint, "%s without a unit counts milliseconds", name)
	}
}

func isNumber(e ast.Expression) bool {
	_, is := e.(*ast.NumberLiteral)
	return is
}

// index checks for a negative index, which in Python counts from the end of a list.
func (u *uses) index(n *ast.BracketExpression) {
	if key, is := n.Member.(*ast.StringLiteral); is && nameOf(n.Left) == "failed" && strings.HasPrefix(key.Value.String(), "+") {
		u.mistake("write failed['"+strings.TrimLeft(key.Value.String(), "+")+"']", "names in failed do not begin with +")
	}
	minus, is := n.Member.(*ast.UnaryExpression)
	if is && minus.Operator == token.MINUS && isNumber(minus.Operand) {
		u.mistake("write .at(-1) for the last one", "negative list indexes are undefined")
	}
}

// isDuration reports whether moment can add a string: an ISO 8601 duration, or 01:30.
func isDuration(text string) bool {
	return strings.ContainsAny(text, ":0123456789")
}

func (u *uses) unit(of, unit string) {
	if slices.Contains(units, unit) || slices.Contains(units, strings.ToLower(unit)) {
		return
	}
	hint := "write, for example, 'day', 'hour' or 'month'"
	if near := param.Nearest(unit, units); near != "" {
		hint = "did you mean '" + near + "'?"
	}
	u.mistake(hint, "moment has no unit '%s', so %s ignores it", unit, of)
}

// Text between brackets in a moment format is literal.
var (
	bracketed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[^\]]*\]`) })
	formRules = sync.OnceValue(func() (list []formRule) {
		for _, r := range [][2]string{
			{`%[A-Za-z]`, "%% is literal text: in moment, the year is YYYY, the month MM, the day DD"},
			{`yyyy`, "yyyy is the era year: write YYYY for the year"},
			{`Y[-/._ ]?mm|mm[-/._]?[DdY]|[Dd][-/._]?mm`, "mm means minutes: write MM for the month"},
			{`[Hh]:MM`, "MM means the month: write mm for minutes"},
			{`mm:SS`, "SS means fractions of a second: write ss for seconds"},
			{`MM[-/._ ]?DDD(?:$|[^D])`, "DDD is the day of the year: write DD for the day of the month"},
			{`(MM|M)[-/._ ]?dd(?:$|[^d])|^dd[-/._ ]?M`, "dd is a day of the week, such as Su: write DD for the day of the month"},
		} {
			list = append(list, formRule{regexp.MustCompile(r[0]), r[1]})
		}
		return list
	})
)

type formRule struct {
	form *regexp.Regexp
	says string
}

// form checks a moment format, whose letters have other meanings than in Java, C and Python.
func (u *uses) form(text string) {
	plain := bracketed().ReplaceAllString(text, "")
	for _, r := range formRules() {
		if r.form.MatchString(plain) {
			u.mistake("the usual format is YYYY-MM-DD HH:mm:ss", "in the format '%s', "+r.says, text)
			return
		}
	}
	if strings.Contains(plain, "h") && strings.Contains(plain, "m") && !strings.ContainsAny(plain, "aAHkL") {
		u.mistake("write HH, or add A for AM and PM", "in the format '%s', h counts from 1 to 12, but AM or PM is missing", text)
	}
}

// functions lists the functions of expressions that are not methods.
var functions = []string{"moment", "print", "parseInt", "parseFloat", "isNaN", "isFinite", "String", "Number", "Boolean", "Array", "Object", "Date", "RegExp", "Error", "TypeError", "RangeError", "SyntaxError", "Symbol",
	"encodeURIComponent", "encodeURI", "decodeURIComponent", "decodeURI", "escape", "unescape", "eval", "Function", "Map", "Set", "WeakMap", "WeakSet", "Promise", "Proxy", "BigInt", "EvalError", "ReferenceError", "URIError",
	"ArrayBuffer", "DataView", "Uint8Array", "Int8Array", "Uint16Array", "Int16Array", "Uint32Array", "Int32Array", "Float32Array", "Float64Array", "Uint8ClampedArray", "AggregateError"}

// ofOthers maps functions of other languages to the closest equivalent here.
var ofOthers = map[string]string{
	"len": "x.length", "length": "x.length", "count": "x.length", "str": "String(x)", "int": "parseInt(x)", "float": "Number(x)", "bool": "Boolean(x)", "now": "moment()", "today": "session_date", "date": "moment(x).format('YYYY-MM-DD')",
	"datetime": "moment(x)", "strftime": "moment(x).format('YYYY-MM-DD')", "upper": "x.toUpperCase()", "lower": "x.toLowerCase()", "replace": "x.replace('a', 'b')", "join": "list.join(', ')", "split": "x.split(',')",
	"default": "this.x || 'other'", "trim": "x.trim()", "round": "Math.round(x)", "abs": "Math.abs(x)", "min": "Math.min(x, y)", "max": "Math.max(x, y)", "floor": "Math.floor(x)", "ceil": "Math.ceil(x)",
	"sum": "list.reduce((a, b) => a + b, 0)", "tojson": "JSON.stringify(x)", "to_json": "JSON.stringify(x)", "json": "JSON.stringify(x)", "contains": "x.includes('a')", "range": "for_range>", "format": "moment(x).format('YYYY-MM-DD')",
}

// function checks a function's name, which cannot be a parameter.
func (u *uses) function(name string) {
	if slices.Contains(functions, name) {
		return
	}
	u.add(param.Use{Kind: param.Mistake, Name: name, Says: "unknown function " + name, Hint: FunctionHint(name)})
}

// FunctionHint returns what to write instead of a function that expressions do not have.
func FunctionHint(name string) string {
	switch {
	case ofOthers[name] != "":
		return "write, for example, ${" + ofOthers[name] + "}"
	case slices.Contains([]string{"require", "import", "open", "readFile", "fetch", "env", "getenv", "exec", "system", "file"}, name):
		return "expressions only see parameters: no files, no environment variables, no network"
	}
	if near := param.Nearest(name, functions); near != "" {
		return "did you mean " + near + "?"
	}
	return "expressions only have the functions of JavaScript and moment (`zerodag docs expressions`)"
}

// printed checks the value of an entire expression.
func (u *uses) printed(e ast.Expression) {
	call, is := e.(*ast.CallExpression)
	if !is || !isMoment(call) {
		return
	}
	if slices.Contains([]string{"", "add", "subtract", "startOf", "endOf", "utc", "local", "clone", "utcOffset"}, methodOf(call)) && !(methodOf(call) == "utcOffset" && len(call.ArgumentList) == 0) {
		u.mistake("add .format(), or .format('YYYY-MM-DD')", "without .format(), a moment is printed as a UTC time in quotes")
	}
}
