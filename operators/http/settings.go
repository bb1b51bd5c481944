package http

import (
	"net"
	"strconv"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// settings are the host's settings under `config.http`.
type settings struct {
	allowUserProxy bool
	systemProxy    string
	maxRedirects   int64
	maxStored      int64
	userAgent      string
}

func readSettings(config *param.Map) (settings, error) {
	p := operators.NewParams(config.Map("http"))
	var s settings
	var err error
	if s.allowUserProxy, err = p.BoolOr("allow_user_proxy", true); err != nil {
		return s, err
	}
	if s.systemProxy, err = proxy(p); err != nil {
		return s, err
	}
	if s.maxRedirects, err = p.IntOr("max_redirects", defaultMaxRedirects); err != nil {
		return s, err
	}
	if s.maxStored, err = p.IntOr("max_stored_response_content_size", defaultMaxStored); err != nil {
		return s, err
	}
	s.userAgent, err = p.StringOr("user_agent", "Digdag (zerodag)")
	return s, err
}

// proxy reads the mapping `proxy` as a URL, "" if there is none or it is disabled.
func proxy(p *operators.Params) (string, error) {
	m, err := operators.ReadOr(p, "proxy", param.AsMap, nil)
	if err != nil {
		return "", err
	}
	o := operators.NewParams(m)
	if on, err := o.BoolOr("enabled", false); !on || err != nil {
		return "", err
	}
	host, err := o.String("host")
	if err != nil {
		return "", err
	}
	port, err := o.Int("port")
	if err != nil {
		return "", err
	}
	tls, err := o.BoolOr("tls", false)
	if err != nil {
		return "", err
	}
	scheme := "http"
	if tls {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.FormatInt(port, 10)), nil
}

// connection reads the options of the task that affect its connection.
func (s settings) connection(p *operators.Params) (operators.HTTPOptions, error) {
	var o operators.HTTPOptions
	timeout, err := p.IntOr("timeout", 30)
	if err != nil {
		return o, err
	}
	if o.Insecure, err = p.BoolOr("insecure", false); err != nil {
		return o, err
	}
	follow, err := p.BoolOr("follow_redirects", true)
	if err != nil {
		return o, err
	}
	if follow {
		o.MaxRedirects = int(s.maxRedirects)
	}
	o.Timeout = time.Duration(timeout) * time.Second
	user, err := proxy(p)
	if err != nil {
		return o, err
	}
	o.ProxyURL = s.systemProxy
	if user != "" && s.allowUserProxy {
		o.ProxyURL = user
	}
	return o, nil
}
