package serverrun

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"zerodag/internal/configuration"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/program"
	"zerodag/internal/retry"
	"zerodag/internal/serverconfig"
	"zerodag/internal/shared"
	"zerodag/internal/systemd"
	"zerodag/internal/term"
	"zerodag/ui"
)

// Run runs a server until ctx ends, then lets its tasks end. local is its only project, or nil if it serves any
// project. On Linux, it removes variables that commands must not get from this process's environment as the system
// shows it.
func Run(ctx context.Context, o serverconfig.Options, local *Project, logger *slog.Logger) error {
	unit, err := systemd.FromEnvironment()
	if err != nil {
		return err
	}
	return run(ctx, o, local, unit, logger)
}

// run does the work of Run as part of a systemd unit.
func run(ctx context.Context, o serverconfig.Options, local *Project, unit *systemd.Unit, logger *slog.Logger) (err error) {
	warn(logger, o, hideEnvironment(o.Engine.Commands.Environment))
	o.Engine.Logger = logger
	if o.Engine.Trusting = o.Web.Open(); !o.Engine.Trusting {
		o.Engine.Commands = o.Engine.Commands.PerSite(cmp.Or(o.Engine.Temp, os.TempDir()))
	}
	if local != nil {
		o.Engine.Workspace = local.workspace
	}
	var clock *shared.Clock
	if o.Shared != nil {
		o.Shared.Logger = logger
		clock = shared.NewClock(time.Now)
		o.Shared.Database.Now, o.Engine.Now, o.Web.API.Now, o.Engine.Ahead = clock.Now, clock.Now, clock.Now, clock.Ahead
		w := waiting{unit: unit, logger: logger, pause: retry.Sleep}
		if o.Engine.Shared, err = w.open(ctx, func() (*embedded.Shared, error) { return shared.Open(ctx, *o.Shared) }); err != nil || o.Engine.Shared == nil {
			return err
		}
		clock.Check(ctx, o.Engine.Shared.Time, logger) // before the first schedule fires
	}
	engine, err := embedded.Open(ctx, o.Engine)
	if err != nil {
		return err
	}
	defer engine.Close()
	if why := engine.Exposed(); why != "" {
		logger.Warn("commands of tasks can read the data of this server and the workspaces of other sites, because " + why +
			": see agent.command_executor.process.isolation")
	}
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	var following sync.WaitGroup
	defer following.Wait()
	defer stop()
	if o.Web.Token {
		if err := firstToken(ctx, engine, o.Engine.Folder, logger); err != nil {
			return err
		}
		if o.Engine.Folder != "" {
			following.Go(func() { dropFirstToken(alive, engine.DB.List, o.Engine.Folder, logger) })
		}
	}
	if clock != nil {
		following.Go(func() { clock.Follow(alive, o.Engine.Shared.Time, logger) })
	}
	return untilEnd(ctx, engine, o, local, unit, logger)
}

// warn logs settings that have no effect here, or a different effect than intended.
func warn(logger *slog.Logger, o serverconfig.Options, shown error) {
	if len(o.Unread) > 0 {
		logger.Warn("unused configuration keys are ignored: " + strings.Join(o.Unread, ", ") + configuration.NestedNote(o.Unread))
	}
	if shown != nil {
		logger.Warn(shown.Error() + ": commands may read the server's variables in /proc")
	}
	for _, note := range o.Notes {
		logger.Warn(note)
	}
}

// kept describes, for the log, how long attempts are kept, because Digdag keeps them forever.
func kept(l host.Limits) string {
	if l.KeepAttempts == 0 {
		return "Attempts and their logs are kept forever (retention.attempts)"
	}
	return "Attempts and their logs are removed " + term.LongDuration(l.KeepAttempts) + " after the attempts end; retention.attempts = " + configuration.Forever + " keeps them, as Digdag does"
}

// untilEnd runs until the first signal, then lets tasks end; the second one cuts them off.
func untilEnd(ctx context.Context, engine *embedded.Engine, o serverconfig.Options, local *Project, unit *systemd.Unit, logger *slog.Logger) error {
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	again := make(chan struct{})
	defer program.WhenToldAgain(ctx, func() (leave bool) { close(again); return false })()
	o.Web.API.Draining = ctx.Done()
	web, err := startWeb(engine, o.Web, logger)
	if err != nil {
		return err
	}
	if err := web.writeRuntimeInfo(o.Web.RuntimeInfo); err != nil {
		return errors.Join(err, web.close(hard))
	}
	if o.Web.Open() && os.Geteuid() == 0 {
		logger.Warn("The server runs as root and requires no login: every user and program on this machine can make it run commands as root. Start it as another user, or set server.authenticator.type = token")
	}
	logger.Info(kept(o.Engine.Limits))
	for _, l := range web.listeners {
		logger.Info("Listening on " + web.scheme + "://" + l.Addr().String())
		if ui.Built() {
			logger.Info("Web console: " + pageAddress(web.scheme, l.Addr()))
		}
	}
	loops, failed := make(chan struct{}), make(chan error, 1)
	accepting, stop := context.WithCancel(ctx)
	defer stop()
	go func() { defer close(loops); engine.Run(hard, accepting, o.Parts) }()
	notify(logger, unit.Ready("Serves requests on "+addresses(web.listeners)))
	// The watches use the engine and the listeners, which are closed when this returns.
	var watching sync.WaitGroup
	alive, stopWatch := context.WithCancel(hard)
	defer stopWatch()
	watching.Go(func() {
		unit.Watch(alive, web.live, func(err error) { logger.Warn("the server does not answer its own probe", "error", err) })
	})
	if local != nil {
		watching.Go(func() { local.watch(accepting, engine, logger) })
	}
	go func() { failed <- web.failed() }()
	select {
	case <-ctx.Done():
	case err = <-failed:
		stop()
	}
	notify(logger, unit.Stopping("Waits for running tasks"))
	select {
	case <-loops:
	case <-again:
		logger.Warn("Interrupting running tasks: they run again after the next start")
		cut()
		<-loops
	}
	stopWatch()
	watching.Wait()
	logger.Info("Closing HTTP listening sockets")
	logger.Info("Shutting down HTTP worker threads")
	err = errors.Join(err, web.close(hard))
	logger.Info("Shutting down system")
	cut()
	logger.Info("Shutdown completed")
	return err
}

// notify logs that systemd could not be notified.
func notify(logger *slog.Logger, err error) {
	if err != nil {
		logger.Warn(err.Error())
	}
}

func addresses(list []net.Listener) string {
	var texts []string
	for _, l := range list {
		texts = append(texts, l.Addr().String())
	}
	return strings.Join(texts, ", ")
}

// pageAddress returns the address that local users enter in a browser to see a listener's page.
func pageAddress(scheme string, a net.Addr) string {
	name, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(name); err != nil || ip == nil || !ip.IsUnspecified() {
		return scheme + "://" + a.String() + "/"
	}
	return scheme + "://" + net.JoinHostPort("localhost", port) + "/"
}
