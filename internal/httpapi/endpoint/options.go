package endpoint

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"zerodag/internal/check"
	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/node"
	"zerodag/internal/uploads"
)

// Options are what an API is made of. Zero values of optional parts are named.
type Options struct {
	Node    *node.Node
	Version string
	Auth    access.Auth
	// Headers are added to every answer below /api (server.http.headers.*).
	Headers map[string]string
	// Bound is the address that the server listens on: without a login, requests must name it, localhost, or one of
	// Hosts. "" checks no names: the program that mounts the handler decides who may call.
	Bound string
	// Memory is of callers: handlers of one program share it. nil: this handler has one.
	Memory *access.Memory
	// Hosts are further names of this server (server.http.hosts).
	Hosts []string
	// AnyOrigin lets pages of every origin call (server.enable-swagger): only if callers log in.
	AnyOrigin bool
	// UI serves everything that is not below /api; nil answers 404.
	UI http.Handler
	// Admin serves /api/admin: on the administrators' own listener only.
	Admin bool
	// Backup writes all data of all sites; nil if the store has its own backups.
	Backup func(ctx context.Context, w io.Writer) error
	// Writable reports whether the store can be written now; nil checks only whether it can be read.
	Writable func(ctx context.Context) error
	// Vitals reports how full the server is; nil if that is monitored elsewhere.
	Vitals func(ctx context.Context) (host.Vitals, error)
	// Redrive sends dead letters back and returns how many there were; nil if the queues have none.
	Redrive func(ctx context.Context) (int, error)
	// Depths counts the messages in the queues, of all sites; nil if that is not known.
	Depths func(ctx context.Context) ([]host.Depth, error)
	// Queued lists messages of a queue in the order sent, after a place; nil if they can only be received.
	Queued func(ctx context.Context, queue string, after int64, n int) ([]host.Queued, error)
	// Dead are the dead letters of the queues; empty if the queues have none.
	Dead []host.DeadLetters
	// Code analyzes the expressions in texts, for checks of files.
	Code check.Code
	// ArchiveType is the storage type that revisions report for their archive: "db".
	ArchiveType string
	// Direct lets clients be sent to the store for archives and logs if it gives links.
	Direct bool
	// Uploads hands out slots for archives; nil if they come by PUT /api/projects only.
	Uploads Uploads
	// UpgradeIfOlder and IncompatibleIfOlder are client versions (server.client-version-check.*).
	UpgradeIfOlder, IncompatibleIfOlder string
	// Draining is closed when the server takes no more work: from then on it is not ready. nil is never.
	Draining <-chan struct{}
	// Stopping is closed when the server shuts down: streams end. nil is never.
	Stopping <-chan struct{}
	Limits   Limits
	Logger   *slog.Logger     // slog.Default()
	Now      func() time.Time // time.Now
}

// Uploads hands out slots: places in the store that accept one announced archive each, bypassing this API. The
// instructions for the archive are stored where only the server writes.
type Uploads interface {
	// OpenSlot signs where the archive goes.
	OpenSlot(ctx context.Context, s uploads.Slot) (uploads.Place, error)
	// CloseSlot puts together an archive that came in parts; tags are what the store
	// answered for each. Repeated it changes nothing. host.ErrNotFound.
	CloseSlot(ctx context.Context, site int64, id string, tags []string) error
	// Outcome returns the progress of a slot. host.ErrNotFound.
	Outcome(ctx context.Context, site int64, id string) (uploads.Outcome, error)
}

// UploadsHeader in the answer to a version check means that the server gives upload slots. The body stays as Digdag's
// clients know it.
const UploadsHeader = "Zerodag-Uploads"

// Limits are the limits of requests. Zero is the default named.
type Limits struct {
	Attempts int           // page_size of attempts: 100
	Sessions int           // page_size of sessions: 100
	Archive  int64         // bytes of an archive in a request: 100 MiB
	Upload   int64         // bytes of an archive in a slot: 100 MiB
	Body     int64         // bytes of a JSON body, unpacked: 10 MiB
	Request  time.Duration // of a request: 1 min
	Transfer time.Duration // of an upload or download: 15 min
	Watch    time.Duration // between two reads of the logs of a stream: 1 s
	// Stream ends a stream after this long, or once it has sent something, and the client reconnects with its position:
	// for servers that send an answer only once it is complete. 0 is never.
	Stream time.Duration
}

// withDefaults are the limits with a default in place of each zero.
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

// Server is what all calls have in common.
type Server struct {
	Options
	Console *console.Console
	work    work
}

// NewServer fills in the defaults of the options.
func NewServer(o Options) *Server {
	o.Limits = o.Limits.withDefaults()
	o.ArchiveType = cmp.Or(o.ArchiveType, "db")
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	page := &console.Console{Now: o.Now}
	if o.Node != nil { // tests of the outermost rules have none
		page.Catalogue = o.Node.Catalogue
	}
	return &Server{Options: o, Console: page, work: newWork()}
}
