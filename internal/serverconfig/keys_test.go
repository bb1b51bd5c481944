package serverconfig

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zerodag/internal/configuration"
)

// TestSettingKeys proves that the table of keys contains every key that a server reads, and no unused ones: the table
// determines which keys are refused as typos and which are reported as unused.
func TestSettingKeys(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	for _, s := range []configuration.Settings{
		{"log-server.type": "null"},
		{"notification.type": "http", "notification.http.url": "http://127.0.0.1:1", "agent.command_executor.docker.options": "true", "server.admin.port": "1"},
		{"notification.type": "shell", "notification.shell.command": "true", "server.bind": "127.0.0.1"},
		{"notification.type": "mail", "notification.mail.host": "localhost", "notification.mail.port": "1", "notification.mail.from": "a@localhost", "notification.mail.to": "b@localhost"},
		{"security.profile": "shared", "config.http.proxy.host": "localhost", "server.authenticator.type": "token"},
	} {
		c := &CommandLine{memory: true, bind: "127.0.0.1"}
		profiled, err := s.Profiled()
		if err != nil {
			t.Fatal(err)
		}
		r := profiled.Reading()
		if _, err := c.embeddedOptions(r); err != nil {
			t.Fatal(err)
		}
		if _, err := c.webOptions(r); err != nil {
			t.Fatal(err)
		}
		if _, err := readNotices(r, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := newTraces(r); err != nil {
			t.Fatal(err)
		}
		c.parts(r)
		for _, key := range r.Known() {
			read[key] = true
		}
	}
	for _, s := range []configuration.Settings{{"archive.type": "s3", "archive.s3.bucket": "a", "log-server.type": "s3", "log-server.s3.bucket": "b"},
		{"archive.type": "local", "archive.local.path": "/a", "log-server.type": "local", "log-server.local.path": "/b"}} {
		maps.Copy(s, configuration.Settings{"database.type": configuration.PostgreSQL, "database.host": "db", "database.user": "u", "database.database": "d"})
		r := s.Reading()
		o, err := (&CommandLine{}).embeddedOptions(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sharedOptions(r, o); err != nil {
			t.Fatal(err)
		}
		for _, key := range r.Known() {
			read[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(read)) {
		if !configuration.IsKey(key) {
			t.Errorf("a server reads %s, and settingKeys has it not", key)
		}
	}
	var sources strings.Builder
	for _, folder := range []string{"../*", "../../cmd/zerodag"} {
		names, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(names) == 0 {
			t.Fatal(folder, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "configuration/known.go") { // the table itself
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(text)
		}
	}
	has := func(key string) bool { return strings.Contains(sources.String(), strconv.Quote(key)) }
	for _, key := range configuration.Keys() {
		if !read[key] && !has(key) && !has(strings.TrimSuffix(key, "*")) {
			t.Errorf("settingKeys has %s, and nothing reads it", key)
		}
	}
}
