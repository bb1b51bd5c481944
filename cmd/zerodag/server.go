package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/internal/embedded"
	"zerodag/internal/evaluators"
	"zerodag/internal/node"
	"zerodag/internal/shared"
	"zerodag/ui"
)

// serverCommand is `zerodag server`.
type serverCommand struct {
	commonFlags
	streams
	bind, adminBind      string
	port, adminPort      int
	memory               bool
	database, taskLog    string
	accessLog, logFormat string
	threads              int
	noExecutor           bool
	noScheduler, noAgent bool
	swagger, noAuth      bool
	acceptLocal          bool
	headers              []string
	local                *localProject // of `zerodag scheduler`
}

func newServer(s streams) *cobra.Command {
	c := &serverCommand{streams: s}
	cmd := &cobra.Command{
		Use:   "server [options...]",
		Short: "Run a server: REST API, schedules and tasks on this machine",
		Long: `Run a server: REST API, schedules and tasks on this machine.

Without options it listens on 127.0.0.1:65432 and keeps its data in ./` + dataFolder + `. Clients of
Digdag and the other subcommands of this program use it. Killed at any moment, it
continues all attempts when it starts again.`,
		Args: upTo(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.registerServer(cmd, "./"+dataFolder, "with the data")
	return cmd
}

// registerServer adds the options of a server; data and logs say where these are without options.
func (c *serverCommand) registerServer(cmd *cobra.Command, data, logs string) {
	f := cmd.Flags()
	f.IntVarP(&c.port, "port", "n", 65432, "`PORT` to listen on; 0 is a free one")
	f.StringVarP(&c.bind, "bind", "b", "127.0.0.1", "`ADDRESS` to listen on")
	f.IntVar(&c.adminPort, "admin-port", 0, "`PORT` of the administrators' own listener")
	f.StringVar(&c.adminBind, "admin-bind", "", "`ADDRESS` of the administrators' own listener")
	f.BoolVarP(&c.memory, "memory", "m", false, "keep all data in memory")
	f.StringVarP(&c.database, "database", "o", "", "keep the data in this `DIR` (default: "+data+")")
	f.StringVarP(&c.taskLog, "task-log", "O", "", "keep the logs of tasks in this `DIR` (default: "+logs+")")
	f.StringVarP(&c.accessLog, "access-log", "A", "", "keep a log of requests in this `DIR`")
	f.StringVar(&c.logFormat, "log-format", textLog, "`FORM` of the log: "+textLog+" or "+jsonLog+", a line for each entry")
	f.IntVar(&c.threads, "max-task-threads", 0, "how many tasks may run at once (0: no limit)")
	f.BoolVar(&c.noExecutor, "disable-executor-loop", false, "do not move attempts on")
	f.BoolVar(&c.noScheduler, "disable-scheduler", false, "do not start attempts by schedules")
	f.BoolVar(&c.noAgent, "disable-local-agent", false, "do not run tasks")
	f.BoolVar(&c.noExecutor, "no-executor", false, "as --disable-executor-loop")
	f.BoolVar(&c.noScheduler, "no-scheduler", false, "as --disable-scheduler")
	f.BoolVar(&c.noAgent, "no-agent", false, "as --disable-local-agent")
	f.BoolVar(&c.swagger, "enable-swagger", false, "allow browsers of other origins (CORS); the API describes itself at /api/openapi.yaml")
	f.BoolVar(&c.noAuth, "no-auth", false, "serve everybody who can reach a listener beyond this machine")
	f.BoolVar(&c.acceptLocal, "accept-local", false, acceptLocalUsage)
	f.StringArrayVarP(&c.headers, "header", "H", nil, "`NAME=VALUE[,NAME=VALUE...]` added to every answer")
	c.registerParams(cmd)
	c.register(cmd)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return c.fromFlags(cmd) }
}

// fromFlags notes which flags were given: they win over the configuration.
func (c *serverCommand) fromFlags(cmd *cobra.Command) error {
	for flag, key := range map[string]string{"port": "server.port", "bind": "server.bind", "admin-port": "server.admin.port",
		"admin-bind": "server.admin.bind", "log-format": logFormatKey, "access-log": "server.access-log.path"} {
		if cmd.Flags().Lookup(flag) != nil && cmd.Flags().Changed(flag) {
			c.override = append(c.override, pair{key, cmd.Flag(flag).Value.String()})
		}
	}
	headers, err := splitPairs("--header", c.headers)
	for _, h := range headers {
		c.override = append(c.override, pair{"server.http.headers." + h.key, h.value})
	}
	return err
}

func (c *serverCommand) run(ctx context.Context) error {
	if c.memory && c.database != "" {
		return usageError{errors.New("Setting both --database and --memory is invalid")}
	}
	if c.threads < 0 {
		return usageError{fmt.Errorf("--max-task-threads must be 0 or more but is %d", c.threads)}
	}
	settings, err := c.configuration()
	if err != nil {
		return err
	}
	r := settings.reading()
	r.notes = c.beaten(settings)
	format := r.oneOf(logFormatKey, textLog, jsonLog)
	if format != jsonLog {
		banner(c.err)
	}
	options, err := c.embeddedOptions(r)
	if err != nil {
		return err
	}
	web, err := c.webOptions(r)
	if err != nil {
		return err
	}
	options.Evaluators = evaluators.New("")
	defer options.Evaluators.Close()
	if err := notifies(r, &options); err != nil {
		return err
	}
	parts := c.parts(r)
	var with shared.Options
	if c.shares(settings) {
		with, err = sharedOptions(r, options)
	}
	if err = errors.Join(err, r.err); err != nil {
		return err
	}
	out, closeLog, err := c.logWriter(c.streams)
	if err != nil {
		return err
	}
	defer closeLog()
	logger, flush, err := newServerLog(out, c.logLevel, format)
	if err != nil {
		return err
	}
	defer flush()
	warn(logger, r, hideEnvironment(options.Commands.Environment))
	options.Logger = logger
	if c.local != nil {
		options.Workspace = c.local.workspace
	}
	if c.shares(settings) {
		with.Logger = logger
		if options.Shared, err = shared.Open(ctx, with); err != nil {
			return err
		}
	}
	engine, err := embedded.Open(ctx, options)
	if err != nil {
		return err
	}
	defer engine.Close()
	if web.token {
		if err := firstToken(ctx, engine, options.Folder, logger); err != nil {
			return err
		}
	}
	return c.serve(ctx, engine, web, parts, logger)
}

// configuration reads what the server is told, unless it is to be weakened or contradicts itself.
func (c *serverCommand) configuration() (settings, error) {
	read, err := c.load()
	if err != nil {
		return nil, err
	}
	if read, err = read.profiled(); err != nil {
		return nil, err
	}
	if err := c.contradicts(read); err != nil {
		return nil, err
	}
	return read, read.stayHere(c.acceptLocal, c.shares(read))
}

// parts are the loops that this server runs.
func (c *serverCommand) parts(r *reading) node.Parts {
	return node.Parts{
		Executor:  !c.noExecutor && r.bool("server.executor.enabled", true),
		Scheduler: !c.noScheduler && !c.noExecutor && r.bool("schedule.enabled", true),
		Agent:     !c.noAgent && r.bool("agent.enabled", true),
	}
}

// warn says what of the configuration has no meaning here, or not the one that was meant.
func warn(logger *slog.Logger, r *reading, shown error) {
	if unread := r.unread(); len(unread) > 0 {
		logger.Warn("configuration keys without a meaning here are ignored: " + strings.Join(unread, ", "))
	}
	if shown != nil {
		logger.Warn(shown.Error() + ": commands may read the server's variables in /proc")
	}
	for _, note := range r.notes {
		logger.Warn(note)
	}
}

// serve runs until the first signal, then lets tasks end; the second one cuts them off.
func (c *serverCommand) serve(ctx context.Context, engine *embedded.Engine, o webOptions, parts node.Parts, logger *slog.Logger) error {
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	again := make(chan struct{})
	defer whenToldAgain(ctx, func() (leave bool) { close(again); return false })()
	web, err := startWeb(engine, o, logger)
	if err != nil {
		return err
	}
	if err := web.writeRuntimeInfo(o.runtimeInfo); err != nil {
		return errors.Join(err, web.close(hard))
	}
	if o.open() && os.Geteuid() == 0 {
		logger.Warn("The server runs as root and asks for no login: every user and program of this machine can have it run commands as root. Start it as another user, or set server.authenticator.type = token")
	}
	for _, l := range web.listeners {
		logger.Info("Listening on http://" + l.Addr().String())
		if ui.Built() {
			logger.Info("Web console: " + pageAddress(l.Addr()))
		}
	}
	loops, failed := make(chan struct{}), make(chan error, 1)
	accepting, stop := context.WithCancel(ctx)
	defer stop()
	go func() { defer close(loops); engine.Run(hard, accepting, parts) }()
	if c.local != nil {
		go c.local.watch(accepting, engine, logger)
	}
	go func() { failed <- web.failed() }()
	select {
	case <-ctx.Done():
	case err = <-failed:
		stop()
	}
	select {
	case <-loops:
	case <-again:
		logger.Warn("Cutting off running tasks: they run again after the next start")
		cut()
		<-loops
	}
	logger.Info("Closing HTTP listening sockets")
	logger.Info("Shutting down HTTP worker threads")
	err = errors.Join(err, web.close(hard))
	logger.Info("Shutting down system")
	cut()
	logger.Info("Shutdown completed")
	return err
}

// pageAddress is what people of this machine type into a browser to see the page of a listener.
func pageAddress(a net.Addr) string {
	name, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(name); err != nil || ip == nil || !ip.IsUnspecified() {
		return "http://" + a.String() + "/"
	}
	return "http://" + net.JoinHostPort("localhost", port) + "/"
}

// address is where to listen.
func address(bind string, port int) string { return net.JoinHostPort(bind, strconv.Itoa(port)) }

// isLoopback says whether only this machine reaches an address.
func isLoopback(bind string) bool {
	ip := net.ParseIP(bind)
	return bind == "localhost" || ip != nil && ip.IsLoopback()
}
