package configuration

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"zerodag/internal/program"
)

// settingKeys lists all keys that a server, its clients or a run reads from a configuration. "x.*" means every key
// below x. One file may serve all of them, so each accepts the keys of the others.
var settingKeys = []string{
	"agent.command_executor.allow", "agent.command_executor.ceilings.disk", "agent.command_executor.ceilings.memory",
	"agent.command_executor.ceilings.output", "agent.command_executor.ceilings.processes", "agent.command_executor.ceilings.timeout",
	"agent.command_executor.docker.image", "agent.command_executor.docker.options", "agent.command_executor.ecs.*",
	"agent.command_executor.kubernetes.*", "agent.command_executor.limits.disk", "agent.command_executor.limits.memory",
	"agent.command_executor.limits.output", "agent.command_executor.limits.processes", "agent.command_executor.limits.timeout",
	"agent.command_executor.process.environment", "agent.command_executor.process.isolation", "agent.command_executor.process.user", "agent.command_executor.type",
	"agent.enabled", "agent.heartbeat-interval", "agent.id", "agent.lock-retention-time", "agent.max-task-threads",
	"agent.max_crashes", "agent.self-fencing", "agent.task-types", "agent.workspaces.disk",
	"alert.channels.*", "alert.console", "alert.routes.*",
	"api.max_archive_total_size_limit", "api.max_attempts_page_size", "api.max_sessions_page_size",
	"archive.local.path", "archive.s3.bucket", "archive.s3.credentials.access-key-id", "archive.s3.credentials.secret-access-key",
	"archive.s3.direct_download", "archive.s3.endpoint", "archive.s3.path", "archive.s3.path-style-access", "archive.s3.region", "archive.type",
	"basicauth.admin", "basicauth.password", "basicauth.username",
	"client.http.disable_direct_download", EndpointKey, "client.http.headers.*", "client.http.iam",
	"config.*",
	"database.database", "database.host", "database.loginTimeout", "database.maximumPoolSize", "database.migrate", "database.password",
	"database.path", "database.port", "database.schema", "database.ssl", "database.sslcert", "database.sslkey", "database.sslmode",
	"database.sslrootcert", "database.synchronous", "database.type", "database.user",
	"digdag.defaultParams", "digdag.secret-access-policy-file", "digdag.secret-encryption-key", "digdag.secret-decryption-keys",
	"eval.stored",
	"executor.attempt_max_run", "executor.attempt_ttl", "executor.log_retention", "executor.task_max_run", "executor.task_ttl",
	"executor.ttl_reaping_interval",
	"io.digdag.cli.versionCheckMode", "io.digdag.limits.maxAttempts", "io.digdag.limits.maxWorkflowTasks",
	"log-server.local.path", "log-server.local.short_together", "log-server.local.split_size", "log-server.s3.bucket",
	"log-server.s3.credentials.access-key-id", "log-server.s3.credentials.secret-access-key", "log-server.s3.direct_download",
	"log-server.s3.endpoint", "log-server.s3.path", "log-server.s3.path-style-access", "log-server.s3.region", "log-server.type",
	"notification.give_up_after", "notification.http.headers.*", "notification.http.method", "notification.http.url",
	"notification.mail.bcc", "notification.mail.body_template_file", "notification.mail.cc", "notification.mail.debug", "notification.mail.from",
	"notification.mail.host", "notification.mail.html", "notification.mail.password", "notification.mail.port",
	"notification.mail.ssl", "notification.mail.subject", "notification.mail.tls", "notification.mail.to",
	"notification.mail.username", "notification.max_retry_wait", "notification.min_retry_wait", "notification.retries",
	"notification.shell.command", "notification.shell.timeout", "notification.type",
	"param_server.*", "params.*",
	"retention.archives", "retention.attempts", "retention.audit", "retention.logs",
	"schedule.enabled", "secrets.*", "security.local_addresses", "security.profile",
	"server.access-log.path", "server.access-log.pattern", "server.admin.bind", "server.admin.port",
	"server.allow-unauthenticated", "server.authenticator.basic.admin", "server.authenticator.basic.grant", "server.authenticator.basic.password",
	"server.authenticator.basic.username", "server.authenticator.oidc.address", "server.authenticator.oidc.client-id",
	"server.authenticator.oidc.client-secret", "server.authenticator.oidc.grants", "server.authenticator.oidc.groups-claim",
	"server.authenticator.oidc.issuer", "server.authenticator.oidc.name", "server.authenticator.oidc.scopes",
	"server.authenticator.type", "server.bind",
	"server.client-version-check.api-incompatible-if-older", "server.client-version-check.upgrade-recommended-if-older",
	"server.enable-swagger", "server.executor.enabled", "server.folder", "server.http.headers.*", "server.http.hosts",
	"server.http.io-idle-timeout", "server.http.max-connections", "server.http.no-request-timeout",
	"server.http.request-parse-timeout", "server.http.trusted-proxies", LogFormatKey, LogLevelKey, "server.metrics.max-series", "server.port", "server.runtime-info.path", "server.secret-key-file", "server.secret-key-lost",
	"server.tls.cert-file", "server.tls.key-file",
	"task-log.format", "tmpdir",
	"traces.otlp.endpoint", "traces.otlp.headers.*", "traces.service",
}

