package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/expr/script"
	"zerodag/internal/embedded"
	"zerodag/internal/files"
	"zerodag/internal/gate"
	"zerodag/internal/httpapi"
	"zerodag/ui"
)

// webOptions say where and how the API is served (server.md#settings).
type webOptions struct {
	addresses, admin []string
	adminBind        string
	runtimeInfo      string
	accessLog        string
	accessForm       string
	idle             time.Duration // a connection without a request
	parse            time.Duration // of the headers
	stalled          time.Duration // a request of which nothing comes or goes
	connections      int           // of each listener, at most
	api              httpapi.Options
	token            bool // bearer tokens are required
}

func (c *serverCommand) webOptions(r *reading) (webOptions, error) {
	bind, port := r.text("server.bind", c.bind), r.port("server.port", c.port)
	o := webOptions{
		addresses:   []string{address(bind, port)},
		runtimeInfo: r.text("server.runtime-info.path", ""),
		accessLog:   r.text("server.access-log.path", ""),
		accessForm:  r.oneOf("server.access-log.pattern", "json", "combined", "common"),
		idle:        r.seconds("server.http.no-request-timeout", time.Minute),
		parse:       r.seconds("server.http.request-parse-timeout", 10*time.Second),
		stalled:     r.seconds("server.http.io-idle-timeout", 5*time.Minute),
	}
	binds := []string{bind}
	if port := r.port("server.admin.port", c.adminPort); port != 0 || r.text("server.admin.port", "") != "" {
		adminBind := r.text("server.admin.bind", cmp.Or(c.adminBind, bind))
		o.admin, o.adminBind = []string{address(adminBind, port)}, adminBind
		binds = append(binds, adminBind)
	}
	o.connections = r.number("server.http.max-connections", gate.Most(len(binds)))
	o.api = httpapi.Options{
		Version:             version(),
		Bound:               cmp.Or(bind, everywhere),
		Hosts:               strings.FieldsFunc(r.text("server.http.hosts", ""), func(c rune) bool { return c == ',' || c == ' ' }),
		AnyOrigin:           c.swagger || r.bool("server.enable-swagger", false),
		Headers:             r.tree("server.http.headers."),
		UpgradeIfOlder:      r.text("server.client-version-check.upgrade-recommended-if-older", ""),
		IncompatibleIfOlder: r.text("server.client-version-check.api-incompatible-if-older", ""),
		Limits: httpapi.Limits{Attempts: r.number("api.max_attempts_page_size", 0), Sessions: r.number("api.max_sessions_page_size", 0),
			Archive: int64(r.number("api.max_archive_total_size_limit", 0))},
	}
	if err := o.authentication(r); err != nil {
		return o, err
	}
	if o.open() && o.api.AnyOrigin {
		return o, errors.New("--enable-swagger (server.enable-swagger) would let every web page use the server, which asks for no login: set server.authenticator.basic.username and .password, or server.authenticator.type = token")
	}
	if o.open() && r.text("security.profile", "") == sharedProfile {
		return o, errors.New("security.profile = shared is for several people, and nobody has to log in: set server.authenticator.type = token, or server.authenticator.basic.username and .password")
	}
	for _, b := range binds {
		if o.open() && !isLoopback(b) && !c.noAuth && !r.bool("server.allow-unauthenticated", false) {
			return o, fmt.Errorf("the server would serve everybody who reaches %s: set server.authenticator.basic.username and .password, or server.authenticator.type = token, or say --no-auth", b)
		}
	}
	return o, nil
}

// everywhere is what no address at all listens at.
const everywhere = "0.0.0.0"

// open says that callers need no login.
func (o webOptions) open() bool {
	return !o.token && len(o.api.Auth.Users) == 0 && o.api.Auth.OIDC == nil
}

// authentication reads who may call (server.md#who-may-call).
func (o *webOptions) authentication(r *reading) error {
	var err error
	if o.api.Auth.OIDC, err = provider(r); err != nil {
		return err
	}
	name := r.text("server.authenticator.basic.username", r.text("basicauth.username", ""))
	password := r.text("server.authenticator.basic.password", r.text("basicauth.password", ""))
	admin := r.bool("server.authenticator.basic.admin", r.bool("basicauth.admin", false))
	switch kind := r.text("server.authenticator.type", "basic"); kind {
	case "basic":
		if name == "" {
			return nil
		}
		if password == "" {
			return errors.New("configuration key server.authenticator.basic.password is missing: a user without a password is none")
		}
		o.api.Auth.Users = []httpapi.User{{Name: name, Password: password, Admin: admin}}
	case "token":
		o.token = true
	default:
		return fmt.Errorf("configuration key server.authenticator.type is %q: use basic or token", kind)
	}
	return nil
}

// web is the API on its listeners.
type web struct {
	server, admin  *http.Server
	listeners      []net.Listener
	adminListeners []net.Listener
	errors         chan error
	stopping       chan struct{}
	closeAccessLog func() error
}

