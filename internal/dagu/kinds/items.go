package kinds

import (
	"slices"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/tasks"
)

// items returns the values that a step runs for, and how many of them run at once.
func items(s *tasks.Step) (over, side param.Value) {
	v, there := s.Get("parallel")
	if !there {
		return nil, nil
	}
	s.Values["ITEM"] = references.Value{Kind: references.OfItem, As: "ITEM"}
	side = true
	if m, isMap := v.(*param.Map); isMap {
		s.Only(m, "items", "max_concurrent")
		if n := s.Whole(m, "max_concurrent"); n > 0 {
			side = param.New("limit", n, "sliding", true)
		}
		v, _ = m.Get("items")
	}
	switch x := v.(type) {
	case string:
		return listed(s, "parallel", x), side
	case []param.Value:
		if !s.Has("params") {
			return append([]param.Value{}, x...), side
		}
		return s.Evaluated(s.Map, "parallel", x), side
	}
	s.Refuse(s.Map, "parallel", "write a list", "parallel has no items")
	return []param.Value{}, side
}

// listed parses a string as a list: JSON, or words. If the string has references, an expression parses it at run time.
func listed(s *tasks.Step, key, text string) param.Value {
	if !strings.Contains(text, "$") {
		if v, err := param.ParseJSON(text); err == nil {
			if list, isList := v.([]param.Value); isList {
				return list
			}
		}
		return document.ListOfTexts(separated(text))
	}
	x := s.Script(s.Map, key, text)
	s.Note(s.Map, key, "store a JSON list", false, "each item of %s is a single value: NAME=VALUE in it does not set a parameter",
		text)
	return "${(" + separatedScript + ")(('' + " + x + ").trim())}"
}

// separated splits a string into items as Dagu does: at line ends, or else at the most frequent separator among commas,
// semicolons, bars and tabs, or else at spaces. Quotes keep an item together, and a JSON object is one item.
func separated(text string) (items []string) {
	text = strings.TrimSpace(text)
	quoted := strings.Count(text, `"`) > 1 &&
		(strings.HasPrefix(text, `"`) || strings.HasSuffix(text, `"`) || strings.Contains(text, `" `) ||
			strings.Contains(text, ` "`))
	switch {
	case strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}"):
		return []string{text}
	case strings.Contains(text, "\n"):
		items = strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	case quoted:
		return quotedItems(text)
	default:
		sign, most := "", 0
		for _, one := range []string{"\t", "|", ";", ","} {
			if n := strings.Count(text, one); n > most {
				sign, most = one, n
			}
		}
		if sign == "" {
			return strings.Fields(text)
		}
		items = strings.Split(text, sign)
	}
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
	}
	return slices.DeleteFunc(items, func(item string) bool { return item == "" })
}

// quotedItems splits a string at spaces and double quotes.
func quotedItems(text string) (items []string) {
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			items = append(items, part)
		} else {
			items = append(items, strings.Fields(part)...)
		}
	}
	return items
}

// separatedScript does the work of separated at run time: it is a function that takes a trimmed string and returns a
// JSON list. It must not contain braces.
const separatedScript = `t => t.charAt(0) == '[' ? t : JSON.stringify((t.charAt(0) == '\x7b' && t.slice(-1) == '\x7d' ? [t] : /\n/.test(t) ? t.split(/[\r\n]+/) : ` +
	`t.split('"').length > 2 && /^"|"$|" | "/.test(t) ? t.split('"').map((s, i) => i % 2 ? [s] : s.split(/\s+/)).reduce((a, b) => a.concat(b)) : ` +
	`t.split([[/\s+/, 1]].concat(['\t', '|', ';', ','].map(s => [s, t.split(s).length])).reduce((a, b) => b[1] > a[1] ? b : a)[0])).map(s => s.trim()).filter(String))`
