package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/check"
	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
	"zerodag/internal/node"
)

// Options are what an API is made of. Zero values of optional parts are named.
type Options struct {
	Node    *node.Node
	Version string
	Auth    Auth
	// Headers are added to every answer below /api (server.http.headers.*).
	Headers map[string]string
	// Bound is the address that is listened at: where there is no login, requests must name
	// it, localhost, or one of Hosts. "" looks at no names: the program that mounts the
	// handler says who may call.
	Bound string
	// Hosts are further names of this server (server.http.hosts).
	Hosts []string
	// AnyOrigin lets pages of every origin call (server.enable-swagger): only where callers log in.
	AnyOrigin bool
	// UI serves everything that is not below /api; nil answers 404.
	UI http.Handler
	// Admin serves /api/admin: on the administrators' own listener only.
	Admin bool
	// Backup writes all data of all sites; nil where the store has backups of its own.
	Backup func(ctx context.Context, w io.Writer) error
	// Writable says whether what is kept can be written now; nil looks only whether it is read.
	Writable func(ctx context.Context) error
	// Vitals says how full the server is; nil where others watch over that.
	Vitals func(ctx context.Context) (host.Vitals, error)
	// Redrive sends dead letters back and says how many there were; nil where queues have none.
	Redrive func(ctx context.Context) (int, error)
	// Depths counts what the queues hold, of all sites; nil where that is not known.
	Depths func(ctx context.Context) ([]host.Depth, error)
	// Queued lists messages of a queue in the order sent, from behind a place; nil where they can only be received.
	Queued func(ctx context.Context, queue string, after int64, n int) ([]host.Queued, error)
	// Dead are the dead letters of the queues; none where queues have none.
	Dead []host.DeadLetters
	// Code is what is known of the expressions in texts, for checks of files.
	Code check.Code
	// ArchiveType is what revisions say of where their archive is: "db".
	ArchiveType string
	// Direct lets clients be sent to the store for archives and logs where it gives links.
	Direct bool
	// Uploads hands out slots for archives; nil where they come by PUT /api/projects only.
	Uploads Uploads
	// UpgradeIfOlder and IncompatibleIfOlder are client versions (server.client-version-check.*).
	UpgradeIfOlder, IncompatibleIfOlder string
	// Stopping is closed when the server shuts down: streams end. nil is never.
	Stopping <-chan struct{}
	Limits   Limits
	Logger   *slog.Logger     // slog.Default()
	Now      func() time.Time // time.Now
}

// Limits are the bounds of requests. Zero is the default named.
type Limits struct {
	Attempts int           // page_size of attempts: 100
	Sessions int           // page_size of sessions: 100
	Archive  int64         // bytes of an archive in a request: 100 MiB
	Upload   int64         // bytes of an archive in a slot: 100 MiB
	Body     int64         // bytes of a JSON body, unpacked: 10 MiB
	Request  time.Duration // of a request: 1 min
	Transfer time.Duration // of an upload or download: 15 min
	Watch    time.Duration // between two looks at the logs of a stream: 1 s
	// Stream ends a stream after this long, or once it has told something, and the client comes
	// back with its position: where an answer is handed over only when it is whole. 0 is never.
	Stream time.Duration
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Attempts: cmp.Or(l.Attempts, 100),
		Sessions: cmp.Or(l.Sessions, 100),
		Archive:  cmp.Or(l.Archive, 100<<20),
		Upload:   cmp.Or(l.Upload, 100<<20),
		Body:     cmp.Or(l.Body, 10<<20),
		Request:  cmp.Or(l.Request, time.Minute),
		Transfer: cmp.Or(l.Transfer, 15*time.Minute),
		Watch:    cmp.Or(l.Watch, time.Second),
		Stream:   l.Stream,
	}
}

// api is the handler.
type api struct {
	Options
	console  *console.Console
	routes   routes
	versions versionCheck
	metrics  *metrics
	guesses  *guesses
	probed   probed
}

