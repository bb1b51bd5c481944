package run

import (
	"crypto/rand"
	"errors"
	"regexp"
	"strings"
	"unsafe" // only for the identity of strings

	"zerodag/engine/param"
	"zerodag/operators"
)

// references records which `${secret:key}` of a run's parameters a user wrote: in a workflow, an `_export` or a project
// file. Evaluation puts a mark that data cannot guess into each of them; the marks are removed before an operator sees
// a parameter. Anything else that looks like a reference is data: for example, text that another task fetched must not
// decide which secrets are given to whom.
//
// A string is recognized by the address of its bytes, not by its content: a server from which a task fetches can send a
// string that looks exactly like one of the project's strings.
type references struct {
	mark    string
	form    *regexp.Regexp // of a reference with its mark
	written map[*byte]writtenText
	keys    map[string]bool // keys of the task's own config, which are never evaluated
}

// writtenText is a string with references, without and with their marks.
type writtenText struct{ text, marked string }

func newReferences() *references {
	return &references{mark: rand.Text(), written: map[*byte]writtenText{}, keys: map[string]bool{}}
}

// clean removes the marks from a value and records where they were. Values without marks are shared with the result.
func (r *references) clean(v param.Value) param.Value {
	switch x := v.(type) {
	case string:
		return r.cleanText(x)
	case *param.Map:
		return r.cleanMap(x)
	case []param.Value:
		if !r.isMarked(x) {
			return x
		}
		list := make([]param.Value, len(x))
		for i, e := range x {
			list[i] = r.clean(e)
		}
		return list
	}
	return v
}

func (r *references) cleanMap(m *param.Map) *param.Map {
	if !r.isMarked(m) {
		return m
	}
	out := m.Clone()
	for k, v := range m.All() {
		out.Set(k, r.clean(v))
	}
	return out
}

func (r *references) cleanText(marked string) string {
	if !strings.Contains(marked, r.mark) {
		return marked
	}
	text := strings.ReplaceAll(marked, r.mark, "")
	if text != "" {
		r.written[unsafe.StringData(text)] = writtenText{text, marked} // #nosec G103 -- the address is only compared: it tells a text that was made here from an equal one
	}
	return text
}

// isMarked reports whether a value has a mark in one of its strings.
func (r *references) isMarked(v param.Value) bool {
	switch x := v.(type) {
	case string:
		return strings.Contains(x, r.mark)
	case *param.Map:
		for i := range x.Len() {
			if _, v := x.At(i); r.isMarked(v) {
				return true
			}
		}
	case []param.Value:
		for _, e := range x {
			if r.isMarked(e) {
				return true
			}
		}
	}
	return false
}

// knowKeys records references in the keys of a task's own config: keys are never evaluated, so they have no marks.
func (r *references) knowKeys(v param.Value) {
	switch x := v.(type) {
	case *param.Map:
		for k, v := range x.All() {
			if operators.HasSecret(k) {
				r.keys[k] = true
			}
			r.knowKeys(v)
		}
	case []param.Value:
		for _, e := range x {
			r.knowKeys(e)
		}
	}
}

func (r *references) marked() *regexp.Regexp {
	if r.form == nil {
		r.form = regexp.MustCompile(`(?s)\$` + r.mark + `\{(.*?):(.+?)\}`)
	}
	return r.form
}

// Replace implements operators.References.
func (r *references) Replace(text string, secret func(key string) (string, error)) (string, error) {
	if r.keys[text] {
		return operators.ReplaceForm(operators.SecretForm(), text, nil, secret)
	}
	marked, ok := r.find(text)
	if !ok {
		return text, nil
	}
	out, err := operators.ReplaceForm(r.marked(), marked, nil, secret)
	if config := (*param.ConfigError)(nil); errors.As(err, &config) && strings.Contains(config.Message, r.mark) {
		err = param.Errorf("%s", strings.ReplaceAll(config.Message, r.mark, ""))
	}
	return strings.ReplaceAll(out, r.mark, ""), err
}

// ReplacePart implements operators.References.
func (r *references) ReplacePart(text, part string, secret func(key string) (string, error)) (string, error) {
	marked, _ := r.find(text)
	known := map[string]bool{}
	for _, ref := range r.marked().FindAllString(marked, -1) {
		known[strings.ReplaceAll(ref, r.mark, "")] = true
	}
	return operators.ReplaceForm(operators.SecretForm(), part, known, secret)
}

// find returns written text with its marks.
func (r *references) find(text string) (marked string, ok bool) {
	if text == "" {
		return "", false
	}
	w, ok := r.written[unsafe.StringData(text)] // #nosec G103 -- the address is only compared: it tells a text that was made here from an equal one
	return w.marked, ok && len(w.text) == len(text)
}
