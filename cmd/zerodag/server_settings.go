package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/datafolder"
	"zerodag/internal/embedded"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/sqlite"
	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// reading collects the first wrong value of a configuration, and which keys were read.
type reading struct {
	settings
	known     map[string]bool
	elsewhere map[string]bool // keys that name a place which is not this machine
	notes     []string        // what the log is to warn of, when there is one
	err       error
}

func (s settings) reading() *reading {
	return &reading{settings: s, known: map[string]bool{}, elsewhere: map[string]bool{}}
}

func (r *reading) text(key, otherwise string) string {
	r.known[key] = true
	if v := strings.TrimSpace(r.settings[key]); v != "" {
		return v
	}
	return otherwise
}

func (r *reading) wrong(key, form string) {
	if r.err == nil {
		r.err = fmt.Errorf("configuration key %s must be %s but is %q", key, form, r.settings[key])
	}
}

func (r *reading) number(key string, otherwise int) int {
	text := r.text(key, "")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		r.wrong(key, "a whole number")
	}
	return n
}

func (r *reading) bool(key string, otherwise bool) bool {
	switch strings.ToLower(r.text(key, "")) {
	case "":
		return otherwise
	case "true":
		return true
	case "false":
		return false
	}
	r.wrong(key, "true or false")
	return false
}

// port reads the number of a port.
func (r *reading) port(key string, otherwise int) int {
	n := r.number(key, otherwise)
	if n > 65535 {
		r.wrong(key, "a port, at most 65535,")
	}
	return n
}

// oneOf reads a word of a list, the first of which is the default.
func (r *reading) oneOf(key string, words ...string) string {
	v := r.text(key, words[0])
	if !slices.Contains(words, v) {
		r.wrong(key, strings.Join(words[:len(words)-1], ", ")+" or "+words[len(words)-1])
	}
	return v
}

// seconds reads a number of seconds.
func (r *reading) seconds(key string, otherwise time.Duration) time.Duration {
	return time.Duration(r.number(key, int(otherwise/time.Second))) * time.Second
}

// duration reads a text like "30s" or "1d 2h".
func (r *reading) duration(key string, otherwise time.Duration) time.Duration {
	text := r.text(key, "")
	if text == "" {
		return otherwise
	}
	d, ok := param.ParseDuration(text)
	if !ok {
		r.wrong(key, `a duration like "30s", "10m" or "1d"`)
	}
	return d
}

// here reads where something is kept. Another place than this machine has no meaning: the
// first choice is taken, and the warning says so.
func (r *reading) here(key string, choices ...string) string {
	v := r.text(key, choices[0])
	if slices.Contains(choices, v) {
		return v
	}
	delete(r.known, key)
	r.elsewhere[key] = true
	return choices[0]
}

// tree reads all keys below a prefix.
func (r *reading) tree(prefix string) map[string]string {
	found := map[string]string{}
	for key, v := range r.settings {
		if rest, ok := strings.CutPrefix(key, prefix); ok && rest != "" {
			r.known[key] = true
			found[rest] = v
		}
	}
	return found
}

// unread lists the keys that have no meaning here.
func (r *reading) unread() []string {
	var list []string
	for _, key := range sortedKeys(r.settings) {
		client := strings.HasPrefix(key, "client.") || strings.HasPrefix(key, "params.") || strings.HasPrefix(key, "secrets.")
		switch {
		case r.elsewhere[key]:
			list = append(list, key+" = "+r.settings[key]+" (it is kept on this machine)")
		case !r.known[key] && !client:
			list = append(list, key)
		}
	}
	return list
}

// dataFolder is where a server keeps its data unless it is told otherwise.
const dataFolder = "zerodag-data"

