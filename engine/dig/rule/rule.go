package rule

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"zerodag/engine/param"
	"zerodag/engine/regex"
)

// Rule describes valid values, with keywords of JSON Schema.
type Rule struct {
	Type       string // "" is any
	Enum       []param.Value
	Const      param.Value // nil is any
	Minimum    param.Value // a number; nil is none
	Maximum    param.Value
	MinLength  int // in characters
	MaxLength  int // 0 is none
	Pattern    *regex.Regexp
	Format     string
	Items      *Rule
	Properties []Property
}

// Property is a member of an object value.
type Property struct {
	Name     string
	Required bool
	Rule     Rule
}

// ruleWords maps the keywords of a rule to the types that each requires; none means any type.
func ruleWords() map[string][]string {
	text, number := []string{"string"}, []string{"integer", "number"}
	return map[string][]string{"type": nil, "enum": nil, "const": nil, "minimum": number, "maximum": number,
		"minLength": text, "maxLength": text, "pattern": text, "format": text, "items": {"array"}, "properties": {"object"}}
}

// Formats returns the values of `format` for text.
func Formats() []string { return []string{"date", "date-time", "email", "uri"} }

// mostDeep limits how deep rules may nest, and therefore the cost of checking a value.
const mostDeep = 10

// Reader reads rules and reports their mistakes.
type Reader struct {
	Of     string // the key in the file that holds the rule
	Report Report
}

// Fail reports a mistake at a path of keys below the key that has the rules.
func (r Reader) Fail(at []string, hint, format string, args ...any) {
	r.Report(at, fmt.Sprintf(format, args...), hint)
}

// Read reads the keywords of a rule; own reports whether the caller handles another key itself. words lists all keys
// that are allowed in the mapping.
func (r Reader) Read(m *param.Map, at []string, words []string, own func(key string, v param.Value, at []string) bool) Rule {
	var rule Rule
	rule.Type, _ = m.Value("type").(string)
	for key, v := range m.All() {
		here := append(slices.Clone(at), key)
		types, isRule := ruleWords()[key]
		switch {
		case own(key, v, here):
		case !isRule:
			hint := "valid keys are " + strings.Join(words, ", ")
			if s := param.DidYouMean(key, words); s != "" {
				hint = s
			}
			r.Fail(here, hint, "unknown key '%s' in %s", key, r.Of)
		case len(types) > 0 && !slices.Contains(types, rule.Type):
			r.Fail(here, "add `type: "+types[0]+"`", "%s is for values of type %s", key, strings.Join(types, " or "))
		default:
			r.word(&rule, key, v, here)
		}
	}
	for _, key := range []string{"enum", "const"} {
		r.fits(rule, key, m, at)
	}
	return rule
}

// fits requires the values that a rule allows to have its own type.
func (r Reader) fits(rule Rule, key string, m *param.Map, at []string) {
	list, isList := m.Value(key).([]param.Value)
	if key == "const" {
		list, isList = []param.Value{rule.Const}, rule.Const != nil
	}
	if !isList || rule.Type == "" || !slices.Contains(param.Types(), rule.Type) {
		return
	}
	for _, v := range list {
		if _, err := param.AsType(rule.Type, v); err != nil {
			r.Fail(append(slices.Clone(at), key), "write values of that type", "a value of %s %s", key, err)
			return
		}
	}
}

// bound reads a number; nil if it is not one.
func (r Reader) bound(key string, v param.Value, at []string) param.Value {
	n, err := param.AsType("number", v) // 0.5 is text in this language, as in Digdag
	if err != nil {
		r.Fail(at, "write it as a number; ${...} is not evaluated here", "%s must be a number: %s", key, param.Sample(v))
		return nil
	}
	return n
}

func (r Reader) word(rule *Rule, key string, v param.Value, at []string) {
	switch key {
	case "type":
		if !slices.Contains(param.Types(), rule.Type) {
			r.Fail(at, "write one of "+strings.Join(param.Types(), ", "), "unknown type %s", param.Sample(v))
		}
	case "enum":
		rule.Enum = r.enum(v, at)
	case "const":
		if rule.Const = v; v == nil {
			r.Fail(at, "write the only allowed value", "const has no value")
		}
	case "minimum":
		rule.Minimum = r.bound(key, v, at)
	case "maximum":
		rule.Maximum = r.bound(key, v, at)
	case "minLength":
		rule.MinLength = r.length(key, v, at)
	case "maxLength":
		rule.MaxLength = r.length(key, v, at)
	case "pattern":
		rule.Pattern = r.Expression(key, v, at)
	case "format":
		rule.Format = r.format(v, at)
	case "items":
		rule.Items = r.items(key, v, at)
	case "properties":
		if m := r.inner(key, v, at); m != nil {
			rule.Properties = r.properties(m, at)
		}
	}
}

// items reads the rule for the elements of a list; nil if it is not one.
func (r Reader) items(key string, v param.Value, at []string) *Rule {
	m := r.inner(key, v, at)
	if m == nil {
		return nil
	}
	items := r.nested(m, at)
	return &items
}