func startWeb(engine *embedded.Engine, o webOptions, logger *slog.Logger) (_ *web, err error) {
	w := &web{errors: make(chan error, 4), stopping: make(chan struct{}), closeAccessLog: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(context.Background()))
		}
	}()
	o.api.Node, o.api.Logger, o.api.Stopping = engine.Node, logger, w.stopping
	o.api.Syntax = script.Check
	o.api.Backup, o.api.Writable, o.api.Vitals = engine.Backup, engine.Writable, engine.Vitals
	o.api.Depths, o.api.Queued = engine.DB.Depths, engine.DB.Queued
	o.api.Auth.Tokens, o.api.Auth.Audit, o.api.Auth.Seal, o.api.Auth.Required = engine.DB, engine.DB, engine.Seal, o.token
	access := func(h http.Handler) http.Handler { return h }
	if o.accessLog != "" {
		log, err := files.NewAccessLog(o.accessLog, o.accessForm)
		if err != nil {
			return nil, err
		}
		w.closeAccessLog = log.Close
		access = log.Handler
	}
	if o.api.UI, err = ui.Handler(); err != nil {
		return nil, err
	}
	serve := func(addresses []string, admin bool) (*http.Server, []net.Listener, error) {
		o.api.Admin = admin
		if admin {
			o.api.Bound, o.api.UI = cmp.Or(o.adminBind, everywhere), nil
		}
		handler, err := httpapi.New(o.api)
		if err != nil {
			return nil, nil, err
		}
		if o.api.AnyOrigin {
			handler = allowOrigins(handler)
		}
		door := gate.New(o.connections)
		server := &http.Server{Handler: access(door.Handler(unstalled(handler, o.stalled), "/api/health")), ReadHeaderTimeout: o.parse, IdleTimeout: o.idle,
			MaxHeaderBytes: gate.MaxHeaderBytes, ConnState: door.State, ConnContext: door.Context, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug)}
		var listeners []net.Listener
		for _, a := range addresses {
			l, err := net.Listen("tcp", a)
			if err != nil {
				return server, listeners, fmt.Errorf("listen: %w (another server may run there: choose another port with --port)", err)
			}
			listeners = append(listeners, l)
			go func() {
				if err := server.Serve(door.Listener(l)); !errors.Is(err, http.ErrServerClosed) {
					w.errors <- err
				}
			}()
		}
		return server, listeners, nil
	}
	if w.server, w.listeners, err = serve(o.addresses, false); err != nil {
		return w, err
	}
	if len(o.admin) > 0 {
		w.admin, w.adminListeners, err = serve(o.admin, true)
	}
	return w, err
}

// failed waits for a listener to fail, or for close.
func (w *web) failed() error {
	select {
	case err := <-w.errors:
		return fmt.Errorf("serve: %w", err)
	case <-w.stopping:
		return nil
	}
}

// drain is how long requests may take to end when the server stops.
const drain = 10 * time.Second

func (w *web) close(ctx context.Context) error {
	close(w.stopping)
	ctx, cancel := context.WithTimeout(ctx, drain)
	defer cancel()
	var errs []error
	for _, s := range []*http.Server{w.server, w.admin} {
		if s == nil {
			continue
		}
		if err := s.Shutdown(ctx); err != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(append(errs, w.closeAccessLog())...)
}

// writeRuntimeInfo tells other programs where the server listens.
func (w *web) writeRuntimeInfo(path string) error {
	if path == "" {
		return nil
	}
	type hostPort struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	}
	list := func(listeners []net.Listener) []hostPort {
		all := []hostPort{}
		for _, l := range listeners {
			name, port, _ := net.SplitHostPort(l.Addr().String())
			number, _ := strconv.Atoi(port)
			all = append(all, hostPort{name, number})
		}
		return all
	}
	text, err := json.Marshal(map[string]any{"local_addresses": list(w.listeners), "local_admin_addresses": list(w.adminListeners)})
	if err != nil {
		return err
	}
	if err := files.WriteAtomic(path, text); err != nil {
		return fmt.Errorf("write server.runtime-info.path: %w", err)
	}
	return nil
}

// allowOrigins lets pages of other origins call the API.
func allowOrigins(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept")
		h.ServeHTTP(w, r)
	})
}

// unstalled ends requests of which nothing came or went for a time: each piece that does
// gives it anew.
func unstalled(h http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		control.SetReadDeadline(time.Now().Add(limit)) // a connection that cannot is a test's
		r.Body = &stallingBody{ReadCloser: r.Body, again: func() { control.SetReadDeadline(time.Now().Add(limit)) }}
		h.ServeHTTP(&stallingWriter{ResponseWriter: w, again: func() { control.SetWriteDeadline(time.Now().Add(limit)) }}, r)
		control.SetWriteDeadline(time.Time{})
	})
}

type stallingBody struct {
	io.ReadCloser
	again func()
}

func (b *stallingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.again()
	return n, err
}

type stallingWriter struct {
	http.ResponseWriter
	again func()
}

func (s *stallingWriter) Write(p []byte) (int, error) {
	s.again()
	return s.ResponseWriter.Write(p)
}

// Unwrap lets the handler flush.
func (s *stallingWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
