package serverconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/configuration"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/projectfiles"
)

// DataFolder is where a server keeps its data by default.
const DataFolder = "zerodag-data"

// embeddedOptions reads all settings for data and limits (server.md#settings).
func (c *CommandLine) embeddedOptions(r *configuration.Reading) (embedded.Options, error) {
	config, err := r.Below("config.")
	if err != nil {
		return embedded.Options{}, err
	}
	r.Tree("config.")
	o := embedded.Options{Migrate: r.Bool("database.migrate", true), Config: config, Version: c.Version, AgentID: r.Text("agent.id", ""), Series: r.Number("server.metrics.max-series", 0), Temp: r.Text("tmpdir", "")}
	shares := c.shares(r.Settings)
	if shares {
		o.Folder = r.Text("server.folder", ownServerFolder)
		r.Text("database.type", "")
	} else {
		c.places(r, &o)
	}
	if total := int64(r.Number("api.max_archive_total_size_limit", 0)); total > 0 {
		o.Archive = projectfiles.Limits{Compressed: total, Total: total, File: total}
	}
	o.Workspaces = r.Size("agent.workspaces.disk")
	if o.Commands = r.Commands(); c.Project != "" {
		o.Commands = configuration.OwnFolder(o.Commands)
	}
	o.Commands.Hidden = append(c.Files(), alertFiles(r.Settings)...)
	for _, key := range []string{"server.secret-key-file", "server.tls.key-file"} {
		if file, err := filepath.Abs(r.Text(key, "")); err == nil && r.Settings[key] != "" {
			o.Commands.Hidden = append(o.Commands.Hidden, file)
		}
	}
	if o.Limits = c.limits(r, shares); len(o.Limits.Types) > 0 && !shares && r.Err == nil {
		return o, errors.New("agent.task-types leaves tasks to other servers, but this server has its own database: use it with database.type = postgresql, or remove it")
	}
	o.Stored, o.Network, o.LogForm = r.Stored(), r.Network(), r.LogForm()
	if o.Defaults, err = c.defaults(r); err != nil || r.Err != nil {
		return o, errors.Join(err, r.Err)
	}
	o.KeyLost = r.Bool("server.secret-key-lost", false)
	if o.SecretKeys, err = secretKeys(r, o.Folder, shares); err != nil || !shares {
		return o, err
	}
	if len(o.SecretKeys) == 0 {
		r.Note("secrets can neither be stored nor read, and a sign-in in the browser is valid only for this server: set digdag.secret-encryption-key to the same value on all servers of this database")
	}
	return o, nil
}

// keptByDefault is how long attempts are kept after their end.
const keptByDefault = 365 * 24 * time.Hour

// limits reads the limits of attempts and tasks; shares means that the server shares its database.
func (c *CommandLine) limits(r *configuration.Reading, shares bool) host.Limits {
	l := host.Limits{
		Attempts:   r.Number("executor.attempt_max_run", r.Number("io.digdag.limits.maxAttempts", 0)),
		Tasks:      r.Number("executor.task_max_run", r.Number("io.digdag.limits.maxWorkflowTasks", 0)),
		AttemptTTL: r.Duration("executor.attempt_ttl", 0), TaskTTL: r.Duration("executor.task_ttl", 0),
		ReapInterval: r.Duration("executor.ttl_reaping_interval", 0),
		Lease:        r.Seconds("agent.lock-retention-time", 0), Heartbeat: r.Seconds("agent.heartbeat-interval", 0),
		Threads: c.threads, Retention: r.Duration("executor.log_retention", 0),
		KeepAttempts: r.Keep("retention.attempts", keptByDefault), KeepRecords: r.Keep("retention.audit", 0), KeepLogs: r.Keep("retention.logs", 0),
	}
	l.KeepArchives = r.Keep("retention.archives", l.KeepAttempts)
	if l.Crashes = r.Number("agent.max_crashes", 3); l.Crashes == 0 {
		l.Crashes = -1 // none
	}
	if c.threads == 0 {
		l.Threads = r.Number("agent.max-task-threads", 0)
	}
	if shares {
		l.Lease = r.Seconds("agent.lock-retention-time", sharedLease)
		l.SelfFencing = r.Bool("agent.self-fencing", false)
		l.Heartbeat = min(r.Seconds("agent.heartbeat-interval", sharedLease/3), max(time.Second, l.Lease/3))
	}
	l.Types = taskTypes(r)
	return l
}

// taskTypes returns the operators whose tasks the server runs; nil means all.
func taskTypes(r *configuration.Reading) []string {
	var list []string
	for name := range strings.SplitSeq(r.Text("agent.task-types", ""), ",") {
		name = strings.TrimSuffix(strings.TrimSpace(name), ">")
		if name == "" {
			continue
		}
		if strings.ContainsAny(name, " \t>:;") {
			r.Wrong("agent.task-types", "a comma-separated list of operators, such as sh, py")
		}
		list = append(list, name)
	}
	return list
}

// sharedLease is how long a server that shares its database may be silent before others continue its tasks.
const sharedLease = 30 * time.Second

// places reads where a stand-alone server keeps its data.
func (c *CommandLine) places(r *configuration.Reading, o *embedded.Options) {
	r.Here("archive.type", "local", "db")
	// Digdag's file and memory databases also become a single file on this machine.
	kinds := append(embedded.Databases(), "h2", "memory")
	if c.Project != "" {
		kinds = append([]string{"memory"}, kinds...)
	}
	kind := r.Here("database.type", kinds...)
	if slices.Contains(embedded.Databases(), kind) {
		o.Kind = kind
	}
	if !c.memory && (kind != "memory" || c.database != "") {
		o.Folder = c.database
		if o.Folder == "" {
			o.Folder = r.Text("database.path", DataFolder)
		}
	}
	if r.OneOf("database.synchronous", "acknowledged", "full") == "full" {
		o.Sync = host.SyncAll
	}
	o.Archives = r.Text("archive.local.path", "")
	c.logOptions(r, o)
}

// logOptions reads where task logs are stored: zerodag keeps them unless that is switched off.
func (c *CommandLine) logOptions(r *configuration.Reading, o *embedded.Options) {
	kind := r.Here("log-server.type", "local", "null")
	o.LogsApart = !r.Bool("log-server.local.short_together", true)
	o.Logs, o.Split = r.Text("log-server.local.path", ""), int64(r.Number("log-server.local.split_size", 0))
	if c.taskLog != "" {
		o.Logs, kind = c.taskLog, "local"
	}
	o.NoLogs = kind == "null"
	if o.Logs != "" && !o.NoLogs && r.Err == nil {
		if err := os.MkdirAll(o.Logs, 0o700); err != nil {
			r.Fail(fmt.Errorf("create the folder of task logs: %w", err))
		}
	}
}

// defaults returns the parameters that the parameters of attempts override.
func (c *CommandLine) defaults(r *configuration.Reading) (*param.Map, error) {
	m := param.New()
	if text := r.Text("digdag.defaultParams", ""); text != "" {
		v, err := param.ParseJSON(text)
		if err == nil {
			m, err = param.AsMap("digdag.defaultParams", v)
		}
		if err != nil {
			return nil, fmt.Errorf("configuration key digdag.defaultParams must be a JSON object: %w", err)
		}
	}
	own, err := c.Parameters(r.Settings)
	if c.Project != "" {
		own, err = c.ParametersAt(r.Settings, c.Project)
	}
	return param.Merge(m, own), err
}
