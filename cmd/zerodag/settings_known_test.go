package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/docs"
	"zerodag/operators"
)

// TestSettingKeys proves that the table of keys has each that a server reads, and none that nothing reads: from the
// table follow which keys are refused as slips, and which are told to be read by nobody.
func TestSettingKeys(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	for _, s := range []settings{
		{"log-server.type": "null"},
		{"notification.type": "http", "notification.http.url": "http://127.0.0.1:1", "agent.command_executor.docker.options": "true", "server.admin.port": "1"},
		{"notification.type": "shell", "notification.shell.command": "true", "server.bind": "127.0.0.1"},
		{"notification.type": "mail", "notification.mail.host": "localhost", "notification.mail.port": "1", "notification.mail.from": "a@localhost", "notification.mail.to": "b@localhost"},
		{"security.profile": "shared", "config.http.proxy.host": "localhost", "server.authenticator.type": "token"},
	} {
		c := &serverCommand{memory: true, bind: "127.0.0.1"}
		profiled, err := s.profiled()
		if err != nil {
			t.Fatal(err)
		}
		r := profiled.reading()
		if _, err := c.embeddedOptions(r); err != nil {
			t.Fatal(err)
		}
		if _, err := c.webOptions(r); err != nil {
			t.Fatal(err)
		}
		if _, err := newNotices(r, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := newTraces(r); err != nil {
			t.Fatal(err)
		}
		c.parts(r)
		for key := range r.known {
			read[key] = true
		}
	}
	for _, s := range []settings{{"archive.type": "s3", "archive.s3.bucket": "a", "log-server.type": "s3", "log-server.s3.bucket": "b"},
		{"archive.type": "local", "archive.local.path": "/a", "log-server.type": "local", "log-server.local.path": "/b"}} {
		maps.Copy(s, settings{"database.type": postgresql, "database.host": "db", "database.user": "u", "database.database": "d"})
		r := s.reading()
		o, err := (&serverCommand{}).embeddedOptions(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sharedOptions(r, o); err != nil {
			t.Fatal(err)
		}
		for key := range r.known {
			read[key] = true
		}
	}
	for _, key := range sortedKeys(read) {
		if !isSetting(key) {
			t.Errorf("a server reads %s, and settingKeys has it not", key)
		}
	}
	sources := literals(t, ".")
	for _, key := range settingKeys {
		if !read[key] && !sources[key] && !sources[strings.TrimSuffix(key, "*")] {
			t.Errorf("settingKeys has %s, and nothing reads it", key)
		}
	}
	for _, p := range places {
		if !isSetting(strings.Replace(p.key, "*", "x", 1)) {
			t.Errorf("settingKeys lacks %s, which may be refused", p.key)
		}
	}
}

// literals are the texts in the programs of a folder, but for the table of keys.
func literals(t *testing.T, root string) map[string]bool {
	t.Helper()
	texts := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "settings_known.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					texts[text] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestKeysOfDocker proves that the keys of docker: that are known are those that the page about commands has.
func TestKeysOfDocker(t *testing.T) {
	t.Parallel()
	page, err := docs.Pages.ReadFile("commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| parameter of `docker:` |")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		rows = append(rows, m[1])
	}
	if diff := cmp.Diff(rows, operators.DockerKeys()); diff != "" || len(rows) == 0 {
		t.Error(diff)
	}
}

// TestMessagesNameNoFileOfTheDocs proves that messages name pages by the command that shows them: people who have
// the program have no folder of its documentation.
func TestMessagesNameNoFileOfTheDocs(t *testing.T) {
	t.Parallel()
	file := regexp.MustCompile(`\bdocs/[a-z/-]+\.md\b`)
	for _, root := range []string{".", "../../engine", "../../operators", "../../internal"} {
		for text := range literals(t, root) {
			if strings.Contains(text, " ") && file.MatchString(text) && !strings.Contains(text, "](") {
				t.Errorf("%q", text)
			}
		}
	}
}

// TestSlips proves that a key is taken for a slip of another only where one letter or two neighbours differ: the
// original has keys that are near others of this server.
func TestSlips(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key, known string
		want       bool
	}{
		{"server.prot", "server.port", true}, {"server.por", "server.port", true}, {"server.portt", "server.port", true}, {"server.pord", "server.port", true},
		{"database.port", "database.path", false}, {"database.user", "database.type", false}, {"archive.s3.path", "archive.local.path", false},
		{"server.port", "server.port", false}, {"port", "server.port", false}, {"sevrer.prot", "server.port", false},
		{"parms.day", "params.*", true}, {"params.dya", "params.*", false}, {"client.http.header.X-A", "client.http.headers.*", true}, {"clients", "client.http.headers.*", false},
	} {
		if got := isSlip(c.key, c.known); got != c.want {
			t.Errorf("%s for %s: %v", c.key, c.known, got)
		}
	}
}
