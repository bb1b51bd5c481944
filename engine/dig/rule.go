package dig

import (
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"zerodag/engine/param"
)

// Rule is what a value must be like, in words of JSON Schema.
type Rule struct {
	Type       string // "" is any
	Enum       []param.Value
	Const      param.Value // nil is any
	Minimum    param.Value // a number; nil is none
	Maximum    param.Value
	MinLength  int // in characters
	MaxLength  int // 0 is none
	Pattern    *regexp.Regexp
	Format     string
	Items      *Rule
	Properties []Property
}

// Property is a part of a value of type object.
type Property struct {
	Name     string
	Required bool
	Rule     Rule
}

// ruleWords are the words of a rule, and the types that a value must have for each; none are for all.
func ruleWords() map[string][]string {
	text, number := []string{"string"}, []string{"integer", "number"}
	return map[string][]string{"type": nil, "enum": nil, "const": nil, "minimum": number, "maximum": number,
		"minLength": text, "maxLength": text, "pattern": text, "format": text, "items": {"array"}, "properties": {"object"}}
}

// RuleWords are the words of a rule.
func RuleWords() []string { return slices.Sorted(maps.Keys(ruleWords())) }

// Formats are the forms that a text may be asked to have.
func Formats() []string { return []string{"date", "date-time", "email", "uri"} }

// mostDeep bounds how rules may nest, and so what checking a value can take.
const mostDeep = 10

// ruleReader reads rules and tells what is wrong with them.
type ruleReader struct {
	of     string // the key of the file that they are of
	report func(below []string, message, hint string)
}

func (r ruleReader) fail(at []string, hint, format string, args ...any) {
	r.report(at, fmt.Sprintf(format, args...), hint)
}

// read reads the words of a rule; own says of others whether somebody else reads them. words are all that may stand there.
func (r ruleReader) read(m *param.Map, at []string, words []string, own func(key string, v param.Value, at []string) bool) Rule {
	var rule Rule
	rule.Type, _ = valueOf(m, "type").(string)
	for key, v := range m.All() {
		here := append(slices.Clone(at), key)
		types, isRule := ruleWords()[key]
		switch {
		case own(key, v, here):
		case !isRule:
			hint := "it may have " + strings.Join(words, ", ")
			if s := didYouMean(key, words); s != "" {
				hint = s
			}
			r.fail(here, hint, "'%s' is not read by anybody in %s", key, r.of)
		case len(types) > 0 && !slices.Contains(types, rule.Type):
			r.fail(here, "write `type: "+types[0]+"` beside it", "%s is for values of type %s", key, strings.Join(types, " or "))
		default:
			r.word(&rule, key, v, here)
		}
	}
	for _, key := range []string{"enum", "const"} {
		r.fits(rule, key, m, at)
	}
	return rule
}

// fits wants the values that a rule allows to be of its own type.
func (r ruleReader) fits(rule Rule, key string, m *param.Map, at []string) {
	list, isList := valueOf(m, key).([]param.Value)
	if key == "const" {
		list, isList = []param.Value{rule.Const}, rule.Const != nil
	}
	if !isList || rule.Type == "" || !slices.Contains(param.Types(), rule.Type) {
		return
	}
	for _, v := range list {
		if _, err := param.AsType(rule.Type, v); err != nil {
			r.fail(append(slices.Clone(at), key), "write values of that type", "a value of %s %s", key, err)
			return
		}
	}
}

func (r ruleReader) word(rule *Rule, key string, v param.Value, at []string) {
	switch key {
	case "type":
		if !slices.Contains(param.Types(), rule.Type) {
			r.fail(at, "write one of "+strings.Join(param.Types(), ", "), "there is no type %s", sample(v))
		}
	case "enum":
		list, ok := v.([]param.Value)
		if rule.Enum = list; !ok || len(list) == 0 {
			r.fail(at, "write the values that are possible: `enum: [jp, us]`", "enum must be a list: %s", sample(v))
		}
	case "const":
		if rule.Const = v; v == nil {
			r.fail(at, "write the one value that is possible", "const has no value")
		}
	case "minimum", "maximum":
		n, err := param.AsType("number", v) // 0.5 is a text in this language, as in Digdag
		if err != nil {
			r.fail(at, "write it as a number; ${...} is not evaluated here", "%s must be a number: %s", key, sample(v))
			return
		}
		v = n
		if key == "minimum" {
			rule.Minimum = v
		} else {
			rule.Maximum = v
		}
	case "minLength":
		rule.MinLength = r.length(key, v, at)
	case "maxLength":
		rule.MaxLength = r.length(key, v, at)
	case "pattern":
		text, _ := v.(string)
		re, err := regexp.Compile(text)
		if err != nil || text == "" {
			r.fail(at, expressionHint, "pattern is no regular expression: %s", sample(v))
			return
		}
		rule.Pattern = re
	case "format":
		rule.Format, _ = v.(string)
		if !slices.Contains(Formats(), rule.Format) {
			hint := "write one of " + strings.Join(Formats(), ", ")
			if s := didYouMean(rule.Format, Formats()); s != "" {
				hint = s
			}
			r.fail(at, hint, "there is no format %s", sample(v))
		}
	case "items":
		if m := r.inner(key, v, at); m != nil {
			items := r.nested(m, at)
			rule.Items = &items
		}
	case "properties":
		if m := r.inner(key, v, at); m != nil {
			rule.Properties = r.properties(m, at)
		}
	}
}