// embeddedOptions reads everything about data and limits (server.md#settings).
func (c *serverCommand) embeddedOptions(r *reading) (embedded.Options, error) {
	config, err := r.below("config.")
	if err != nil {
		return embedded.Options{}, err
	}
	r.tree("config.")
	o := embedded.Options{Migrate: r.bool("database.migrate", true), Config: config, AgentID: r.text("agent.id", ""), Temp: r.text("tmpdir", "")}
	shares := c.shares(r.settings)
	if shares {
		o.Folder = r.text("server.folder", ownServerFolder)
		r.text("database.type", "")
	} else {
		c.places(r, &o)
	}
	if total := int64(r.number("api.max_archive_total_size_limit", 0)); total > 0 {
		o.Archive = files.Limits{Compressed: total, Total: total, File: total}
	}
	o.Archive.Workspaces = r.size("agent.workspaces.disk")
	if o.Commands = commandSettings(r); c.local != nil {
		o.Commands = ownFolder(o.Commands)
	}
	o.Limits = host.Limits{
		Attempts:   r.number("executor.attempt_max_run", r.number("io.digdag.limits.maxAttempts", 0)),
		Tasks:      r.number("executor.task_max_run", r.number("io.digdag.limits.maxWorkflowTasks", 0)),
		AttemptTTL: r.duration("executor.attempt_ttl", 0), TaskTTL: r.duration("executor.task_ttl", 0),
		ReapInterval: r.duration("executor.ttl_reaping_interval", 0),
		Lease:        r.seconds("agent.lock-retention-time", 0), Heartbeat: r.seconds("agent.heartbeat-interval", 0),
		Threads: c.threads, Retention: r.duration("executor.log_retention", 0),
		KeepAttempts: r.duration("retention.attempts", 0), KeepArchives: r.duration("retention.archives", 0), KeepRecords: r.duration("retention.audit", 0), KeepLogs: r.duration("retention.logs", 0),
	}
	if o.Limits.Crashes = r.number("agent.max_crashes", 3); o.Limits.Crashes == 0 {
		o.Limits.Crashes = -1 // none
	}
	if c.threads == 0 {
		o.Limits.Threads = r.number("agent.max-task-threads", 0)
	}
	if shares {
		o.Limits.Lease = r.seconds("agent.lock-retention-time", sharedLease)
		o.Limits.Heartbeat = min(r.seconds("agent.heartbeat-interval", sharedLease/3), max(time.Second, o.Limits.Lease/3))
	}
	if o.Limits.Types = taskTypes(r); len(o.Limits.Types) > 0 && !shares && r.err == nil {
		return o, errors.New("agent.task-types leaves tasks to other servers, and this one is alone: use it with database.type = postgresql, or leave it out")
	}
	o.Stored, o.Network, o.LogForm = storedSetting(r), r.network(), logFormatOfTasks(r)
	if o.Defaults, err = c.defaults(r); err != nil || r.err != nil {
		return o, errors.Join(err, r.err)
	}
	if o.SecretKey, err = secretKey(r, o.Folder, shares); err != nil || !shares {
		return o, err
	}
	if o.SecretKey == nil {
		r.notes = append(r.notes, "secrets can neither be stored nor read, and who signs in at the page is signed in at this server only: set digdag.secret-encryption-key, the same for all servers of this database")
	}
	return o, nil
}

// taskTypes are the operators whose tasks the server runs; nil is all.
func taskTypes(r *reading) []string {
	var list []string
	for name := range strings.SplitSeq(r.text("agent.task-types", ""), ",") {
		name = strings.TrimSuffix(strings.TrimSpace(name), ">")
		if name == "" {
			continue
		}
		if strings.ContainsAny(name, " \t>:;") {
			r.wrong("agent.task-types", "a list of operators with commas, such as sh, py")
		}
		list = append(list, name)
	}
	return list
}

// sharedLease is how long a server that shares its database may be silent until others go on with its tasks.
const sharedLease = 30 * time.Second

// places reads where a server that is alone keeps its data.
func (c *serverCommand) places(r *reading, o *embedded.Options) {
	r.here("archive.type", "local", "db")
	// A database of the original's own kind is one file on this machine, too.
	kinds := []string{"sqlite", "h2", "memory"}
	if c.local != nil {
		kinds = []string{"memory", "sqlite", "h2"}
	}
	kind := r.here("database.type", kinds...)
	if !c.memory && (kind != "memory" || c.database != "") {
		o.Folder = c.database
		if o.Folder == "" {
			o.Folder = r.text("database.path", dataFolder)
		}
	}
	if r.oneOf("database.synchronous", "acknowledged", "full") == "full" {
		o.Sync = sqlite.SyncAll
	}
	o.Archives = r.text("archive.local.path", "")
	c.logOptions(r, o)
}

