package serverconfig

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"zerodag/internal/evaluators"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/node"
	"zerodag/internal/program"
)

func TestMain(m *testing.M) {
	evaluator.Serve() // notice templates are evaluated
	os.Exit(m.Run())
}

// told returns the settings of a server with the given configuration and command-line options.
func told(t *testing.T, config string, args ...string) (Options, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, flags := CommandLine{Version: "1.2.3"}, pflag.NewFlagSet("server", pflag.ContinueOnError)
	c.Register(flags, "here", "there")
	if err := flags.Parse(append([]string{"-c", name}, args...)); err != nil {
		t.Fatal(err)
	}
	r, err := c.Read(flags)
	if err != nil {
		return Options{}, err
	}
	pool := evaluators.New("")
	t.Cleanup(pool.Close)
	return c.Options(r, pool)
}

// TestOptionsWin proves that a given option overrides the configuration, and that a missing one does not.
func TestOptionsWin(t *testing.T) {
	t.Parallel()
	const config = "server.port = 1000\nserver.bind = 127.0.0.2\nserver.http.headers.X-A = config\nserver.access-log.path = logs\nagent.max-task-threads = 3\nschedule.enabled = false\n"
	for _, c := range []struct {
		args    []string
		address string
		header  string
		threads int
		parts   node.Parts
	}{
		{[]string{"-m"}, "127.0.0.2:1000", "config", 3, node.Parts{Executor: true, Agent: true}},
		{[]string{"-m", "--port", "0", "-H", "X-A=option,Y=z"}, "127.0.0.2:0", "option", 3, node.Parts{Executor: true, Agent: true}},
		{[]string{"-m", "--bind", "::1", "--max-task-threads", "7", "--no-agent"}, "[::1]:1000", "config", 7, node.Parts{Executor: true}},
		{[]string{"-m", "--no-executor", "-X", "server.port=9"}, "127.0.0.2:1000", "config", 3, node.Parts{Agent: true}}, // a file given with -c overrides -X
	} {
		o, err := told(t, config, c.args...)
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		if got := o.Web.Addresses; len(got) != 1 || got[0] != c.address || o.Web.API.Headers["X-A"] != c.header || o.Engine.Limits.Threads != c.threads {
			t.Errorf("%v: %v, %v, %d threads", c.args, got, o.Web.API.Headers, o.Engine.Limits.Threads)
		}
		if diff := cmp.Diff(c.parts, o.Parts); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
		if o.Web.API.Version != "1.2.3" || o.Web.AccessLog != "logs" || o.Engine.Folder != "" || o.Shared != nil {
			t.Errorf("%v: %+v", c.args, o)
		}
	}
}