// ofOthers lists prefixes of the keys that other programs read from the same file or command line: Digdag, its plugins,
// and the Java virtual machine that it runs on.
var ofOthers = []string{"system-plugin.", "digdag.", "io.digdag.", "java.", "javax.", "sun.", "user.", "file.", "org.", "com.", "http.", "https."}

// Keys returns all keys that a server, a client or a run uses; "x.*" means every key below x.
func Keys() []string { return slices.Clone(settingKeys) }

// IsKey reports whether a server, a client or a run uses a key.
func IsKey(key string) bool {
	return slices.ContainsFunc(settingKeys, func(known string) bool {
		below, isTree := strings.CutSuffix(known, "*")
		return key == known || isTree && len(key) > len(below) && strings.HasPrefix(key, below)
	})
}

// misspelt refuses a key that looks like a misspelling of a known one: otherwise the intended setting, such as a login,
// would silently be missing.
func (s Settings) misspelt() error {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if IsKey(key) {
			continue
		}
		for _, known := range settingKeys {
			if isSlip(key, known) {
				return fmt.Errorf("unknown configuration key %s: did you mean %s? (`zerodag docs server` lists all keys)", key, known)
			}
		}
	}
	return nil
}

// isSlip reports whether two keys differ only by one extra, missing or wrong letter, or two swapped letters, in one of
// their words. Keys that differ more may be Digdag keys that have no meaning here. For a tree, "x.*", only the words
// before the star count.
func isSlip(key, known string) bool {
	words, others := strings.Split(key, "."), strings.Split(known, ".")
	if last := len(others) - 1; others[last] == "*" && len(words) > last {
		words, others = words[:last], others[:last]
	}
	if len(words) != len(others) {
		return false
	}
	slips := 0
	for i, a := range words {
		b := others[i]
		switch {
		case a == b:
		case len(b) >= 4 && slipped(a, b):
			slips++
		default:
			return false
		}
	}
	return slips == 1
}

// slipped reports whether one typo turns b into a.
func slipped(a, b string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// Tell warns about options that probably do not mean what the user thinks.
func (f *Flags) Tell(out io.Writer, s Settings) {
	if program.AsDigdag() {
		return
	}
	f.tellUnknown(out, s)
	tellJoined(out, f.Params)
}

// tellUnknown warns about unused keys that are given on the command line, with -X or in the file of -c. The default
// file may also belong to other programs, and a server logs the unknown keys in its file.
func (f *Flags) tellUnknown(out io.Writer, s Settings) {
	given := f.Flagged()
	if f.Config != "" {
		given = s
	}
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(given)) {
		other := slices.ContainsFunc(ofOthers, func(begin string) bool { return strings.HasPrefix(key, begin) })
		if !IsKey(key) && !other {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		fmt.Fprintf(out, "warning: unknown configuration keys are ignored: %s (`zerodag docs server` lists all keys)%s\n", strings.Join(unknown, ", "), NestedNote(unknown))
	}
}

// NestedNote returns how to write a file with nested keys, as in YAML, JSON or INI, for its unused keys; "" if they are
// not nested.
func NestedNote(unknown []string) string {
	for _, key := range unknown {
		word := strings.Trim(key, "[]{}\",: ")
		if word == "" {
			continue
		}
		for _, known := range settingKeys {
			if rest, is := strings.CutPrefix(known, word+"."); is {
				if slices.Contains(settingKeys, word+".port") {
					rest = "port"
				}
				return ": keys cannot be nested, write each on one line, such as " + word + "." + strings.TrimSuffix(rest, "*") + " = VALUE"
			}
		}
	}
	return ""
}
