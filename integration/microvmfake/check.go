package microvmfake

import (
	_ "embed" // for the model
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed model.json
var modelText []byte

// api is the part of the service model that zerodag uses.
type api struct {
	Version, SigningName string
	Operations           map[string]operation
	Shapes               map[string]*shape
}

type operation struct {
	Method, URI, Input, Output string
	Status                     int
	Errors                     []string
}

type shape struct {
	Type     string
	Required []string
	Members  map[string]*member
	Member   *member
	Max, Min *float64
	Pattern  string
	Enum     []string
	Union    bool
	Error    struct{ HTTPStatusCode int }
}

type member struct {
	Shape, Location, LocationName string
}

var model = sync.OnceValue(func() api {
	var a api
	if err := json.Unmarshal(modelText, &a); err != nil {
		panic(err) // the file is part of this package
	}
	return a
})

// find returns the operation of a request and the parameters in its path.
func (a api) find(verb, path string) (string, map[string]string) {
	segments := strings.Split(path, "/")
	for name, o := range a.Operations {
		form := strings.Split(o.URI, "/")
		if o.Method != verb || len(form) != len(segments) {
			continue
		}
		names, fits := map[string]string{}, true
		for i, part := range form {
			key, variable := strings.CutPrefix(part, "{")
			value, err := url.PathUnescape(segments[i])
			switch {
			case !variable:
				fits = fits && part == segments[i]
			case err != nil || value == "":
				fits = false
			default:
				names[strings.TrimSuffix(key, "}")] = value
			}
		}
		if fits {
			return name, names
		}
	}
	return "", nil
}

// request collects the parameters of a request and validates them.
func (a api) request(name string, path map[string]string, query url.Values, body []byte) (map[string]any, error) {
	input := a.Shapes[a.Operations[name].Input]
	in := map[string]any{}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, fmt.Errorf("the body is not an object: %w", err)
		}
	}
	for key := range in {
		if m := input.Members[key]; m == nil || m.Location != "" {
			return nil, fmt.Errorf("%s: unknown name in the body", key)
		}
	}
	for key, values := range query {
		m := input.Members[key]
		if m == nil || m.Location != "querystring" || m.LocationName != key || len(values) != 1 {
			return nil, fmt.Errorf("?%s: unknown query parameter", key)
		}
		in[key] = values[0]
		if a.Shapes[m.Shape].Type == "integer" {
			n, err := strconv.ParseFloat(values[0], 64)
			if err != nil {
				return nil, fmt.Errorf("?%s: %s is not a number", key, values[0])
			}
			in[key] = n
		}
	}
	for key, value := range path {
		in[key] = value
	}
	return in, a.fits(a.Operations[name].Input, "", in)
}

// fits validates a value against a shape.
func (a api) fits(name, at string, v any) error {
	s := a.Shapes[name]
	switch s.Type {
	case "structure":
		return a.structure(s, at, v)
	case "list":
		list, is := v.([]any)
		if !is {
			return fmt.Errorf("%s: not a list", at)
		}
		for i, x := range list {
			if err := a.fits(s.Member.Shape, fmt.Sprintf("%s[%d]", at, i), x); err != nil {
				return err
			}
		}
		return s.within(at, float64(len(list)))
	case "string":
		return s.text(at, v)
	case "integer", "timestamp":
		n, is := v.(float64)
		if !is {
			return fmt.Errorf("%s: not a number", at)
		}
		return s.within(at, n)
	case "boolean":
		if _, is := v.(bool); !is {
			return fmt.Errorf("%s: not true or false", at)
		}
		return nil
	}
	return fmt.Errorf("%s: unknown type %q", at, s.Type)
}

func (a api) structure(s *shape, at string, v any) error {
	m, is := v.(map[string]any)
	if !is {
		return fmt.Errorf("%s: not an object", at)
	}
	for _, key := range s.Required {
		if m[key] == nil {
			return fmt.Errorf("%s.%s: required", at, key)
		}
	}
	if s.Union && len(m) != 1 {
		return fmt.Errorf("%s: must have exactly one member", at)
	}
	for key, x := range m {
		of := s.Members[key]
		if of == nil {
			return fmt.Errorf("%s.%s: unknown name", at, key)
		}
		if err := a.fits(of.Shape, at+"."+key, x); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) text(at string, v any) error {
	text, is := v.(string)
	if !is {
		return fmt.Errorf("%s: not a string", at)
	}
	if s.Enum != nil && !slices.Contains(s.Enum, text) {
		return fmt.Errorf("%s: must be one of %s", at, strings.Join(s.Enum, ", "))
	}
	if s.Pattern != "" && !regexp.MustCompile("^(?:"+s.Pattern+")$").MatchString(text) {
		return fmt.Errorf("%s: must match %s", at, s.Pattern)
	}
	return s.within(at, float64(utf8.RuneCountInString(text)))
}

func (s *shape) within(at string, n float64) error {
	if s.Min != nil && n < *s.Min || s.Max != nil && n > *s.Max {
		return fmt.Errorf("%s: exceeds its limits: %v", at, n)
	}
	return nil
}
