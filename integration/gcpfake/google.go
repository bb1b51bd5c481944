package gcpfake

import (
	_ "embed" // for the description
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/param"
)

//go:embed google.json
var googleText []byte

// description is Google's description of its APIs: their methods, and the fields of their requests.
type description struct {
	Methods []method
	Schemas map[string]map[string]string
}

type method struct {
	ID, Method, Path, Request string
	Query                     []string
}

var google = sync.OnceValue(func() description {
	var d description
	if err := json.Unmarshal(googleText, &d); err != nil {
		panic(err) // the file is part of this package
	}
	return d
})

// find returns the method of a request, and the names in its path.
func (d description) find(verb, path string) (method, map[string]string, error) {
	segments := strings.Split(path, "/")
	for _, m := range d.Methods {
		form := strings.Split(m.Path, "/")
		if m.Method != verb || len(form) != len(segments) {
			continue
		}
		names := map[string]string{}
		for i, part := range form {
			name, variable := strings.CutPrefix(part, "{")
			if !variable && part != segments[i] {
				names = nil
				break
			}
			if value, err := url.PathUnescape(segments[i]); variable && err == nil && value != "" {
				names[strings.TrimSuffix(name, "}")] = value
			}
		}
		if names != nil {
			return m, names, nil
		}
	}
	return method{}, nil, fmt.Errorf("unknown method %s %s", verb, path)
}

// fits returns an error about a part of a request that is not in the description.
func (d description) fits(m method, query url.Values, body string) error {
	for name := range query {
		if !slices.Contains(m.Query, name) {
			return fmt.Errorf("unknown query parameter %q of %s", name, m.ID)
		}
	}
	if m.Request == "" {
		if body != "" {
			return fmt.Errorf("%s accepts no content", m.ID)
		}
		return nil
	}
	v, err := param.ParseJSON(body)
	if err != nil {
		return fmt.Errorf("the content is not JSON: %w", err)
	}
	return d.is(strings.ToLower(m.Request), m.Request, v)
}

// is returns an error if a value does not have a type.
func (d description) is(at, kind string, v param.Value) error {
	if list, isList := strings.CutPrefix(kind, "[]"); isList {
		items, ok := v.([]param.Value)
		if !ok {
			return fmt.Errorf("%s is a list", at)
		}
		for i, item := range items {
			if err := d.is(fmt.Sprintf("%s[%d]", at, i), list, item); err != nil {
				return err
			}
		}
		return nil
	}
	if of, isMapping := strings.CutPrefix(kind, "{}"); isMapping {
		return d.each(at, v, func(string) (string, bool) { return of, true })
	}
	if fields, isSchema := d.Schemas[kind]; isSchema {
		return d.each(at, v, func(key string) (string, bool) {
			of, known := fields[key]
			return of, known
		})
	}
	return scalar(at, kind, v)
}

// each checks the values of a mapping, whose types depend on their keys.
func (d description) each(at string, v param.Value, of func(key string) (string, bool)) error {
	m, isMap := v.(*param.Map)
	if !isMap {
		return fmt.Errorf("%s is an object", at)
	}
	for key, v := range m.All() {
		kind, known := of(key)
		if !known {
			return fmt.Errorf("unknown name %q at '%s': Cannot find field", key, at)
		}
		if err := d.is(at+"."+key, kind, v); err != nil {
			return err
		}
	}
	return nil
}

func scalar(at, kind string, v param.Value) error {
	ok := true
	switch kind {
	case "string":
		_, ok = v.(string)
	case "boolean":
		_, ok = v.(bool)
	case "integer":
		_, ok = v.(int64)
	case "int64":
		text, isText := v.(string)
		_, ok = v.(int64)
		if isText {
			_, err := strconv.ParseInt(text, 10, 64)
			ok = err == nil
		}
	case "number":
		_, isWhole := v.(int64)
		_, isFloat := v.(float64)
		ok = isWhole || isFloat
	}
	if !ok {
		return fmt.Errorf("invalid value at '%s' (%s), %s", at, kind, param.Text(v))
	}
	return nil
}