// storedSetting reads whether what operators stored is evaluated again.
func storedSetting(r *reading) operators.Stored {
	switch r.oneOf("eval.stored", "project", "true", "false") {
	case "true":
		return operators.StoredAsCode
	case "false":
		return operators.StoredAsData
	}
	return operators.StoredByProject
}

// logFormatOfTasks reads how the lines of the engine read in logs of tasks. If the program is called digdag,
// Digdag's form is the default.
func logFormatOfTasks(r *reading) tasklog.Form {
	forms := []string{string(tasklog.Short), string(tasklog.Digdag)}
	if asDigdag() {
		slices.Reverse(forms)
	}
	return tasklog.Form(r.oneOf("task-log.format", forms...))
}

// logOptions says where task logs go: here they are kept unless that is switched off.
func (c *serverCommand) logOptions(r *reading, o *embedded.Options) {
	kind := r.here("log-server.type", "local", "null")
	o.LogsApart = !r.bool("log-server.local.short_together", true)
	o.Logs, o.Split = r.text("log-server.local.path", ""), int64(r.number("log-server.local.split_size", 0))
	if c.taskLog != "" {
		o.Logs, kind = c.taskLog, "local"
	}
	o.NoLogs = kind == "null"
	if o.Logs != "" && !o.NoLogs && r.err == nil {
		if err := os.MkdirAll(o.Logs, 0o700); err != nil {
			r.err = fmt.Errorf("make the folder of task logs: %w", err)
		}
	}
}

// defaults are the parameters below those of all attempts.
func (c *serverCommand) defaults(r *reading) (*param.Map, error) {
	m := param.New()
	if text := r.text("digdag.defaultParams", ""); text != "" {
		v, err := param.ParseJSON(text)
		if err == nil {
			m, err = param.AsMap("digdag.defaultParams", v)
		}
		if err != nil {
			return nil, fmt.Errorf("configuration key digdag.defaultParams must be a JSON object: %w", err)
		}
	}
	own, err := c.parameters(r.settings)
	if c.local != nil {
		own, err = c.parametersOf(r.settings, c.local.files)
	}
	return param.Merge(m, own), err
}

// secretKey reads the key that encrypts secrets: configuration, environment, or a file.
// Without any a new one is made and kept beside the data, so that secrets just work; not where servers share a
// database: each would have its own. nil: there is none.
func secretKey(r *reading, folder string, shares bool) ([]byte, error) {
	source, text := "configuration key digdag.secret-encryption-key", r.text("digdag.secret-encryption-key", "")
	if text == "" {
		source, text = "environment variable ZERODAG_SECRET_KEY", os.Getenv("ZERODAG_SECRET_KEY")
	}
	file := r.text("server.secret-key-file", "")
	if text == "" && file == "" && shares {
		return nil, nil
	}
	if text == "" && file == "" && folder == "" {
		key := make([]byte, 16)
		rand.Read(key) // never fails
		return key, nil
	}
	if text == "" {
		made := file == ""
		if made {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return nil, fmt.Errorf("make the folder of the data: %w", err)
			}
			file = filepath.Join(folder, datafolder.Key)
		}
		content, warning, err := files.ReadKey(file)
		if made && errors.Is(err, fs.ErrNotExist) {
			return newSecretKey(file)
		}
		if err != nil {
			return nil, fmt.Errorf("read the key of secrets: %w", err)
		}
		if warning != "" {
			r.notes = append(r.notes, warning)
		}
		source, text = file, string(content)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != 16 {
		return nil, fmt.Errorf("%s must be base64 of 16 random bytes: make one with `head -c 16 /dev/urandom | base64`", source)
	}
	return key, nil
}

func newSecretKey(file string) ([]byte, error) {
	key := make([]byte, 16)
	rand.Read(key) // never fails
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("keep the key of secrets: %w", err)
	}
	return key, nil
}
