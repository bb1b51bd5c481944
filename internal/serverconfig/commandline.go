package serverconfig

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"zerodag/internal/configuration"
	"zerodag/internal/node"
	"zerodag/internal/program"
)

// Formats of the server's own log.
const (
	TextLog = "text"
	JSONLog = "json"
)

// CommandLine holds a server's options.
type CommandLine struct {
	configuration.Flags
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

	Project string // the folder of the only project, in which tasks work; "" for a server with any number of projects
	Version string // the program's version, for clients
}

// Register adds a server's options to those of a command. data and logs are the default locations, which the help
// shows.
func (c *CommandLine) Register(f *pflag.FlagSet, data, logs string) {
	f.IntVarP(&c.port, "port", "n", 65432, "`PORT` to listen on; 0 selects a free port")
	f.StringVarP(&c.bind, "bind", "b", "127.0.0.1", "`ADDRESS` to listen on")
	f.IntVar(&c.adminPort, "admin-port", 0, "`PORT` of a separate listener for administrators")
	f.StringVar(&c.adminBind, "admin-bind", "", "`ADDRESS` of a separate listener for administrators")
	f.BoolVarP(&c.memory, "memory", "m", false, "keep all data in memory")
	f.StringVarP(&c.database, "database", "o", "", "store data in this `DIR` (default: "+data+")")
	f.StringVarP(&c.taskLog, "task-log", "O", "", "store task logs in this `DIR` (default: "+logs+")")
	f.StringVarP(&c.accessLog, "access-log", "A", "", "write a log of requests to this `DIR`")
	f.StringVar(&c.logFormat, "log-format", TextLog, "`FORM` of the log: "+TextLog+" or "+JSONLog+", with one line for each entry")
	f.IntVar(&c.threads, "max-task-threads", 0, "maximum number of concurrent tasks (0: no limit)")
	f.BoolVar(&c.noExecutor, "disable-executor-loop", false, "do not advance attempts")
	f.BoolVar(&c.noScheduler, "disable-scheduler", false, "do not start attempts from schedules")
	f.BoolVar(&c.noAgent, "disable-local-agent", false, "do not run tasks")
	f.BoolVar(&c.noExecutor, "no-executor", false, "same as --disable-executor-loop")
	f.BoolVar(&c.noScheduler, "no-scheduler", false, "same as --disable-scheduler")
	f.BoolVar(&c.noAgent, "no-agent", false, "same as --disable-local-agent")
	f.BoolVar(&c.swagger, "enable-swagger", false, "allow requests from web pages of other origins (CORS); /api/openapi.yaml describes the API")
	f.BoolVar(&c.noAuth, "no-auth", false, "require no login, even on a listener that other machines can reach")
	f.BoolVar(&c.acceptLocal, "accept-local", false, configuration.AcceptLocalUsage)
	f.StringArrayVarP(&c.headers, "header", "H", nil, "`NAME=VALUE[,NAME=VALUE...]` added to every response")
	c.RegisterParams(f)
	c.Flags.Register(f)
}

// override records which options were given, because they override the configuration.
func (c *CommandLine) override(flags *pflag.FlagSet) error {
	for flag, key := range map[string]string{"port": "server.port", "bind": "server.bind", "admin-port": "server.admin.port",
		"admin-bind": "server.admin.bind", "log-format": configuration.LogFormatKey, "log-level": configuration.LogLevelKey, "access-log": "server.access-log.path"} {
		if flags.Lookup(flag) != nil && flags.Changed(flag) {
			c.Override = append(c.Override, configuration.Pair{Key: key, Value: flags.Lookup(flag).Value.String()})
		}
	}
	headers, err := configuration.SplitPairs("--header", c.headers)
	for _, h := range headers {
		c.Override = append(c.Override, configuration.Pair{Key: "server.http.headers." + h.Key, Value: h.Value})
	}
	return err
}

// check refuses options that contradict each other or have no meaning.
func (c *CommandLine) check() error {
	if c.memory && c.database != "" {
		return program.UsageError(errors.New("Setting both --database and --memory is invalid"))
	}
	if c.threads < 0 {
		return program.UsageError(fmt.Errorf("--max-task-threads must be 0 or more but is %d", c.threads))
	}
	return nil
}

// Read reads the configuration's sources, which the given options override. It returns an error if the settings
// contradict each other or would silently weaken the server. flags must be the set that Register filled.
func (c *CommandLine) Read(flags *pflag.FlagSet) (*configuration.Reading, error) {
	if err := c.override(flags); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	all, err := c.Load()
	if err != nil {
		return nil, err
	}
	if all, err = all.Profiled(); err != nil {
		return nil, err
	}
	if err := c.contradicts(all); err != nil {
		return nil, err
	}
	if err := all.StayHere(c.acceptLocal, c.shares(all)); err != nil {
		return nil, err
	}
	r := all.Reading()
	r.Note(c.Beaten(all)...)
	return r, nil
}

// parts returns the loops that this server runs.
func (c *CommandLine) parts(r *configuration.Reading) node.Parts {
	return node.Parts{
		Executor:  !c.noExecutor && r.Bool("server.executor.enabled", true),
		Scheduler: !c.noScheduler && !c.noExecutor && r.Bool("schedule.enabled", true),
		Agent:     !c.noAgent && r.Bool("agent.enabled", true),
	}
}
