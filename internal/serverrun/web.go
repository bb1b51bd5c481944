package serverrun

import (
	"cmp"
	"context"
	"crypto/tls"
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
	"zerodag/internal/certificate"
	"zerodag/internal/check"
	"zerodag/internal/embedded"
	"zerodag/internal/files"
	"zerodag/internal/gate"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/plainfile"
	"zerodag/internal/serverconfig"
	"zerodag/ui"
)

// web is the API on its listeners.
type web struct {
	server, admin  *http.Server
	listeners      []net.Listener
	adminListeners []net.Listener
	errors         chan error
	stopping       chan struct{}
	closeAccessLog func() error
	client         http.Client // probes the server itself, without a proxy
	scheme         string      // "http" or "https"
}

func newWeb() *web {
	// The certificate is for the name by which callers know the server, not for the address that the probe uses.
	probe := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402 -- it sends nothing secret, to itself
	return &web{client: http.Client{Transport: probe}, errors: make(chan error, 4), stopping: make(chan struct{}),
		closeAccessLog: func() error { return nil }, scheme: "http"}
}

// connect gives the API what it serves.
func connect(o *serverconfig.Web, engine *embedded.Engine) {
	o.API.Node, o.API.Code = engine.Node, check.Code{Syntax: script.Check, Uses: script.Uses}
	o.API.Backup, o.API.Writable, o.API.Vitals = engine.Backup, engine.Writable, engine.Vitals
	o.API.Rekey = engine.DB.RekeySecrets
	o.API.Census, o.API.Meter, o.API.Outbox = engine.DB.Census, engine.Meter, engine.DB
	if alerts := engine.Alerts(); alerts != nil {
		o.API.Alerts = alerts
	}
	o.API.Depths, o.API.Queued, o.API.Servers = engine.DB.Depths, engine.DB.Queued, engine.DB
	o.API.Auth.Tokens, o.API.Auth.Audit, o.API.Auth.Seal, o.API.Auth.Required = engine.DB, engine.DB, engine.Seal, o.Token
}

func startWeb(engine *embedded.Engine, o serverconfig.Web, logger *slog.Logger) (_ *web, err error) {
	w := newWeb()
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(context.Background()))
		}
	}()
	o.API.Logger, o.API.Stopping = logger, w.stopping
	connect(&o, engine)
	logged := func(h http.Handler) http.Handler { return h }
	if o.AccessLog != "" {
		log, err := files.NewAccessLog(o.AccessLog, o.AccessForm)
		if err != nil {
			return nil, err
		}
		w.closeAccessLog = log.Close
		logged = log.Handler
	}
	if o.API.UI, err = ui.Handler(); err != nil {
		return nil, err
	}
	o.API.Memory = access.NewMemory()
	var secure *tls.Config
	if o.TLS != nil {
		cert, err := certificate.Open(*o.TLS, time.Now, logger)
		if err != nil {
			return nil, err
		}
		secure, w.scheme = cert.Config(), "https"
	}
	serve := func(addresses []string, admin bool) (*http.Server, []net.Listener, error) {
		o.API.Admin = admin
		if admin {
			o.API.Bound, o.API.UI = cmp.Or(o.AdminBind, serverconfig.Everywhere), nil
		}
		handler, err := httpapi.New(o.API)
		if err != nil {
			return nil, nil, err
		}
		if o.API.AnyOrigin {
			handler = allowOrigins(handler)
		}
		door := gate.New(o.Connections)
		if secure != nil {
			door.Encrypted()
		}
		server := &http.Server{TLSConfig: secure.Clone(), Handler: logged(door.Handler(unstalled(handler, o.Stalled), "/api/health", endpoint.Live, endpoint.Ready)), ReadHeaderTimeout: o.Parse, IdleTimeout: o.Idle,
			MaxHeaderBytes: gate.MaxHeaderBytes, ConnState: door.State, ConnContext: door.Context, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug)}
		var listeners []net.Listener
		for _, a := range addresses {
			l, err := net.Listen("tcp", a)
			if err != nil {
				return server, listeners, fmt.Errorf("listen: %w (another server may be running: choose a different port with --port)", err)
			}
			listeners = append(listeners, l)
			go func() {
				if err := serveOn(server, door.Listener(l)); !errors.Is(err, http.ErrServerClosed) {
					w.errors <- err
				}
			}()
		}
		return server, listeners, nil
	}
	if w.server, w.listeners, err = serve(o.Addresses, false); err != nil {
		return w, err
	}
	if len(o.Admin) > 0 {
		w.admin, w.adminListeners, err = serve(o.Admin, true)
	}
	return w, err
}

// serveOn serves a listener, with TLS if the server has a configuration for it.
func serveOn(s *http.Server, l net.Listener) error {
	if s.TLSConfig == nil {
		return s.Serve(l)
	}
	return s.ServeTLS(l, "", "")
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

// live asks the first listener whether the server is serving requests.
func (w *web) live(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, pageAddress(w.scheme, w.listeners[0].Addr())+strings.TrimPrefix(endpoint.Live, "/"), nil)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("probe: the answer of %s is %s", endpoint.Live, answer.Status)
	}
	return nil
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

// writeRuntimeInfo writes the server's address for other programs.
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
	if err := plainfile.Write(path, text); err != nil {
		return fmt.Errorf("write server.runtime-info.path: %w", err)
	}
	return nil
}

// allowOrigins lets pages from other origins call the API.
func allowOrigins(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept")
		h.ServeHTTP(w, r)
	})
}

// unstalled ends requests that make no progress for the given time: each transferred piece restarts the timer.
func unstalled(h http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		control.SetReadDeadline(time.Now().Add(limit)) // only test connections do not support it
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
