package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/configuration"
)

var rewrite = flag.Bool("rewrite", false, "write docs/reference/commands.md again; read the diff before you keep it")

// TestCommandPage checks that the page of commands lists each command with all its options, as the program has them.
func TestCommandPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/reference/commands.md"
	want := commandPage()
	if *rewrite {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != want {
		t.Errorf("%s is not up to date: go test ./cmd/zerodag -run TestCommandPage -rewrite", page)
	}
	if n := strings.Count(want, "\n## "); n < 45 {
		t.Errorf("the page has only %d commands", n)
	}
}

// commandPage returns the page with all commands. It lists the options that every command takes only once, for all of
// them.
func commandPage() string {
	root := newRoot(cli.Streams{})
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- go test ./cmd/zerodag -run TestCommandPage -rewrite -->\n\nThis page lists every command with its options, as `zerodag COMMAND --help` shows them; [cli.md](../cli.md) explains what they are for.\n")
	common := map[string]bool{"help": true}
	options := pflag.NewFlagSet("", pflag.ContinueOnError)
	holder := &cobra.Command{}
	new(configuration.Flags).Register(holder.Flags())
	holder.Flags().VisitAll(func(f *pflag.Flag) {
		common[f.Name] = true
		options.AddFlag(f)
	})
	b.WriteString("\n## Options of every command\n")
	writeOptions(&b, options)
	writeCommands(&b, root, common)
	return b.String()
}

// writeCommands adds the subcommands of a command, each followed by its own subcommands.
func writeCommands(b *strings.Builder, c *cobra.Command, common map[string]bool) {
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		fmt.Fprintf(b, "\n## %s\n\n%s.\n\n    %s\n", sub.CommandPath(), strings.TrimSuffix(sub.Short, "."), sub.UseLine())
		if len(sub.Aliases) > 0 {
			fmt.Fprintf(b, "\nAlso available as `%s`.\n", strings.Join(sub.Aliases, "`, `"))
		}
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		sub.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !common[f.Name] {
				own.AddFlag(f)
			}
		})
		writeOptions(b, own)
		writeCommands(b, sub, common)
	}
}

// writeOptions adds a table of options, if any are visible.
func writeOptions(b *strings.Builder, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString("\n| option | |\n|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.TrimSpace(name+" "+value), strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(usage))
	})
}
