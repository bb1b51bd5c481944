package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
)

// TestEveryCommandTakesTheCommonOptions checks that scripts may pass the common options to any command, including a
// command that does not use them.
func TestEveryCommandTakesTheCommonOptions(t *testing.T) {
	t.Parallel()
	seen := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			seen++
			for _, name := range []string{"config", "log", "log-level", "property", "logback-config"} {
				if sub.Flags().Lookup(name) == nil {
					t.Errorf("%s does not take --%s", sub.CommandPath(), name)
				}
			}
			visit(sub)
		}
	}
	visit(newRoot(cli.Streams{}))
	if seen < 30 {
		t.Fatalf("only %d commands were looked at", seen)
	}
}

// TestGroups checks that the help sorts every command into one group, and that no group names a command that does not
// exist.
func TestGroups(t *testing.T) {
	t.Parallel()
	root := newRoot(cli.Streams{})
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.GroupID == "" {
			t.Errorf("%s is in no group: name it in groups", c.Name())
		}
	}
	seen := map[string]bool{}
	for _, g := range groups() {
		for _, name := range strings.Fields(g.commands) {
			if c, _, err := root.Find([]string{name}); err != nil || c.Name() != name {
				t.Errorf("%s names %s, which is no command", g.title, name)
			}
			if seen[name] {
				t.Errorf("%s is in two groups", name)
			}
			seen[name] = true
		}
	}
}

// theirs contains the options of each of Digdag's commands except the common ones, read from its command classes. A
// single letter is an option with one hyphen. `selfupdate` is omitted.
var theirs = map[string]string{
	"init": "t type", "new": "t type",
	"run": "project a rerun all s start g goal e end o save no-save p param P params-file t session-time session d dry-run E show-params timezone max-task-threads O task-log",
	"r":   "project", "check": "project p param P params-file", "c": "project",
	"scheduler": "project n port b bind admin-port admin-bind m memory o database O task-log A access-log disable-local-agent max-task-threads " +
		"disable-executor-loop disable-scheduler enable-swagger p param H header P params-file",
	"sched": "project",
	"server": "n port b bind admin-port admin-bind m memory o database O task-log A access-log disable-local-agent max-task-threads " +
		"disable-executor-loop disable-scheduler enable-swagger p param H header P params-file",
	"migrate": "o database", "archive": "project o output copy-outgoing-symlinks", "upload": "r revision", "download": "r revision o output",
	"push":    "project r revision schedule-from copy-outgoing-symlinks",
	"project": "last-id count name", "projects": "last-id count name", "workflow": "last-id count name order", "workflows": "last-id count name order",
	"start": "p param P params-file retry session revision d dry-run", "retry": "p param P params-file keep-revision latest-revision revision all resume resume-from name",
	"session": "i last-id s page-size", "sessions": "i last-id s page-size", "attempts": "i last-id s page-size", "attempt": "", "task": "", "tasks": "",
	"reschedule": "s skip t skip-to a run-at d dry-run", "backfill": "f from name count d dry-run", "log": "v verbose f follow", "logs": "v verbose f follow",
	"kill": "", "schedule": "", "schedules": "", "disable": "", "enable": "", "delete": "force", "secrets": "project set delete local", "secret": "project", "version": "",
}

// TestOptionsOfTheOriginal checks that zerodag accepts every Digdag command line: it has all of Digdag's commands,
// their other names and their options.
func TestOptionsOfTheOriginal(t *testing.T) {
	t.Parallel()
	local := strings.Fields("init new run r check c scheduler sched server migrate")
	for name, options := range theirs {
		options += " c config L log l log-level X logback-config"
		if !slices.Contains(local, name) {
			options += " e endpoint H header basic-auth disable-version-check disable-cert-validation"
		}
		c, _, err := newRoot(cli.Streams{}).Find([]string{name})
		if err != nil {
			t.Errorf("there is no command %s: %v", name, err)
			continue
		}
		for _, option := range strings.Fields(options) {
			if len(option) == 1 && c.Flags().ShorthandLookup(option) == nil || len(option) > 1 && c.Flags().Lookup(option) == nil {
				t.Errorf("%s does not take the option %s", name, option)
			}
		}
	}
}

// TestEveryCommandIsOnAPage checks that a user finds each command in the docs.
func TestEveryCommandIsOnAPage(t *testing.T) {
	t.Parallel()
	var pages strings.Builder
	for _, name := range []string{"README.md", "docs/cli.md", "docs/server.md", "docs/aws.md"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(text)
	}
	seen := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			seen++
			pattern := "(zerodag |`)" + sub.Name() + `\b`
			if c.HasParent() {
				pattern = "(" + strings.Join(append(c.Aliases, c.Name()), "|") + ") " + sub.Name() + `\b`
			}
			if sub.IsAvailableCommand() && sub.Name() != "help" && c.Name() != "completion" && !regexp.MustCompile(pattern).MatchString(pages.String()) {
				t.Errorf("no page names `%s`", sub.CommandPath())
			}
			visit(sub)
		}
	}
	visit(newRoot(cli.Streams{}))
	if seen < 30 {
		t.Fatalf("only %d commands were looked at", seen)
	}
}
