package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/logstream"
	"zerodag/internal/projectfolder"
)

// optionValues returns proposals for the values of options, by option, or by command and option.
func optionValues() map[string]proposal {
	sessions := words("daily", "hourly", "last", "schedule")
	formats := words(cli.TextForm, cli.WideForm, cli.JSONForm, cli.YAMLForm, cli.DigdagForm)
	return map[string]proposal{
		"run --start": workflowTasks, "run --goal": workflowTasks, "run --end": workflowTasks, "run --session": sessions, "run --session-time": sessions,
		"start --session": words("daily", "hourly", "now"), "retry --resume-from": taskNames, "retry --only": taskNames, "retry --until": taskNames, "retry --mark-success": taskNames,
		"secrets --project": projectNames, "tokens create --project": projectNames, "admin queue --queue": words("tasks", "events"), "workflows --order": words("asc", "desc"), "sessions --status": words("running", "success", "error", "killed"), "tokens create --role": words("metrics", "viewer", "operator", "developer", "admin", "owner"),
		"init --type": words(strings.Split(projectfolder.Kinds, ", ")...), "server --log-format": words("text", "json"), "--log-level": words(logstream.Levels()...),
		"--output": formats, "--format": formats,
	}
}

// words proposes fixed values.
func words(list ...string) proposal {
	return func(context.Context, *cobra.Command, []string) ([]string, error) {
		return append([]string{}, list...), nil
	}
}

// completeOptions enables shell completion of the values of all options. Options without proposals complete files, or
// folders if the option names one.
func completeOptions(c *cobra.Command) {
	list := optionValues()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		values, known := list[path+" --"+f.Name]
		if !known {
			values, known = list["--"+f.Name]
		}
		kind, _ := pflag.UnquoteUsage(f)
		switch {
		case known && kind != "PATH" && kind != "FILE" && kind != "DIR":
			_ = c.RegisterFlagCompletionFunc(f.Name, values.complete) // the flag exists
		case kind == "DIR" || kind == "FOLDER":
			_ = c.MarkFlagDirname(f.Name)
		}
	})
	for _, sub := range c.Commands() {
		completeOptions(sub)
	}
}
