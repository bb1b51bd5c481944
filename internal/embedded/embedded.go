// Package embedded wires the drivers of one machine to a host: SQLite for the log, the catalogue and the queues, files
// for archives and logs, processes and docker for commands. Stores that a server shares with others (package postgres)
// are passed in and replace SQLite and files.
//
// `zerodag server` and the embedding package use it. It must hold no rules.
package embedded

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"zerodag/engine/expr/assets"
	"zerodag/engine/expr/script"
	"zerodag/engine/param"
	"zerodag/internal/datafolder"
	"zerodag/internal/evaluators"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/executors"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/httpclient"
	"zerodag/internal/meter"
	"zerodag/internal/node"
	"zerodag/internal/notice"
	"zerodag/internal/projectfiles"
	"zerodag/internal/seal"
	"zerodag/internal/sitesecret"
	"zerodag/internal/tasklog"
	"zerodag/internal/uptime"
	"zerodag/operators"
	"zerodag/operators/all"
	"zerodag/operators/run"
)

// Options configures a deployment on one machine. The fields describe the zero values of optional parts.
type Options struct {
	Folder   string // the data folder; "": data in memory, with files in a folder that Close deletes
	Kind     string // the kind of database, one of Databases; "" means the default, even in memory
	Database string // folder of the database; "" means Folder
	Archives string // folder of the archives; "" means "blobs" in Folder
	Logs     string // folder of the task logs; "" means "logs" in Folder
	NoLogs   bool   // task logs are not kept
	Split    int64  // the number of bytes after which a task's log continues in another file; 0 means never
	LogForm  tasklog.Form
	// LogsApart gives every run a separate log file; otherwise short logs are stored in the database.
	LogsApart  bool
	Temp       string // folder for workspaces; "" means the system's
	Workspaces int64  // the total number of bytes of all workspaces; 0 means half of the free space on their disk

	SecretKeys [][]byte // 16 bytes each: the first key encrypts secrets, all keys decrypt; empty: there are no secrets
	KeyLost    bool     // the key for the stored secrets is lost: a different one is accepted
	Sync       host.Sync
	Migrate    bool   // an older database is brought up to date; otherwise it is refused
	AgentID    string // "" means <pid>@<host>
	Trusting   bool   // every caller may do everything, so commands may read the data
	Version    string // of the program, for the list of servers
	// Ahead returns how far this machine's clock is ahead of the shared database's clock; nil: it is not known.
	Ahead    func() time.Duration
	Archive  projectfiles.Limits
	Limits   host.Limits
	Config   *param.Map // the configuration of operators, below "config."
	Stored   run.Stored
	Network  operators.Network    // the network through which tasks connect; nil: the machine's
	Defaults *param.Map           // parameters that attempts' parameters override
	Notices  notice.OutboxOptions // without channels, no one is notified; Observer, Logger and Now are set here
	Traces   host.Tracer          // nil: attempts leave no traces
	Series   int                  // the limit on the series of a metric; 0 means meter.DefaultSeries
	Registry operators.Registry   // nil: all built-in operators
	Commands executors.Settings   // Name and KillNow are chosen here
	// Evaluators evaluates expressions; Close closes it. nil means that they are evaluated in this process, where only the
	// engine's own limits apply.
	Evaluators *evaluators.Pool
	// Workspace, unless nil, provides tasks with their files instead of a copy of the archive.
	Workspace func(executors.In) func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error)
	// Shared, unless nil, holds the stores that this server shares with others: in that case, Folder, which is
	// required, is for the server's own data, and Kind, Database, Archives, Logs, NoLogs, Split, LogForm, LogsApart,
	// Sync and Migrate are ignored.
	Shared *Shared
	Logger *slog.Logger     // nil: none
	Now    func() time.Time // nil: time.Now
}

// Engine is an open deployment.
type Engine struct {
	*node.Node
	DB    Store
	Blobs host.Blobs
	Meter *meter.Meter
	// outbox delivers notices; nil: no one is notified.
	outbox *notice.Outbox
	// Seal seals sign-in cookies with the secret key.
	Seal       *seal.Box
	workspaces *files.Workspaces
	shared     *Shared     // nil: the stores are not shared
	taskLogs   *files.Logs // nil: the stores are shared
	lock       io.Closer   // lock on the folder of a server that shares its store
	logger     *slog.Logger
	evaluators *evaluators.Pool
	commands   *executors.Executors
	trusting   bool
	temporary  string // folder that Close deletes; "" for none
	self       host.Server
	ahead      func() time.Duration

	folder, archives, logs string
	file                   string // file of the database; "": it is in memory or shared
}

