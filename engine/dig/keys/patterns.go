package keys

import (
	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
	"zerodag/engine/regex"
)

// Patterns adds up the cost of a file's regular expressions.
type Patterns struct {
	seen map[string]bool
	size int
}

// Afford counts the expressions in a task's config that were not counted before, and reports the key that takes the
// file over its limit: from then on, no expression may be compiled.
func (e *Patterns) Afford(config *param.Map, report rule.Report) {
	for key, v := range config.All() {
		for _, text := range patterns(nil, key, v) {
			if e.Over() || e.seen[text] {
				continue
			}
			if e.seen == nil {
				e.seen = map[string]bool{}
			}
			e.seen[text] = true
			size, err := regex.Size(text)
			if err != nil { // reported with its key; parsing it up to the error also has a cost
				size = max(size, len(text))
			}
			if e.size += size; e.Over() {
				report([]string{key}, "with these, the regular expressions of the file are too large in total", rule.LargeHint)
			}
		}
	}
}

// Over reports whether Afford has found the limit exceeded.
func (e *Patterns) Over() bool { return e.size > regex.MaxOfFile }

// patterns appends the regular expressions in one of a task's keys, as text.
func patterns(list []string, key string, v param.Value) []string {
	m, _ := v.(*param.Map)
	switch key {
	case ParamsKey, OutputsKey, "_store":
		list = ofRules(list, m)
	case "_defaults":
		for key, v := range m.All() {
			list = patterns(list, key, v)
		}
	case "_ignore_error":
		for _, v := range m.All() {
			text, _ := v.(string)
			list = ofPattern(list, text)
		}
	case "_cases":
		for name := range m.All() {
			list = ofPattern(list, name)
		}
	}
	return list
}

// ofRules appends the expressions of rules, at any depth.
func ofRules(list []string, m *param.Map) []string {
	for key, v := range m.All() {
		text, isText := v.(string)
		if inner, isMap := v.(*param.Map); isMap {
			list = ofRules(list, inner)
		} else if isText && (key == "pattern" || key == "match") {
			list = append(list, text)
		}
	}
	return list
}

func ofPattern(list []string, text string) []string {
	if inner, is := param.PatternExpression(text); is {
		list = append(list, inner)
	}
	return list
}
