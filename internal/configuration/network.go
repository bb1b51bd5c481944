package configuration

import (
	"net"
	"net/http"
	"net/url"

	"zerodag/internal/egress"
	"zerodag/operators"
)

// Network returns the network through which tasks connect; nil if they may connect to any address.
func (r *Reading) Network() operators.Network {
	if r.Bool("security.local_addresses", true) {
		return nil
	}
	return &egress.Dialer{Except: r.proxies()}
}

// proxies returns the addresses of the proxies that the administrator configured: requests may use them at any address.
func (r *Reading) proxies() []string {
	var all []string
	if host := r.Text("config.http.proxy.host", ""); host != "" {
		all = append(all, net.JoinHostPort(host, r.Text("config.http.proxy.port", "")))
	}
	for _, scheme := range []string{"http", "https"} {
		proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "proxied.invalid"}})
		if err == nil && proxy != nil {
			all = append(all, net.JoinHostPort(proxy.Hostname(), portOf(proxy)))
		}
	}
	return all
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme]
}