// enum reads the possible values.
func (r Reader) enum(v param.Value, at []string) []param.Value {
	list, _ := v.([]param.Value)
	if len(list) == 0 {
		r.Fail(at, "write the allowed values: `enum: [jp, us]`", "enum must be a list: %s", param.Sample(v))
	}
	return list
}

// Expression reads a regular expression; nil if it is not one, or is larger than allowed.
func (r Reader) Expression(key string, v param.Value, at []string) *regex.Regexp {
	text, _ := v.(string)
	re, err := regex.Compile(text)
	switch {
	case errors.Is(err, regex.ErrTooLarge):
		r.Fail(at, ExpressionHint(err), "%s is not a valid regular expression: %s", key, err)
	case err != nil || text == "":
		r.Fail(at, ExpressionHint(err), "%s is not a valid regular expression: %s", key, param.Sample(v))
	default:
		return re
	}
	return nil
}

// format reads the name of a text format.
func (r Reader) format(v param.Value, at []string) string {
	name, _ := v.(string)
	if !slices.Contains(Formats(), name) {
		hint := cmp.Or(param.DidYouMean(name, Formats()), "write one of "+strings.Join(Formats(), ", "))
		r.Fail(at, hint, "unknown format %s", param.Sample(v))
	}
	return name
}

// IsText reports whether a value is text.
func IsText(v param.Value) bool {
	_, is := v.(string)
	return is
}

func (r Reader) length(key string, v param.Value, at []string) int {
	return WholeFrom1(v, 1<<20, key, func(message, hint string) { r.Report(at, message, hint) })
}

// inner returns the mapping of a keyword that has rules below it; nil if it is not a mapping.
func (r Reader) inner(key string, v param.Value, at []string) *param.Map {
	m, ok := v.(*param.Map)
	switch {
	case !ok:
		r.Fail(at, "write a rule such as {type: string}", "%s must be an object: %s", key, param.Sample(v))
		return nil
	case len(at) > 2*mostDeep:
		r.Fail(at, "do not write rules inside such a value", "rules are nested deeper than %d levels", mostDeep)
		return nil
	}
	return m
}

func (r Reader) nested(m *param.Map, at []string) Rule {
	words := Words("description")
	return r.Read(m, at, words, func(key string, v param.Value, at []string) bool { return r.Described(key, v, at) })
}

func (r Reader) properties(m *param.Map, at []string) (list []Property) {
	words := Words("description", "required")
	for name, v := range m.All() {
		here := append(slices.Clone(at), name)
		inner := r.inner(name, v, here)
		if inner == nil {
			continue
		}
		p := Property{Name: name}
		p.Rule = r.Read(inner, here, words, func(key string, v param.Value, at []string) bool {
			return r.Described(key, v, at) || r.Yes("required", &p.Required, key, v, at)
		})
		list = append(list, p)
	}
	return list
}

// Described reports whether a key is a description, which is for users.
func (r Reader) Described(key string, v param.Value, at []string) bool {
	if key != "description" {
		return false
	}
	if !IsText(v) {
		r.Fail(at, "write it in quotes", "description must be a string: %s", param.Sample(v))
	}
	return true
}

// Yes reads true or false if the key has the given name.
func (r Reader) Yes(name string, to *bool, key string, v param.Value, at []string) bool {
	if key != name {
		return false
	}
	on, ok := v.(bool)
	if *to = on; !ok {
		r.Fail(at, "write true or false", "%s must be true or false: %s", name, param.Sample(v))
	}
	return true
}

// Words returns the keywords that a rule may have and the given additional ones, sorted.
func Words(more ...string) []string {
	return slices.Sorted(slices.Values(slices.AppendSeq(more, maps.Keys(ruleWords()))))
}

// Fit converts text into the rule's type, at any depth, and lists what is wrong with the value, by the names that lead
// there.
func (r *Rule) Fit(name string, v param.Value) (param.Value, []string) {
	v, err := param.AsType(r.Type, v)
	if err != nil {
		return nil, []string{fmt.Sprintf("'%s' %s", name, err)}
	}
	var faults []string
	fail := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("'%s' ", name)+fmt.Sprintf(format, args...))
	}
	if r.Const != nil && !param.Equal(v, r.typed(r.Const)) {
		fail("must be %s: %s", Shown(r.Const), Shown(v))
	}
	if r.Enum != nil && !slices.ContainsFunc(r.Enum, func(e param.Value) bool { return param.Equal(v, r.typed(e)) }) {
		var list []string
		for _, e := range r.Enum {
			list = append(list, param.Text(e))
		}
		fail("must be one of %s: %s", param.Shortened(strings.Join(list, ", ")), Shown(v))
	}
	switch x := v.(type) {
	case string:
		r.fitText(x, fail)
	case []param.Value:
		v, faults = r.fitItems(name, x, faults)
	case *param.Map:
		v, faults = r.fitProperties(name, x, faults)
	default:
		r.fitNumber(v, fail)
	}
	return v, faults
}