// TestContradictions proves that a server does not start with contradictory settings, and that each error has a remedy.
func TestContradictions(t *testing.T) {
	t.Parallel()
	const shared = "database.type = postgresql\ndatabase.host = db\ndatabase.user = u\ndatabase.database = d\n"
	for _, c := range []struct {
		config string
		args   []string
		want   string
		usage  bool
	}{
		{"", []string{"-m", "-o", "x"}, "Setting both --database and --memory is invalid", true},
		{"", []string{"-m", "--max-task-threads", "-1"}, "must be 0 or more", true},
		{"", []string{"-m", "-H", "X"}, "expected a value of the form a=b", true},
		{shared, []string{"-m"}, "--memory and database.type = postgresql in the configuration set two places", true},
		{shared, []string{"-o", "x"}, "--database and database.type = postgresql", true},
		{"database.type = mysql", []string{}, "nothing is weakened silently", false},
		{"server.prot = 1", []string{"-m"}, "did you mean server.port?", false},
		{"server.port = 99999", []string{"-m"}, "server.port must be a port, at most 65535,", false},
		{"agent.task-types = sh", []string{"-m"}, "this server has its own database", false},
		{"digdag.defaultParams = [1]", []string{"-m"}, "must be a JSON object", false},
		{"server.access-log.pattern = xml", []string{"-m"}, "json, combined or common", false},
		{"notification.type = pager", []string{"-m"}, "use mail, http or shell", false},
		{"notification.type = http", []string{"-m"}, "notification.http.url is missing", false},
		{"notification.type = mail\nnotification.mail.host = h\nnotification.mail.from = f\nnotification.mail.body_template_file = /nonexistent", []string{"-m"}, "configuration key notification.mail.body_template_file", false},
		{"traces.otlp.endpoint = localhost:4318", []string{"-m"}, "traces.otlp.endpoint must be a URL", false},
		{"digdag.secret-encryption-key = short", []string{"-m"}, "must be base64 of 16 random bytes", false},
		{"digdag.secret-encryption-key = short", []string{"-m"}, "head -c 16 /dev/urandom | base64", false},
	} {
		_, err := told(t, c.config, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || program.IsUsageError(err) != c.usage {
			t.Errorf("%q %v: %v, want %q", c.config, c.args, err, c.want)
		}
	}
}

// TestWhoMayCall proves that no server is open to everyone by accident: a server without login listens only on the
// local machine, lets no other web page use it and does not serve several users, unless the administrator allows it.
func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	const login = "server.authenticator.basic.username = u\nserver.authenticator.basic.password = p\n"
	for _, c := range []struct {
		config string
		args   []string
		wrong  string
		open   bool
	}{
		{"", nil, "", true},
		{"", []string{"-b", "localhost"}, "", true},
		{"", []string{"-b", "0.0.0.0"}, "would serve everyone who can reach 0.0.0.0", false},
		{"", []string{"-b", "::"}, "would serve everyone", false},
		{"", []string{"-b", "example.com"}, "would serve everyone", false},
		{"", []string{"-b", ""}, "would serve everyone", false},
		{"", []string{"--admin-port", "0", "--admin-bind", "0.0.0.0"}, "would serve everyone", false},
		{"", []string{"-b", "0.0.0.0", "--no-auth"}, "", true},
		{"server.allow-unauthenticated = true", []string{"-b", "0.0.0.0"}, "", true},
		{"", []string{"--enable-swagger"}, "would let every web page use the server", false},
		{"security.profile = shared", nil, "requires a login", false},
		{login, []string{"-b", "0.0.0.0", "--enable-swagger"}, "", false},
		{"basicauth.username = u\nbasicauth.password = p", []string{"-b", "0.0.0.0"}, "", false},
		{"server.authenticator.type = token\nsecurity.profile = shared", []string{"-b", "0.0.0.0"}, "", false},
		{"server.authenticator.basic.username = u", nil, "the user needs a password", false},
		{"server.authenticator.type = ldap", nil, "use basic or token", false},
		{"server.authenticator.oidc.client-id = c", nil, "server.authenticator.oidc.issuer is missing", false},
	} {
		o, err := told(t, c.config, append([]string{"-m"}, c.args...)...)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q %v: %v, want %q", c.config, c.args, err, c.wrong)
		}
		if err == nil && o.Web.Open() != c.open {
			t.Errorf("%q %v: open is %v", c.config, c.args, o.Web.Open())
		}
	}
}

// TestData checks where a server keeps its data depending on the source of the setting, and that a server for a single
// project keeps it in memory by default.
func TestData(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, c := range []struct {
		config  string
		args    []string
		project string
		want    string
	}{
		{"", []string{"-o", folder}, "", folder},
		{"database.path = " + folder, nil, "", folder},
		{"database.path = elsewhere", []string{"-o", folder}, "", folder},
		{"database.type = memory\ndatabase.path = " + folder, nil, "", ""},
		{"database.path = " + folder, []string{"-m"}, "", ""},
		{"", nil, folder, ""},
		{"database.type = sqlite\ndatabase.path = " + folder, nil, folder, folder},
		{"database.type = postgresql", []string{"--accept-local"}, folder, ""},
	} {
		name := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(name, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		line, flags := CommandLine{Project: c.project}, pflag.NewFlagSet("server", pflag.ContinueOnError)
		line.Register(flags, "", "")
		if err := flags.Parse(append([]string{"-c", name}, c.args...)); err != nil {
			t.Fatal(err)
		}
		r, err := line.Read(flags)
		if err != nil {
			t.Errorf("%q %v: %v", c.config, c.args, err)
			continue
		}
		o, err := line.Options(r, nil)
		if err != nil || o.Engine.Folder != c.want || o.Shared != nil || len(o.Engine.SecretKeys) != 1 {
			t.Errorf("%q %v: %q, %d keys, %v", c.config, c.args, o.Engine.Folder, len(o.Engine.SecretKeys), err)
		}
		if own := o.Engine.Commands.User == ""; c.project != "" && !own {
			t.Errorf("%q %v: commands run as another user", c.config, c.args)
		}
	}
}

// TestSecretKeyIsKept proves that a generated key is used again at the next start, that only its owner can read it, and
// that the server warns if others can read it.
func TestSecretKeyIsKept(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, err := told(t, "", "-o", folder)
	if err != nil {
		t.Fatal(err)
	}
	again, err := told(t, "", "-o", folder)
	if diff := cmp.Diff(first.Engine.SecretKeys, again.Engine.SecretKeys); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	file := filepath.Join(folder, entries[0].Name())
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	o, err := told(t, "", "-o", folder)
	if err != nil || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], file) {
		t.Errorf("a key for everybody: %q, %v", o.Notes, err)
	}
	if err := os.WriteFile(file, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := told(t, "", "-o", folder); err == nil || !strings.Contains(err.Error(), file+" must be base64") {
		t.Errorf("a broken key: %v", err)
	}
	if _, err := told(t, "server.secret-key-file = "+filepath.Join(folder, "gone"), "-m"); err == nil || !strings.Contains(err.Error(), "read the secret key") {
		t.Errorf("a key that is gone: %v", err)
	}
}

