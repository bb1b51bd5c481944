package http

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// request is the request of a task, as described by its parameters.
type request struct {
	task       *operators.Task
	params     *operators.Params
	settings   settings
	connection operators.HTTPOptions
	method     string
	retry      bool
	retryFor   time.Duration // time limit for retries; 0 for none
	uri        *url.URL
	shown      string // the URI for logs and messages
	headers    []header
	body       *body // nil for none
}

// header is a header that the task sends; secret ones are only for the task's own server.
type header struct {
	name, value string
	secret      bool
}

func newRequest(t *operators.Task) (*request, error) {
	p, err := t.Params.WithDefaults("http")
	if err != nil {
		return nil, err
	}
	r := &request{task: t, params: p}
	if r.settings, err = readSettings(t.Config); err != nil {
		return nil, err
	}
	if r.connection, err = r.settings.connection(p); err != nil {
		return nil, err
	}
	method, err := p.StringOr("method", http.MethodGet)
	if err != nil {
		return nil, err
	}
	r.method = strings.ToUpper(method)
	if r.retry, err = p.BoolOr("retry", safe(r.method)); err != nil {
		return nil, err
	}
	if r.retryFor, err = readRetryFor(p, t.Level); err != nil {
		return nil, err
	}
	if r.headers, err = r.readHeaders(); err != nil {
		return nil, err
	}
	if err := r.authorize(); err != nil {
		return nil, err
	}
	r.body, err = r.readBody()
	return r, err
}

// usualRetryFor is how long a request is retried in files with `zerodag: 1`. In other files it is retried forever, as
// in Digdag.
const usualRetryFor = 10 * time.Minute

func readRetryFor(p *operators.Params, level int) (time.Duration, error) {
	if v, _ := p.Get("retry_for"); v == "unlimited" {
		return 0, nil
	}
	usual := usualRetryFor
	if level == 0 {
		usual = 0
	}
	limit, err := p.DurationOr("retry_for", usual)
	if err == nil && p.Has("retry_for") && limit <= 0 {
		return 0, param.Errorf("'retry_for' must be longer than 0, such as 10m, or unlimited; `retry: false` disables retries")
	}
	return limit, err
}

// safe reports whether a method may be retried by default.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

func (r *request) readHeaders() ([]header, error) {
	entries, err := operators.ReadOr(r.params, "headers", param.AsList, nil)
	if err != nil {
		return nil, err
	}
	var headers []header
	for _, entry := range entries {
		m, _ := entry.(*param.Map)
		if m.Len() != 1 {
			return nil, param.Errorf("Invalid header: %s", param.Text(entry))
		}
		key, v := m.At(0)
		text, err := param.AsString(key, v)
		if err != nil {
			return nil, err
		}
		name, value, err := r.secretPair(key, text)
		if err != nil {
			return nil, err
		}
		h := header{name, value, name != key || value != text}
		if !slices.Contains(headers, h) { // Digdag sends duplicates only once
			headers = append(headers, h)
		}
	}
	return headers, nil
}

func (r *request) secretPair(key, value string) (string, string, error) {
	key, err := r.task.SecretText(key)
	if err != nil {
		return "", "", err
	}
	value, err = r.task.SecretText(value)
	return key, value, err
}

// secretParts is secretPair for parts of parsed text.
func (r *request) secretParts(whole, key, value string) (string, string, error) {
	key, err := r.task.SecretPart(whole, key)
	if err != nil {
		return "", "", err
	}
	value, err = r.task.SecretPart(whole, value)
	return key, value, err
}

// authorize puts the secrets of http> before the task's own headers.
func (r *request) authorize() error {
	authorization, err := r.task.OptionalSecret("http.authorization")
	if err != nil {
		return err
	}
	if authorization == "" {
		user, found, err := r.task.Secrets.Get("http.user")
		if err != nil || !found {
			return err
		}
		password, err := r.task.OptionalSecret("http.password")
		if err != nil {
			return err
		}
		basic := &http.Request{Header: http.Header{}}
		basic.SetBasicAuth(user, password)
		authorization = basic.Header.Get("Authorization")
	}
	r.headers = append([]header{{"Authorization", authorization, true}}, r.headers...)
	return nil
}

// setCommandURI takes the URI from the command, which may refer to secrets.
func (r *request) setCommandURI() error {
	command, err := r.params.String("_command")
	if err != nil {
		return err
	}
	text, err := r.task.SecretText(command)
	if err != nil {
		return err
	}
	return r.setURI(text, operators.HasSecret(command))
}

// setURI sets the URI with the task's query, and the form of it that may be shown.
func (r *request) setURI(text string, isSecret bool) error {
	uri, err := url.Parse(text)
	if err == nil && uri.Host == "" {
		err = operators.Failf("no host")
	}
	if what := illegal(text); what != "" {
		err = operators.Failf("%s", what)
	}
	if err != nil {
		if isSecret {
			text, err = "***", operators.Failf("it is a secret")
		}
		return operators.Faultf("illegal argument", "Invalid URI: %s (%s)", text, plainReason(err))
	}
	query, secretQuery, err := r.query(uri.RawQuery)
	if err != nil {
		return err
	}
	shown := *uri
	uri.RawQuery, shown.RawQuery = query, query
	if secretQuery {
		shown.RawQuery = "***"
	}
	shown.User = nil
	r.uri, r.shown = uri, shown.String()
	if isSecret {
		r.shown = uri.Scheme + "://***"
	}
	return nil
}

// query appends the task's `query`, a mapping or string, to the URI's; it reports whether it contains a secret.
func (r *request) query(own string) (string, bool, error) {
	v, _ := r.params.Get("query")
	if v == nil {
		return own, false, nil
	}
	hidden := operators.HasSecret(param.Text(v))
	var pairs []string
	if own != "" {
		pairs = append(pairs, own)
	}
	whole, isText := v.(string)
	mapping, err := param.ParseMap("query", v)
	if err != nil {
		text, err := param.AsString("query", v)
		if err != nil {
			return "", false, err
		}
		if text, err = r.task.SecretText(text); text != "" {
			pairs = append(pairs, encodeQuery(text))
		}
		return strings.Join(pairs, "&"), hidden, err
	}
	for key, v := range mapping.All() {
		text, err := param.AsString(key, v)
		if err != nil {
			return "", false, err
		}
		name, value, err := r.secretPair(key, text)
		if isText {
			name, value, err = r.secretParts(whole, key, text)
		}
		if err != nil {
			return "", false, err
		}
		pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(value))
	}
	return strings.Join(pairs, "&"), hidden, nil
}

// encodeQuery encodes a query again, so that users may write it with spaces.
func encodeQuery(text string) string {
	var pairs []string
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name != "" {
			pairs = append(pairs, url.QueryEscape(decoded(name))+"="+url.QueryEscape(decoded(value)))
		}
	}
	return strings.Join(pairs, "&")
}

func decoded(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}
