package td

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/td/api"
)

// mostRedirects is how many redirects a call follows.
const mostRedirects = 8

// connect reads the account and address for the task's calls. The key is looked up last, so that mistakes in parameters
// are reported first.
func (w *work) connect() error {
	if !w.anywhere {
		if err := w.readDatabase(); err != nil {
			return err
		}
	}
	key, err := w.key()
	if err != nil {
		return err
	}
	base, err := w.address()
	if err != nil {
		return err
	}
	proxy, err := w.proxy()
	if err != nil {
		return err
	}
	w.client = &api.Client{HTTP: w.http(proxy), Base: base, Key: key, Pauses: w.pauses,
		Renew: func() (string, error) {
			w.log(operators.Debug, "apikey will be tried to update by retrying")
			return w.key()
		}}
	return nil
}

// close ends the connections of the run.
func (w *work) close() {
	if w.client != nil {
		w.client.HTTP.CloseIdleConnections()
	}
}

func (w *work) readDatabase() error {
	name, found, err := w.Secrets.Get("td.database")
	if err == nil && !found {
		name, err = w.params.String("database")
	} else {
		w.params.Get("database") // it does not count as unused: the secret takes precedence
	}
	if err != nil {
		return err
	}
	if w.database = strings.TrimSpace(name); w.database == "" {
		return param.Errorf("Parameter 'database' is empty")
	}
	return nil
}

func (w *work) key() (string, error) {
	key, found, err := w.Secrets.Get("td.apikey")
	key = strings.TrimSpace(key)
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", operators.MissingSecret("td.apikey", param.Errorf("The 'td.apikey' secret is missing"))
	case key == "":
		return "", param.Errorf("The 'td.apikey' secret is empty")
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", param.Errorf("The 'td.apikey' secret contains characters that are invalid in keys: set it again, without a trailing line break")
	}
	return key, nil
}

// address returns the address of the API, without a path.
func (w *work) address() (string, error) {
	fallback, err := w.config.StringOr("default_endpoint", defaultEndpoint)
	if err != nil {
		return "", err
	}
	endpoint, err := setting(w, "endpoint", w.params, "endpoint", param.AsString, fallback)
	if err != nil {
		return "", err
	}
	tls, err := setting(w, "use_ssl", w.params, "use_ssl", param.AsBool, true)
	if err != nil {
		return "", err
	}
	scheme := "http"
	if tls {
		scheme = "https"
	}
	at, err := url.Parse(scheme + "://" + endpoint)
	if err != nil || at.Host != endpoint || at.Host == "" {
		return "", param.Errorf("'endpoint' must be a host name, such as %s, without https:// and without a path", defaultEndpoint)
	}
	return at.String(), nil
}

// proxy returns the address of the task's proxy; "" leaves it to the host.
func (w *work) proxy() (string, error) {
	own, err := operators.ReadOr(w.params, "proxy", param.AsMap, nil)
	if err != nil {
		return "", err
	}
	p := operators.NewParams(own)
	on, err := setting(w, "proxy.enabled", p, "enabled", param.AsBool, false)
	if !on || err != nil {
		return "", err
	}
	host, err := setting(w, "proxy.host", p, "host", param.AsString, "localhost")
	if err != nil {
		return "", err
	}
	port, err := setting(w, "proxy.port", p, "port", param.AsInt, 8080)
	if err != nil {
		return "", err
	}
	user, err := setting(w, "proxy.user", p, "user", param.AsString, "")
	if err != nil {
		return "", err
	}
	password, err := setting(w, "proxy.password", p, "password", param.AsString, "")
	if err != nil {
		return "", err
	}
	tls, err := p.BoolOr("use_ssl", false)
	if err != nil {
		return "", err
	}
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.FormatInt(port, 10))}
	if tls {
		at.Scheme = "https"
	}
	if user != "" || password != "" {
		at.User = url.UserPassword(user, password)
	}
	return at.String(), nil
}

// setting reads a secret `td.*` or, if there is none, a parameter.
func setting[T any](w *work, secret string, p *operators.Params, key string, as func(string, param.Value) (T, error), otherwise T) (T, error) {
	p.Get(key) // it does not count as unused if the secret takes precedence
	text, found, err := w.Secrets.Get("td." + secret)
	if err != nil {
		return otherwise, err
	}
	if found {
		v, err := as("td."+secret, strings.TrimSpace(text))
		if err != nil {
			return otherwise, param.Errorf("The 'td.%s' secret is invalid: set it to true or false, or to a number if it is a port", secret)
		}
		return v, nil
	}
	return operators.ReadOr(p, key, as, otherwise)
}