// TestSecretKeys checks which key encrypts and which keys only decrypt, from settings and from files, and that a broken
// key is refused wherever it is.
func TestSecretKeys(t *testing.T) {
	t.Parallel()
	text := func(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 16)) }
	keys := func(list ...byte) (out [][]byte) {
		for _, b := range list {
			out = append(out, bytes.Repeat([]byte{b}, 16))
		}
		return out
	}
	file := filepath.Join(t.TempDir(), "keys")
	for _, c := range []struct {
		config, file string
		want         [][]byte
		error        string
	}{
		{"digdag.secret-encryption-key = " + text(1), "", keys(1), ""},
		{"digdag.secret-encryption-key = " + text(1) + "\ndigdag.secret-decryption-keys = " + text(2) + ", " + text(3), "", keys(1, 2, 3), ""},
		{"server.secret-key-file = " + file + "\ndigdag.secret-decryption-keys = " + text(3), text(1) + "\n" + text(2) + "\n", keys(1, 2, 3), ""},
		{"server.secret-key-file = " + file, text(1) + "\r\n" + text(2) + "\r\n\n", keys(1, 2), ""},
		{"server.secret-key-file = " + file, "\n", nil, file + " is empty"},
		{"server.secret-key-file = " + file, text(1) + "\nx\n", nil, file + " must be base64"},
		{"digdag.secret-encryption-key = " + text(1) + "\ndigdag.secret-decryption-keys = x", "", nil, "each key of digdag.secret-decryption-keys must be base64"},
		{"database.type = postgresql\ndatabase.host = db\ndatabase.user = u\ndatabase.database = d\ndigdag.secret-decryption-keys = " + text(2), "", nil, "needs digdag.secret-encryption-key"},
	} {
		if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"-m"}
		if strings.Contains(c.config, "postgresql") {
			args = nil
		}
		o, err := told(t, c.config, args...)
		if c.error != "" {
			if err == nil || !strings.Contains(err.Error(), c.error) {
				t.Errorf("%s, file %q: %v, want %s", c.config, c.file, err, c.error)
			}
			continue
		}
		if diff := cmp.Diff(c.want, o.Engine.SecretKeys); err != nil || diff != "" {
			t.Errorf("%s, file %q: %v\n%s", c.config, c.file, err, diff)
		}
	}
}

// TestShared checks which data servers share and which data each server keeps to itself, and that the settings that all
// of them need are required.
func TestShared(t *testing.T) {
	t.Parallel()
	const database = "database.type = postgresql\ndatabase.host = db1, db2:99 ,[::1]\ndatabase.user = u@x\ndatabase.database = d/e\n"
	o, err := told(t, database+"database.password = p:w/\ndatabase.ssl = true\narchive.type = s3\narchive.s3.bucket = b\narchive.s3.path = /a/b/\narchive.s3.endpoint = store.example.com\nlog-server.type = null\nagent.task-types = sh>, py\nagent.lock-retention-time = 9\n")
	if err != nil {
		t.Fatal(err)
	}
	const want = "postgres://u%40x:p%3Aw%2F@db1:5432,db2:99,[::1]:5432/d%2Fe?application_name=zerodag&connect_timeout=30&sslmode=require&target_session_attrs=read-write"
	if got := o.Shared.Database.URL; strings.ReplaceAll(got, "/d/e?", "/d%2Fe?") != want {
		t.Errorf("%s, want %s", got, want)
	}
	b := o.Shared.Archives.Bucket
	if b == nil || b.Name != "b" || b.Folder != "a/b/" || b.Endpoint != "https://store.example.com" || !o.Shared.NoLogs || o.Engine.Folder != ownServerFolder {
		t.Errorf("%+v, %+v", b, o)
	}
	if diff := cmp.Diff([]string{"sh", "py"}, o.Engine.Limits.Types); diff != "" || o.Engine.Limits.Lease != 9*time.Second || o.Engine.Limits.Heartbeat != 3*time.Second {
		t.Errorf("%s%+v", diff, o.Engine.Limits)
	}
	if len(o.Engine.SecretKeys) > 0 || !strings.Contains(strings.Join(o.Notes, "\n"), "set digdag.secret-encryption-key to the same value on all servers") {
		t.Errorf("a server has a key of its own, or says nothing of it: %q", o.Notes)
	}
	for config, want := range map[string]string{
		"database.type = postgresql\ndatabase.host = db": "database.user is missing", database + "archive.type = s3": "archive.s3.bucket is missing",
		database + "archive.type = local": "archive.local.path is missing", database + "log-server.type = s3\nlog-server.s3.bucket = b\nlog-server.s3.credentials.access-key-id = x": "must be set together, but one is missing",
		database + "log-server.type = s3\nlog-server.s3.bucket = b\nlog-server.s3.endpoint = ftp://x": "must be the address of a store", database + "agent.task-types = a b": "a comma-separated list of operators",
	} {
		if _, err := told(t, config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", config, err, want)
		}
	}
}