func (r *Rule) fitNumber(v param.Value, fail func(format string, args ...any)) {
	if r.Type == "integer" && !IsExact(v) {
		fail("has more digits than ${...} keeps (at most 9007199254740991): declare it with `type: string`: %s", Shown(v))
	}
	if r.Minimum != nil && rational(v).Cmp(rational(r.Minimum)) < 0 {
		fail("must be %s or more: %s", Shown(r.Minimum), Shown(v))
	}
	if r.Maximum != nil && rational(v).Cmp(rational(r.Maximum)) > 0 {
		fail("must be %s or less: %s", Shown(r.Maximum), Shown(v))
	}
}

// mostFaults is how many faults of a value a message lists: in a long list, every entry may be wrong.
const mostFaults = 10

// Faults joins faults of a value into a message.
func Faults(faults []string) string {
	more := len(faults) - mostFaults
	if more <= 0 {
		return strings.Join(faults, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(faults[:mostFaults], "; "), more)
}

// typed converts a value in the rule itself, which may be written as text, to the rule's type.
func (r *Rule) typed(v param.Value) param.Value {
	if t, err := param.AsType(r.Type, v); err == nil {
		return t
	}
	return v
}

// Shown formats a value for a message.
func Shown(v param.Value) string { return param.Shortened(param.Text(v)) }

// rational converts a number, so that whole and other numbers compare exactly.
func rational(v param.Value) *big.Rat {
	switch x := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(x)
	case *big.Int:
		return new(big.Rat).SetInt(x)
	case float64:
		if f := new(big.Rat).SetFloat64(x); f != nil {
			return f
		}
	}
	return new(big.Rat)
}

func (r *Rule) fitText(text string, fail func(string, ...any)) {
	length := utf8.RuneCountInString(text)
	if length < r.MinLength {
		fail("must have %d characters or more: %s", r.MinLength, Shown(text))
	}
	if r.MaxLength > 0 && length > r.MaxLength {
		fail("must have %d characters or fewer: %s", r.MaxLength, Shown(text))
	}
	switch {
	case r.Pattern == nil:
	case !r.Pattern.Fits(text):
		fail("is too long to be matched with its pattern")
	case !r.Pattern.MatchString(text):
		fail("must match %s: %s", r.Pattern, Shown(text))
	}
	if !hasFormat(r.Format, text) {
		fail("must be of the format %s: %s", r.Format, Shown(text))
	}
}

func hasFormat(format, text string) bool {
	var err error
	switch format {
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	case "email":
		name, domain, found := strings.Cut(text, "@")
		return found && name != "" && domain != "" && !strings.ContainsAny(text, " \t\r\n<>") && !strings.Contains(domain, "@")
	case "uri":
		u, wrong := url.Parse(text)
		return wrong == nil && u.Scheme != ""
	}
	return err == nil
}

func (r *Rule) fitItems(name string, list []param.Value, faults []string) (param.Value, []string) {
	if r.Items == nil {
		return list, faults
	}
	out := make([]param.Value, len(list))
	for i, v := range list {
		fitting, more := r.Items.Fit(fmt.Sprintf("%s[%d]", name, i), v)
		out[i], faults = fitting, append(faults, more...)
	}
	return out, faults
}

func (r *Rule) fitProperties(name string, m *param.Map, faults []string) (param.Value, []string) {
	out := m
	if len(r.Properties) > 0 {
		out = m.Clone()
	}
	for i := range r.Properties {
		p := &r.Properties[i]
		v, _ := m.Get(p.Name)
		switch {
		case v != nil:
			fitting, more := p.Rule.Fit(name+"."+p.Name, v)
			out.Set(p.Name, fitting)
			faults = append(faults, more...)
		case p.Required:
			faults = append(faults, fmt.Sprintf("'%s.%s' is required", name, p.Name))
		}
	}
	return out, faults
}

// MaxExact is the largest whole number that expressions represent exactly, since they are JavaScript: 2^53-1.
const MaxExact = 1<<53 - 1

// IsExact reports whether an expression keeps all digits of a number.
func IsExact(v param.Value) bool {
	switch x := v.(type) {
	case int64:
		return -MaxExact <= x && x <= MaxExact
	case *big.Int:
		return false // smaller ones are int64
	}
	return true
}

// WholeFrom1 reads a whole number from 1 to most; 0 after a fault, whose message begins with `what`.
func WholeFrom1(v param.Value, most int64, what string, fault func(message, hint string)) int {
	n, err := param.AsWhole(what, v)
	if err != nil || IsText(v) || n < 1 || n > most {
		fault(fmt.Sprintf("%s must be a whole number from 1 to %d: %s", what, most, param.Sample(v)), "write it as a number; ${...} is not evaluated here")
		return 0
	}
	return int(n)
}

// LargeHint is the hint for a regular expression that is larger than allowed.
const LargeHint = "use fewer repetitions ({0,1000} counts as a thousand), or check the value in a task"

// ExpressionHint returns the hint for an invalid regular expression, derived from its error.
func ExpressionHint(err error) string {
	if errors.Is(err, regex.ErrTooLarge) {
		return LargeHint
	}
	return "see https://pkg.go.dev/regexp/syntax for the syntax"
}
