// Package precomputed does work during the translation that Dagu does in a run: it fills templates and converts data.
// It refuses work that depends on values known only during the run, and must never call a function whose result depends
// on the machine, the time or chance.
package precomputed

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	sprig "github.com/go-task/slim-sprig/v3"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
)

// Fill fills in a Dagu template. Values that are known only when a workflow runs are represented by their `${...}`: a
// template that does more than insert them is refused with ErrDecides.
func Fill(text string, data any) (string, error) {
	t, err := template.New("").Option("missingkey=error").Funcs(functions()).Parse(text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnread, err)
	}
	switch encoded, err := inJSON(data); {
	case err != nil, document.Reference().MatchString(encoded) && !insertsOnly(t.Root):
		return "", ErrDecides
	case strings.Contains(text, "range") && largeNumber().MatchString(text+encoded): // it may count up to the number
		return "", ErrLong
	}
	var b limited
	if err := t.Execute(&b, data); err != nil {
		return "", fmt.Errorf("fill template: %w", err)
	}
	return b.String(), nil
}

// Reasons why a template is not filled.
var (
	ErrDecides = errors.New("it uses a run-time value for more than text")
	ErrUnread  = errors.New("it cannot be read")
	ErrLong    = errors.New("its text is too long")
)

// limited is a string builder with a maximum length.
type limited struct{ strings.Builder }

const longestText = 1 << 20

// largeNumber matches numbers that take a long time to count up to, in any notation that templates accept.
var largeNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9_]{5}|[0-9][eEpPxX]`) })

func (l *limited) Write(text []byte) (int, error) {
	if l.Len()+len(text) > longestText {
		return 0, ErrLong
	}
	return l.Builder.Write(text)
}

// insertsOnly reports whether a template only inserts parts of its data, unchanged or as JSON.
func insertsOnly(list *parse.ListNode) bool {
	for _, node := range list.Nodes {
		action, isAction := node.(*parse.ActionNode)
		if _, isText := node.(*parse.TextNode); isText {
			continue
		}
		if !isAction || len(action.Pipe.Decl) > 0 || len(action.Pipe.Cmds) != 1 {
			return false
		}
		args := action.Pipe.Cmds[0].Args
		if name, isName := args[0].(*parse.IdentifierNode); isName && name.Ident == "json" && len(args) == 2 {
			args = args[1:]
		}
		if _, isField := args[0].(*parse.FieldNode); !isField || len(args) != 1 {
			return false
		}
	}
	return true
}

// functions returns the template functions, which come from the library that Dagu uses. Functions that depend on the
// machine or the time, or create output of any length, are excluded; some take their arguments in a different order.
func functions() template.FuncMap {
	all := template.FuncMap{}
	others := strings.Fields(`env expandenv getHostByName now date dateInZone date_in_zone dateModify date_modify
		mustDateModify must_date_modify ago duration durationRound unixEpoch toDate mustToDate htmlDate htmlDateInZone
		uuidv4 repeat until untilStep seq`)
	for name, of := range sprig.HermeticTxtFuncMap() {
		if !slices.Contains(others, name) {
			all[name] = of
		}
	}
	all["json"] = inJSON
	all["split"] = func(by, text string) []string { return strings.Split(text, by) }
	all["join"] = joined
	all["count"] = length
	all["add"] = func(b, a int) int { return a + b }
	all["empty"] = isEmpty
	all["upper"], all["lower"], all["trim"] = strings.ToUpper, strings.ToLower, strings.TrimSpace
	all["default"] = func(otherwise, v any) any {
		if isEmpty(v) {
			return otherwise
		}
		return v
	}
	return all
}

func joined(by string, list any) (string, error) {
	of := reflect.ValueOf(list)
	switch {
	case list == nil:
		return "", nil
	case of.Kind() != reflect.Slice && of.Kind() != reflect.Array:
		return "", fmt.Errorf("join takes a list, not %T", list)
	}
	texts := make([]string, of.Len())
	for i := range texts {
		texts[i] = fmt.Sprint(of.Index(i).Interface())
	}
	return strings.Join(texts, by), nil
}

func length(v any) (int, error) {
	of := reflect.ValueOf(v)
	switch {
	case v == nil:
		return 0, nil
	case hasLength(of):
		return of.Len(), nil
	}
	return 0, fmt.Errorf("count takes a list, a mapping or a string, not %T", v)
}

func isEmpty(v any) bool {
	of := reflect.ValueOf(v)
	return v == nil || hasLength(of) && of.Len() == 0 || !hasLength(of) && of.IsZero()
}

func hasLength(of reflect.Value) bool {
	return slices.Contains([]reflect.Kind{reflect.String, reflect.Slice, reflect.Map, reflect.Array}, of.Kind())
}

func inJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// Native converts a value to the Go types that templates use.
func Native(v param.Value) any {
	switch x := v.(type) {
	case *param.Map:
		out := map[string]any{}
		for key, e := range x.All() {
			out[key] = Native(e)
		}
		return out
	case []param.Value:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = Native(e)
		}
		return out
	}
	return v
}

// OutsideActions replaces a string everywhere except inside a template's `{{ }}`, where `$` begins a variable.
func OutsideActions(text, before, after string) string {
	var b strings.Builder
	for text != "" {
		plain, rest, found := strings.Cut(text, "{{")
		b.WriteString(strings.ReplaceAll(plain, before, after))
		if !found {
			break
		}
		action, next, _ := strings.Cut(rest, "}}")
		b.WriteString("{{" + action + "}}")
		text = next
	}
	return b.String()
}
