package serverconfig

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"zerodag/internal/certificate"
	"zerodag/internal/configuration"
	"zerodag/internal/gate"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// Web holds the settings for where and how the API is served (server.md#settings).
type Web struct {
	Addresses, Admin []string
	AdminBind        string
	RuntimeInfo      string
	AccessLog        string
	AccessForm       string
	Idle             time.Duration      // the limit for a connection without a request
	Parse            time.Duration      // the limit for receiving the headers
	Stalled          time.Duration      // the limit for a request without progress
	Connections      int                // the maximum for each listener
	TLS              *certificate.Files // nil: plain HTTP
	Notes            []string           // warnings for the log
	API              httpapi.Options
	Token            bool // whether bearer tokens are required
}

// webOptions reads where and how the API is served. A server that requires no login accepts only local connections
// unless the administrator configures otherwise.
func (c *CommandLine) webOptions(r *configuration.Reading) (Web, error) {
	bind, port := r.Text("server.bind", c.bind), r.Port("server.port", c.port)
	o := Web{
		Addresses:   []string{address(bind, port)},
		RuntimeInfo: r.Text("server.runtime-info.path", ""),
		AccessLog:   r.Text("server.access-log.path", ""),
		AccessForm:  r.OneOf("server.access-log.pattern", "json", "combined", "common"),
		Idle:        r.Seconds("server.http.no-request-timeout", time.Minute),
		Parse:       r.Seconds("server.http.request-parse-timeout", 10*time.Second),
		Stalled:     r.Seconds("server.http.io-idle-timeout", 5*time.Minute),
	}
	binds := []string{bind}
	if port := r.Port("server.admin.port", c.adminPort); port != 0 || r.Text("server.admin.port", "") != "" {
		adminBind := r.Text("server.admin.bind", cmp.Or(c.adminBind, bind))
		o.Admin, o.AdminBind = []string{address(adminBind, port)}, adminBind
		binds = append(binds, adminBind)
	}
	o.Connections = r.Number("server.http.max-connections", gate.Most(len(binds)))
	o.API = httpapi.Options{
		Version:             c.Version,
		Bound:               cmp.Or(bind, Everywhere),
		Hosts:               r.List("server.http.hosts"),
		AnyOrigin:           c.swagger || r.Bool("server.enable-swagger", false),
		Headers:             r.Tree("server.http.headers."),
		UpgradeIfOlder:      r.Text("server.client-version-check.upgrade-recommended-if-older", ""),
		IncompatibleIfOlder: r.Text("server.client-version-check.api-incompatible-if-older", ""),
		Limits: httpapi.Limits{Attempts: r.Number("api.max_attempts_page_size", 0), Sessions: r.Number("api.max_sessions_page_size", 0),
			Archive: int64(r.Number("api.max_archive_total_size_limit", 0))},
	}
	var err error
	if o.API.Proxies, err = proxies(r.List("server.http.trusted-proxies")); err != nil {
		return o, err
	}
	if o.TLS, err = tlsFiles(r); err != nil {
		return o, err
	}
	if err := o.authentication(r); err != nil {
		return o, err
	}
	if i := slices.IndexFunc(binds, func(b string) bool { return !isLoopback(b) }); i >= 0 && o.TLS == nil && !o.Open() {
		o.Notes = append(o.Notes, fmt.Sprintf("tokens and passwords cross the network unencrypted: the server listens on %s without TLS. Set server.tls.cert-file and server.tls.key-file, or listen on 127.0.0.1 behind a proxy with a certificate", binds[i]))
	}
	if o.Open() && o.API.AnyOrigin {
		return o, errors.New("--enable-swagger (server.enable-swagger) would let every web page use the server, which requires no login: set server.authenticator.basic.username and .password, or server.authenticator.type = token")
	}
	if o.Open() && r.Text("security.profile", "") == configuration.SharedProfile {
		return o, errors.New("security.profile = shared requires a login: set server.authenticator.type = token, or server.authenticator.basic.username and .password")
	}
	for _, b := range binds {
		if o.Open() && !isLoopback(b) && !c.noAuth && !r.Bool("server.allow-unauthenticated", false) {
			return o, fmt.Errorf("the server would serve everyone who can reach %s: set server.authenticator.basic.username and .password, or server.authenticator.type = token, or pass --no-auth", b)
		}
	}
	return o, nil
}

// tlsFiles reads which certificate the listeners use; nil for none.
func tlsFiles(r *configuration.Reading) (*certificate.Files, error) {
	f := certificate.Files{Cert: r.Text("server.tls.cert-file", ""), Key: r.Text("server.tls.key-file", "")}
	switch {
	case f.Cert == "" && f.Key == "":
		return nil, nil
	case f.Cert == "" || f.Key == "":
		return nil, errors.New("configuration keys server.tls.cert-file and server.tls.key-file must both be set: the certificate and its private key, as PEM files")
	}
	return &f, nil
}

// proxies reads addresses and networks, separated by commas or spaces.
func proxies(entries []string) (list []netip.Prefix, err error) {
	for _, entry := range entries {
		p, err := netip.ParsePrefix(entry)
		if a, single := netip.ParseAddr(entry); single == nil {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("configuration key server.http.trusted-proxies: %q is not an address or a network such as 10.0.0.0/8", entry)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}

// Everywhere is the address of a listener for which no address is set.
const Everywhere = "0.0.0.0"

// Open reports whether callers need no login.
func (o Web) Open() bool {
	return !o.Token && len(o.API.Auth.Users) == 0 && o.API.Auth.OIDC == nil
}

// authentication reads the settings for who may call (server.md#who-may-call).
func (o *Web) authentication(r *configuration.Reading) error {
	var err error
	if o.API.Auth.OIDC, err = provider(r); err != nil {
		return err
	}
	name := r.Text("server.authenticator.basic.username", r.Text("basicauth.username", ""))
	password := r.Text("server.authenticator.basic.password", r.Text("basicauth.password", ""))
	admin := r.Bool("server.authenticator.basic.admin", r.Bool("basicauth.admin", false))
	switch kind := r.Text("server.authenticator.type", "basic"); kind {
	case "basic":
		if name == "" {
			return nil
		}
		if password == "" {
			return errors.New("configuration key server.authenticator.basic.password is missing: the user needs a password")
		}
		user := access.User{Name: name, Password: password, Admin: admin}
		if grant := r.Text("server.authenticator.basic.grant", ""); grant != "" {
			right, err := access.ParseRight(grant)
			if err != nil {
				return fmt.Errorf("configuration key server.authenticator.basic.grant: %w", err)
			}
			if admin {
				return errors.New("configuration keys server.authenticator.basic.grant and .admin contradict each other: remove .admin, and grant the role owner if the user should be one")
			}
			user.Role, user.Site, user.Projects = right.Role, right.Site, right.Projects
		}
		o.API.Auth.Users = []access.User{user}
	case "token":
		o.Token = true
		if name != "" {
			o.Notes = append(o.Notes, "server.authenticator.basic.username is ignored, because server.authenticator.type = token accepts only tokens: remove one of them")
		}
	default:
		return fmt.Errorf("configuration key server.authenticator.type is %q: use basic or token", kind)
	}
	return nil
}

// address returns the address to listen on.
func address(bind string, port int) string { return net.JoinHostPort(bind, strconv.Itoa(port)) }

// isLoopback reports whether an address can be reached only from this machine.
func isLoopback(bind string) bool {
	ip := net.ParseIP(bind)
	return bind == "localhost" || ip != nil && ip.IsLoopback()
}