func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = all.Registry()
	}
	if o.Ahead == nil {
		o.Ahead = func() time.Duration { return 0 }
	}
}

// Open opens a deployment or creates it. Only one process can have it open at a time.
func Open(ctx context.Context, o Options) (_ *Engine, err error) {
	e := &Engine{evaluators: o.Evaluators, Meter: meter.New(o.Series)}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	if err := keeps(runtime.GOOS); err != nil {
		return nil, err
	}
	o.setDefaults()
	if o.Shared != nil {
		e.shared, e.DB = o.Shared, o.Shared.Store
		if o.Folder, err = filepath.Abs(o.Folder); err != nil {
			return nil, err
		}
		if e.lock, err = files.LockFolder(o.Folder); err != nil {
			return nil, err
		}
		if err := o.closeData(); err != nil {
			return nil, err
		}
		if err := e.openSecrets(ctx, o); err != nil {
			return nil, err
		}
		return e, e.wire(o)
	}
	of, err := kindOf(o.Kind)
	if err != nil {
		return nil, err
	}
	database := ""
	if o.Folder == "" {
		if e.temporary, err = os.MkdirTemp(o.Temp, "zerodag-"); err != nil {
			return nil, fmt.Errorf("create a folder for data in memory: %w", err)
		}
		o.Folder = e.temporary
	} else {
		if o.Folder, err = filepath.Abs(o.Folder); err != nil {
			return nil, err
		}
		if o.Database == "" {
			o.Database = o.Folder
		}
		database = filepath.Join(o.Database, of.file)
		if err := o.closeData(); err != nil {
			return nil, err
		}
	}
	e.DB, err = of.open(ctx, databaseOptions{path: database, server: o.agent(), now: o.Now, secretKeys: o.SecretKeys, sync: o.Sync, migrate: o.Migrate})
	if err != nil {
		return nil, err
	}
	e.file = database
	if err := e.openSecrets(ctx, o); err != nil {
		return nil, err
	}
	if db, checks := e.DB.(checker); checks {
		go func() {
			if err := db.CheckLarge(); err != nil {
				o.Logger.Error(err.Error())
			}
		}()
	}
	return e, e.wire(o)
}

// keeps explains why a server's data cannot be kept on a system; it returns nil if it can.
func keeps(system string) error {
	if system == "windows" {
		return errors.New("the server does not run on Windows, because it can neither hide its files from other users nor find processes that a killed server left running there: " +
			"run it on Linux or macOS, or in WSL 2; check, run and all commands that call a server work on Windows")
	}
	return nil
}

// storeRetry is the longest wait before a write that a full disk refused is retried. It is short because there is no
// other process that it could disturb.
const storeRetry = 2 * time.Second

