package http

import (
	"net/url"
	"strings"

	"zerodag/engine/param"
)

// body is a request's content with its Content-Type.
type body struct {
	text, kind string
	secret     bool // it contains a secret
}

// readBody builds the content from `content`, `content_format` and `content_type` (operators/http/README.md); nil for
// none.
func (r *request) readBody() (*body, error) {
	format, err := r.params.StringOr("content_format", "")
	if err != nil {
		return nil, err
	}
	kind, err := r.params.StringOr("content_type", "")
	if err != nil {
		return nil, err
	}
	content, _ := r.params.Get("content")
	if content == nil {
		return nil, nil
	}
	b, err := r.render(content, strings.ToLower(format))
	if err == nil && kind != "" && b.kind != formType {
		b.kind = kind
	}
	return b, err
}

const formType = "application/x-www-form-urlencoded"

func (r *request) render(content param.Value, format string) (*body, error) {
	_, isMap := content.(*param.Map)
	_, isList := content.([]param.Value)
	if format == "" {
		format = "text"
		if isMap || isList {
			format = "json"
		}
	}
	switch {
	case format == "json":
	case format == "form" && isMap:
	case format == "text" && !isMap && !isList:
	default:
		return nil, param.Errorf("Invalid content format for %ss: '%s'", param.KindOf(content), format)
	}
	open, err := r.withSecrets(content)
	if err != nil {
		return nil, err
	}
	secret := !param.Equal(open, content)
	switch format {
	case "json":
		return &body{param.Text(open), "application/json", secret}, nil
	case "form":
		text, err := form(open.(*param.Map))
		return &body{text, formType, secret}, err
	}
	text, err := param.AsString("content", open)
	return &body{text, "plain/text", secret}, err // Digdag's name for it
}

func form(fields *param.Map) (string, error) {
	var pairs []string
	for name, v := range fields.All() {
		text := "null"
		if v != nil {
			var err error
			if text, err = param.AsString(name, v); err != nil {
				return "", param.Errorf("Invalid form content field value: %s", param.Text(v))
			}
		}
		pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(text))
	}
	return strings.Join(pairs, "&"), nil
}

// withSecrets replaces secrets in all strings in the content, including keys.
func (r *request) withSecrets(v param.Value) (param.Value, error) {
	switch x := v.(type) {
	case string:
		return r.task.SecretText(x)
	case []param.Value:
		list := make([]param.Value, len(x))
		for i, e := range x {
			var err error
			if list[i], err = r.withSecrets(e); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *param.Map:
		mapping := param.New()
		for k, e := range x.All() {
			key, err := r.task.SecretText(k)
			if err != nil {
				return nil, err
			}
			value, err := r.withSecrets(e)
			if err != nil {
				return nil, err
			}
			mapping.Set(key, value)
		}
		return mapping, nil
	}
	return v, nil
}