// TestDatabaseTLS proves that connections to a database on another machine use TLS unless the configuration disables
// it, and that without TLS, the password is not sent in a form that others can read or guess.
func TestDatabaseTLS(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"host = db":                           "sslmode=require",
		"host = 10.0.0.7":                     "sslmode=require",
		"host = db\nssl = true":               "sslmode=require",
		"host = db\nsslmode = verify-full":    "sslmode=verify-full",
		"host = db\nssl = false":              "require_auth=%21password%2C%21md5&sslmode=disable",
		"host = db\nsslmode = prefer":         "require_auth=%21password%2C%21md5&sslmode=prefer",
		"host = localhost, db":                "sslmode=require&target_session_attrs=read-write",
		"host = localhost":                    "connect_timeout=30",
		"host = 127.0.0.1\nssl = false":       "connect_timeout=30&sslmode=disable",
		"host = [::1], 127.0.0.2\nport = 999": "connect_timeout=30&target_session_attrs=read-write",
	} {
		text := "database.type = postgresql\ndatabase.user = u\ndatabase.database = d\ndatabase.password = p\n"
		for line := range strings.SplitSeq(config, "\n") {
			text += "database." + line + "\n"
		}
		o, err := told(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Shared.Database.URL; !strings.HasSuffix(got, want) {
			t.Errorf("%q: %s, want ...%s", config, got, want)
		}
		unchecked := strings.Contains(strings.Join(o.Notes, "\n"), "certificate of the database is not checked")
		if unchecked != strings.Contains(want, "sslmode=require") {
			t.Errorf("%q: the log says %q", config, o.Notes)
		}
	}
}

// TestUnreadKeys proves that keys without a meaning are listed for the log, and that secrets in the address of a remote
// store are not shown.
func TestUnreadKeys(t *testing.T) {
	t.Parallel()
	o, err := told(t, "my.key = secret\nmy.other = 1\nclient.http.endpoint = x\nagent.command_executor.type = process\narchive.type = s3", "-m", "--accept-local", "-X", "my.key=y")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"archive.type = s3 (it is kept on this machine)", "my.key", "my.other"}, o.Unread); diff != "" {
		t.Error(diff)
	}
	if len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "-X my.key has no effect") {
		t.Errorf("%q", o.Notes)
	}
}

// TestUnsafeWeb checks which API settings cause a warning: credentials without TLS on a network, and a user that is
// ignored because tokens are required. A half-configured certificate is an error.
func TestUnsafeWeb(t *testing.T) {
	t.Parallel()
	const login = "server.authenticator.basic.username = u\nserver.authenticator.basic.password = p\n"
	for config, want := range map[string]string{
		login:                           "",
		login + "server.bind = 0.0.0.0": "the server listens on 0.0.0.0 without TLS",
		login + "server.admin.port = 1\nserver.admin.bind = 192.0.2.1":                             "the server listens on 192.0.2.1 without TLS",
		login + "server.bind = 0.0.0.0\nserver.tls.cert-file = c.pem\nserver.tls.key-file = k.pem": "",
		login + "server.authenticator.type = token":                                                "server.authenticator.basic.username is ignored",
		"server.allow-unauthenticated = true\nserver.bind = 0.0.0.0":                               "",
	} {
		o, err := told(t, config, "-m")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(o.Notes, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: the log says %q, want %q", config, got, want)
		}
	}
	if _, err := told(t, "server.tls.cert-file = c.pem", "-m"); err == nil || !strings.Contains(err.Error(), "must both be set") {
		t.Errorf("a certificate without its key: %v", err)
	}
	if _, err := told(t, "server.http.trusted-proxies = proxy.example.com", "-m"); err == nil || !strings.Contains(err.Error(), "server.http.trusted-proxies") {
		t.Errorf("a proxy by name: %v", err)
	}
}