// wire creates the host; the database is open, or the folder is locked, so no other process uses the folder.
func (e *Engine) wire(o Options) error {
	e.logger, e.ahead = o.Logger, o.Ahead
	o.Limits.StoreRetry = cmp.Or(o.Limits.StoreRetry, storeRetry)
	e.folder = o.Folder
	e.archives = cmp.Or(o.Archives, filepath.Join(o.Folder, archivesName))
	e.logs = cmp.Or(o.Logs, filepath.Join(o.Folder, logsName))
	commands, err := o.executors()
	if err != nil {
		return err
	}
	kept := o.Shared
	if kept == nil {
		if kept, err = e.keep(o); err != nil {
			return err
		}
	}
	e.Blobs = kept.Blobs
	e.commands, e.trusting = commands, o.Trusting
	open := func(ctx context.Context, key string) (io.ReadCloser, error) {
		r, _, err := kept.Blobs.Open(ctx, key)
		return r, err
	}
	e.workspaces, err = files.NewWorkspaces(o.placeOfWorkspaces(), o.Workspaces, o.Archive, open)
	if err != nil {
		return err
	}
	if o.Commands.User != "" {
		if err := commands.Usable(o.placeOfWorkspaces()); err != nil {
			return fmt.Errorf("let %s reach workspaces: %w: set tmpdir to another folder", o.Commands.User, err)
		}
		if err := e.workspaces.Share(commands.Give); err != nil {
			return fmt.Errorf("let %s reach workspaces: %w", o.Commands.User, err)
		}
	}
	workspace := func(ctx context.Context, id operators.Identity, w host.Workflow) (host.Workspace, error) {
		s := e.workspaces.Of(ctx, w.Archive, id, func(root string) operators.Commands { return commands.In(root, id) })
		return host.Workspace{Files: s, Commands: s, Leave: s.Leave, Wrong: s.Wrong}, nil
	}
	if o.Workspace != nil {
		workspace = o.Workspace(commands.In)
	}
	e.Node = node.New(node.Options{
		Ports: e.ports(o, kept),
		Runtime: host.Runtime{Registry: o.Registry, Evaluator: evaluatorOf(o.Evaluators), Store: e.DB.ParamStore, HTTP: &httpclient.Clients{Network: o.Network},
			Network: o.Network, Config: o.Config, Stored: o.Stored, Steady: uptime.Clock(), Workspace: workspace},
		Shared: o.Shared != nil,
		Stopping: func() {
			if err := e.DB.Stopping(); err != nil {
				o.Logger.Error("record that the server was asked to stop", "error", err)
			}
		},
	})
	e.self = o.describe(e.Limits())
	e.self.Exposed = e.Exposed()
	return nil
}

// ports returns the ports of the database and of the data in files.
func (e *Engine) ports(o Options, kept *Shared) host.Ports {
	p := host.Ports{
		Log: e.DB, Events: e.DB.Queue("events"), Tasks: e.DB.Queue("tasks"), Inventory: e.DB,
		Projects: e.DB, Workflows: e.DB, Schedules: e.DB, Attempts: e.DB, Sessions: e.DB, Backfills: e.DB, Pools: e.DB, Semaphore: e.DB,
		Retention: e.DB, RemoveLogs: kept.RemoveLogs, Blobs: kept.Blobs, Secrets: sitesecret.Secrets{Secrets: e.DB, Projects: e.DB}, Logs: kept.Logs,
		Unpack: func(ctx context.Context, key string) (host.Archive, error) { return e.workspaces.Archive(ctx, key) },
		Traces: o.Traces, Observer: e.Meter, Defaults: o.Defaults, Limits: o.Limits, Now: o.Now, Logger: o.Logger,
	}
	if len(o.Notices.Channels) > 0 {
		of := o.Notices
		of.Observer, of.Logger, of.Now = e.Meter, o.Logger, o.Now
		e.outbox = notice.NewOutbox(e.DB, of)
		p.Keeper = e.outbox
	}
	return p
}

// keep creates the stores for the files of a server that does not share its stores.
func (e *Engine) keep(o Options) (*Shared, error) {
	blobs, err := files.NewBlobs(e.archives)
	if err != nil {
		return nil, err
	}
	of := files.LogOptions{Folder: e.logs, AgentID: o.AgentID, Split: o.Split, Form: o.LogForm, Now: o.Now, Logger: o.Logger}
	if short, keeps := e.DB.(files.ShortLogs); keeps && !o.LogsApart {
		of.Short = short
	}
	e.taskLogs = files.NewLogs(of)
	kept := &Shared{Blobs: blobs, Logs: e.taskLogs, RemoveLogs: e.taskLogs.Remove}
	if o.NoLogs {
		kept.Logs = host.NoLogs{}
	}
	return kept, nil
}

// executors creates the Executors that run commands, and ends commands that an earlier server left running.
func (o Options) executors() (*executors.Executors, error) {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(o.Folder)))[:16]
	o.Commands.Name, o.Commands.KillNow = name, true
	for _, folder := range []string{o.Folder, o.Database, o.Archives, o.Logs} {
		if filepath.IsAbs(folder) {
			o.Commands.Hidden = append(o.Commands.Hidden, folder)
		}
	}
	commands, err := executors.New(o.Commands)
	if err != nil {
		return nil, err
	}
	ended := func(what string, n int) {
		if n > 0 {
			o.Logger.Warn("ended commands that an earlier server left running", what, n)
		}
	}
	ended("processes", commands.Reclaim(context.Background(), func(n int, err error) {
		ended("containers", n)
		if err != nil {
			o.Logger.Warn("containers that an earlier server left running may still exist: " + err.Error())
		}
	}))
	return commands, nil
}

