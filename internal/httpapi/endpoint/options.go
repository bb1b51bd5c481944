package endpoint

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"zerodag/internal/check"
	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/meter"
	"zerodag/internal/node"
	"zerodag/internal/uploads"
)

// Options are the dependencies and settings of an API. The field comments describe the zero values of optional parts.
type Options struct {
	Node    *node.Node
	Version string
	Auth    access.Auth
	// Headers are added to every response below /api (server.http.headers.*).
	Headers map[string]string
	// Bound is the address that the server listens on: without a login, requests must name it, localhost, or one of Hosts.
	// "" disables that check: the program that mounts the handler decides who may call.
	Bound string
	// Memory records failed logins and sessions of callers. Handlers of one program share it; nil means that this handler
	// has a separate one.
	Memory *access.Memory
	// Hosts lists additional names of this server (server.http.hosts).
	Hosts []string
	// Proxies are the addresses of proxies whose X-Forwarded-For names the caller (server.http.trusted-proxies).
	Proxies []netip.Prefix
	// AnyOrigin lets pages from any origin call (server.enable-swagger), but only if callers log in.
	AnyOrigin bool
	// UI serves everything that is not below /api; if it is nil, the response is 404.
	UI http.Handler
	// Admin serves /api/admin, only on the administrators' own listener.
	Admin bool
	// Backup writes all data of all sites; nil if the store has its own backups.
	Backup func(ctx context.Context, w io.Writer) error
	// Rekey encrypts the secrets of all sites with the current key; nil if the store of secrets manages its own keys.
	Rekey func(ctx context.Context) (host.Rekeyed, error)
	// Writable reports whether the store can be written to now; if it is nil, only reading is checked.
	Writable func(ctx context.Context) error
	// Vitals reports how full the server is; nil if that is monitored elsewhere.
	Vitals func(ctx context.Context) (host.Vitals, error)
	// Census returns the figures for workflows and pools of all sites, at most n of each; nil if that is monitored
	// elsewhere.
	Census func(ctx context.Context, n int) (host.Census, error)
	// Meter counts requests, and holds what the node has counted; nil means a meter that counts only requests.
	Meter *meter.Meter
	// Outbox holds the notices that are not delivered; nil if they are not stored.
	Outbox host.Outbox
	// Alerts holds the notice channels and routes; nil if none are configured.
	Alerts Alerts
	// Redrive sends dead letters back and returns their number; nil if the queues have none.
	Redrive func(ctx context.Context) (int, error)
	// Depths counts the messages of all sites in the queues; nil if that is unknown.
	Depths func(ctx context.Context) ([]host.Depth, error)
	// Queued lists messages of a queue in the order sent, after a place; nil if they can only be received.
	Queued func(ctx context.Context, queue string, after int64, n int) ([]host.Queued, error)
	// Servers lists the servers of the database; nil if functions do their work.
	Servers host.Servers
	// Dead holds the queues' dead letters; empty if the queues have none.
	Dead []host.DeadLetters
	// Code analyzes the expressions in text, for checks of files.
	Code check.Code
	// ArchiveType is the storage type that revisions report for their archive: "db".
	ArchiveType string
	// Direct allows redirecting clients to the store for archives and logs if the store supports links.
	Direct bool
	// Uploads provides slots for archives; nil if archives arrive only through PUT /api/projects.
	Uploads Uploads
	// UpgradeIfOlder and IncompatibleIfOlder are client versions (server.client-version-check.*).
	UpgradeIfOlder, IncompatibleIfOlder string
	// Draining is closed when the server stops accepting work: from then on it is not ready. nil means never.
	Draining <-chan struct{}
	// Stopping is closed when the server shuts down: streams end. nil means never.
	Stopping <-chan struct{}
	Limits   Limits
	Logger   *slog.Logger     // slog.Default()
	Now      func() time.Time // time.Now
}

// Alerts provides the notice channels and routes.
type Alerts interface {
	// Channels lists the channels, sorted by name, with the outcomes of their tries.
	Channels(ctx context.Context) ([]host.NoticeChannel, error)
	// Routes lists the routes, sorted by name.
	Routes() []host.NoticeRoute
	// Test sends a notice now to a channel or to all channels of a route. It returns host.ErrNotFound if neither
	// exists.
	Test(ctx context.Context, name string) ([]host.NoticeTest, error)
}

// Uploads provides slots: places in the store that accept one announced archive each, bypassing this API. The
// instructions for the archive are stored where only the server can write.
type Uploads interface {
	// OpenSlot opens a slot and signs the links for its archive.
	OpenSlot(ctx context.Context, s uploads.Slot) (uploads.Place, error)
	// CloseSlot joins an archive that was uploaded in parts; tags are the store's responses for each part. A repeated
	// call changes nothing. It returns host.ErrNotFound if the slot does not exist.
	CloseSlot(ctx context.Context, by uploads.Owner, id string, tags []string) error
	// Outcome returns the progress of a slot, or host.ErrNotFound.
	Outcome(ctx context.Context, by uploads.Owner, id string) (uploads.Outcome, error)
}

// UploadsHeader in the response to a version check means that the server provides upload slots. The body stays as
// Digdag's clients expect it.
const UploadsHeader = "Zerodag-Uploads"

// Limits are the request limits. Zero means the default given in the comment.
type Limits struct {
	Attempts int           // page_size of attempts: 100
	Sessions int           // page_size of sessions: 100
	Archive  int64         // bytes of an archive in a request: 100 MiB
	Upload   int64         // bytes of an archive in a slot: 100 MiB
	Body     int64         // bytes of a decompressed JSON body: 10 MiB
	Request  time.Duration // of a request: 1 min
	Transfer time.Duration // of an upload or download: 15 min
	Watch    time.Duration // between two reads of a stream's logs: 1 s
	// Stream ends a stream after this long, or once it has sent something, and the client reconnects with its position:
	// for servers that send a response only once it is complete. 0 means never.
	Stream time.Duration
}

// withDefaults returns the limits with zeros replaced by their defaults.
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

// Server holds everything that calls share.
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
	if o.Meter == nil {
		o.Meter = meter.New(0)
	}
	page := &console.Console{Now: o.Now}
	if o.Node != nil { // nil in tests of the outermost rules
		page.Catalogue = o.Node.Catalogue
	}
	return &Server{Options: o, Console: page, work: newWork()}
}