func isText(v param.Value) bool {
	_, is := v.(string)
	return is
}

func (r ruleReader) length(key string, v param.Value, at []string) int {
	return wholeFrom1(v, 1<<20, key, func(message, hint string) { r.report(at, message, hint) })
}

// inner is the mapping of a word that has rules below it; nil where it is none.
func (r ruleReader) inner(key string, v param.Value, at []string) *param.Map {
	m, ok := v.(*param.Map)
	switch {
	case !ok:
		r.fail(at, "write a rule such as {type: string}", "%s must be an object: %s", key, sample(v))
		return nil
	case len(at) > 2*mostDeep:
		r.fail(at, "give such a value no rules inside", "rules are nested deeper than %d levels", mostDeep)
		return nil
	}
	return m
}

func (r ruleReader) nested(m *param.Map, at []string) Rule {
	words := sortedWords("description")
	return r.read(m, at, words, func(key string, v param.Value, at []string) bool { return r.described(key, v, at) })
}

func (r ruleReader) properties(m *param.Map, at []string) (list []Property) {
	words := sortedWords("description", "required")
	for name, v := range m.All() {
		here := append(slices.Clone(at), name)
		inner := r.inner(name, v, here)
		if inner == nil {
			continue
		}
		p := Property{Name: name}
		p.Rule = r.read(inner, here, words, func(key string, v param.Value, at []string) bool {
			return r.described(key, v, at) || r.yes("required", &p.Required, key, v, at)
		})
		list = append(list, p)
	}
	return list
}

// described says whether a key is a description, which is for people.
func (r ruleReader) described(key string, v param.Value, at []string) bool {
	if key != "description" {
		return false
	}
	if !isText(v) {
		r.fail(at, "write it in quotes", "description must be a text: %s", sample(v))
	}
	return true
}

// yes reads true or false if the key is the one that is asked for.
func (r ruleReader) yes(name string, to *bool, key string, v param.Value, at []string) bool {
	if key != name {
		return false
	}
	on, ok := v.(bool)
	if *to = on; !ok {
		r.fail(at, "write true or false", "%s must be true or false: %s", name, sample(v))
	}
	return true
}

// sortedWords are the words that a rule may have, with some more.
func sortedWords(more ...string) []string {
	return slices.Sorted(slices.Values(append(more, RuleWords()...)))
}

// Fit turns text into the type of the rule, at any depth, and lists what is wrong with the value, by the names that lead there.
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
		fail("must be %s: %s", shown(r.Const), shown(v))
	}
	if r.Enum != nil && !slices.ContainsFunc(r.Enum, func(e param.Value) bool { return param.Equal(v, r.typed(e)) }) {
		var list []string
		for _, e := range r.Enum {
			list = append(list, param.Text(e))
		}
		fail("must be one of %s: %s", param.Shortened(strings.Join(list, ", ")), shown(v))
	}
	switch x := v.(type) {
	case string:
		r.fitText(x, fail)
	case []param.Value:
		v, faults = r.fitItems(name, x, faults)
	case *param.Map:
		v, faults = r.fitProperties(name, x, faults)
	default:
		if r.Minimum != nil && rational(v).Cmp(rational(r.Minimum)) < 0 {
			fail("must be %s or more: %s", shown(r.Minimum), shown(v))
		}
		if r.Maximum != nil && rational(v).Cmp(rational(r.Maximum)) > 0 {
			fail("must be %s or less: %s", shown(r.Maximum), shown(v))
		}
	}
	return v, faults
}

// mostFaults is how many a message has of what is wrong with a value: of a long list it may be each entry.
const mostFaults = 10

// Faults is the message of what is wrong with a value.
func Faults(faults []string) string {
	more := len(faults) - mostFaults
	if more <= 0 {
		return strings.Join(faults, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(faults[:mostFaults], "; "), more)
}

// typed is a value of the rule itself, which may be written as text.
func (r *Rule) typed(v param.Value) param.Value {
	if t, err := param.AsType(r.Type, v); err == nil {
		return t
	}
	return v
}

// shown is a value in a message.
func shown(v param.Value) string { return param.Shortened(param.Text(v)) }

// rational is a number without the error of a comparison between whole ones and others.
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
		fail("must have %d characters or more: %s", r.MinLength, shown(text))
	}
	if r.MaxLength > 0 && length > r.MaxLength {
		fail("must have %d characters or less: %s", r.MaxLength, shown(text))
	}
	if r.Pattern != nil && !r.Pattern.MatchString(text) {
		fail("must match %s: %s", r.Pattern, shown(text))
	}
	if !hasFormat(r.Format, text) {
		fail("must be of the format %s: %s", r.Format, shown(text))
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