// placeOfWorkspaces returns where the workspace folder is created: with the data, unless commands run as a user who
// must not reach the data.
func (o Options) placeOfWorkspaces() string {
	if o.Commands.User != "" {
		return cmp.Or(o.Temp, os.TempDir())
	}
	return cmp.Or(o.Temp, o.Folder)
}

// dataNames lists the files and folders of a server's data.
func dataNames() []string {
	return append(databaseNames(), keyName, datafolder.Token, archivesName, logsName, ".backup-*", ".new-*", "zerodag-*")
}

// closeData removes other users' permission to read the data, and logs that once.
func (o Options) closeData() error {
	closed, err := files.Private(o.Folder, dataNames()...)
	if err != nil {
		return err
	}
	for folder, names := range map[string][]string{o.Database: databaseNames(), o.Archives: {"archives"}, o.Logs: {"20*"}} {
		if folder != "" && folder != o.Folder {
			more, err := files.Private(folder, names...)
			if err != nil {
				return err
			}
			closed = append(closed, more...)
		}
	}
	if len(closed) > 0 {
		o.Logger.Warn("other users of this machine could read the data: their access was removed", "files", len(closed), "folder", o.Folder)
	}
	return nil
}

func evaluatorOf(pool *evaluators.Pool) run.Evaluator {
	if pool != nil {
		return pool
	}
	return evaluator.InProcess(sync.OnceValue(func() *script.Moment { return script.CompileMoment(assets.Moment()) }))
}

// Run runs the loops of the node. It may be called once. When ctx ends, commands are killed, even those that have extra
// time to end after their `_timeout`, and no more begin.
func (e *Engine) Run(ctx, accepting context.Context, p node.Parts) {
	defer context.AfterFunc(ctx, func() { e.commands.Cut(context.WithoutCancel(ctx)) })()
	defer e.deliver(ctx, p)()
	defer e.enroll(ctx, accepting, p)()
	e.Node.Run(ctx, accepting, p)
}

// Alerts returns the notice channels and routes; nil if there are none.
func (e *Engine) Alerts() *notice.Outbox { return e.outbox }

// deliver delivers notices until the returned function is called, unless this process only serves requests.
func (e *Engine) deliver(ctx context.Context, p node.Parts) (stop func()) {
	if e.outbox == nil || !p.Executor {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.outbox.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Close ends everything at once and closes the files. Unfinished work runs again after the next Open. To let it end
// first, cancel the accepting context of Run and wait.
func (e *Engine) Close() error {
	var errs []error
	if e.evaluators != nil {
		e.evaluators.Close()
	}
	if e.DB != nil {
		errs = append(errs, e.DB.Close())
	}
	if e.taskLogs != nil {
		if err := e.taskLogs.Close(); err != nil {
			e.logger.Error(err.Error())
		}
	}
	if e.workspaces != nil {
		errs = append(errs, e.workspaces.Close())
	}
	if e.temporary != "" {
		errs = append(errs, os.RemoveAll(e.temporary))
	}
	if e.lock != nil {
		errs = append(errs, e.lock.Close())
	}
	return errors.Join(errs...)
}

// Exposed explains why commands can read this server's data; "" if they cannot, or if they may.
func (e *Engine) Exposed() string {
	if e.trusting {
		return ""
	}
	return e.commands.Exposed()
}

// openSecrets checks that the keys fit the stored secrets.
func (e *Engine) openSecrets(ctx context.Context, o Options) error {
	e.Seal = sealOf(o.SecretKeys)
	err := e.DB.CheckKey(ctx)
	if err == nil || !o.KeyLost {
		return err
	}
	o.Logger.Warn("the stored secrets cannot be read: set them again, run `zerodag secrets rekey`, and remove server.secret-key-lost", "error", err)
	return nil
}

// sealOf returns the box that seals sign-ins with the first key and opens sign-ins sealed with any of the keys. Without
// a key, sign-ins are valid only for this process.
func sealOf(keys [][]byte) *seal.Box {
	if len(keys) == 0 {
		return seal.New(seal.Fixed(nil))
	}
	return seal.New(seal.Fixed(keys[0]), keys[1:]...)
}