// New makes the handler. It fails when an option cannot be read.
func New(o Options) (http.Handler, error) {
	o.Limits = o.Limits.withDefaults()
	o.ArchiveType = cmp.Or(o.ArchiveType, "db")
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	versions, err := newVersionCheck(o)
	if err != nil {
		return nil, err
	}
	return &api{Options: o, console: &console.Console{Catalogue: catalogueOf(o.Node), Now: o.Now}, routes: newRoutes(endpoints()), versions: versions, metrics: newMetrics(endpoints(), o.Now()), guesses: newGuesses()}, nil
}

// catalogueOf is that of a node; tests of the outermost rules have none.
func catalogueOf(n *node.Node) *catalogue.Catalogue {
	if n == nil {
		return nil
	}
	return n.Catalogue
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	below := path == "/api" || strings.HasPrefix(path, "/api/")
	protect(w.Header(), below)
	c := &call{api: a, w: w, r: r}
	if err := a.named(r); err != nil {
		c.turnAway(err)
		return
	}
	if !below {
		a.serveUI(w, r)
		return
	}
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	if err := a.ownPage(r); err != nil {
		c.turnAway(err)
		return
	}
	if r.Method == http.MethodTrace {
		return // 200 without a body: what was sent is not echoed
	}
	res, vars := a.routes.find(path)
	if r.Method == http.MethodOptions {
		answerOptions(w, res)
		return
	}
	c.vars = vars
	if open := path == "/api/version" || res != nil && res.open(r.Method); !open {
		if err := c.authenticate(); err != nil {
			c.turnAway(err)
			return
		}
	}
	switch rt := res.route(r.Method); {
	case res == nil:
		w.WriteHeader(http.StatusNotFound)
	case rt == nil:
		w.Header().Set("Allow", res.allow())
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		c.run(rt)
	}
}

func (a *api) serveUI(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodTrace:
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case a.UI == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		a.UI.ServeHTTP(w, r)
	}
}

// answerOptions lists the methods of a path, in the original's order.
func answerOptions(w http.ResponseWriter, res *resource) {
	if res == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Allow", res.allow())
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	_, _ = w.Write([]byte(res.allow())) // #nosec G705 -- it is a list of methods as plain text; when the client is gone it has no reader
}

// run carries out one request: time limit, content type, handler, answer, audit, metrics.
func (c *call) run(rt *route) {
	begin := c.Now()
	defer func() { c.metrics.observe(rt.name, c.Now().Sub(begin)) }()
	defer c.recovered()
	if limit := c.timeLimit(rt); limit > 0 {
		ctx, cancel := context.WithTimeout(c.r.Context(), limit)
		defer cancel()
		c.r = c.r.WithContext(ctx)
	}
	answer, err := c.serve(rt)
	if rt.change != "" {
		c.audit(rt, err)
	}
	if err != nil {
		c.answerError(err)
		return
	}
	c.answer(answer)
}

func (c *call) serve(rt *route) (any, error) {
	if err := c.permit(rt); err != nil {
		return nil, err
	}
	if err := c.consumes(rt.consumes); err != nil {
		return nil, err
	}
	if err := c.deliberate(rt); err != nil {
		return nil, err
	}
	return rt.serve(c)
}

func (c *call) timeLimit(rt *route) time.Duration {
	switch rt.kind {
	case transfer:
		return c.Limits.Transfer
	case stream:
		return c.Limits.Stream
	}
	return c.Limits.Request
}

// recovered turns a panic into a 500: one broken request must not end the server.
func (c *call) recovered() {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // a value, not an error chain
		panic(p)
	}
	c.metrics.panics.Add(1)
	c.Logger.Error("request panicked", "method", c.r.Method, "path", c.r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	c.write(http.StatusInternalServerError, wire.ErrorBody{Message: "internal error", Status: http.StatusInternalServerError})
}
