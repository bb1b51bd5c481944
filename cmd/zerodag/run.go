package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/catalogue/given"
	"zerodag/internal/configuration"
	"zerodag/internal/localrun"
	"zerodag/internal/program"
	"zerodag/internal/projectfolder"
)

// runCommand implements `zerodag run`.
type runCommand struct {
	cli.Streams
	localrun.Options
	project  string
	envFiles []string
	timezone string
	strict   bool
	accept   bool
}

// newRun returns the command that runs one workflow in this process.
func newRun(s cli.Streams) *cobra.Command {
	c := &runCommand{Streams: s, Options: localrun.Options{Out: s.Out, Err: s.Err}}
	cmd := &cobra.Command{
		Use:     "run <workflow.dig> [+task]",
		Aliases: []string{"r"},
		Short:   "Run a workflow locally",
		Args:    cli.UpTo(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.WrongCount(cmd, s, args, 2)
			}
			c.Again = func(session time.Time) string { return againCommand(cmd.Flags(), args, session) }
			return c.run(cmd.Context(), args[0], strings.Join(args[1:], ""))
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.project, "project", "", "the project's `DIR` (default: the current one)")
	f.BoolVarP(&c.Rerun, "rerun", "a", false, "ignore saved state and run everything")
	f.BoolVar(&c.Rerun, "all", false, "the same as --rerun")
	f.StringVarP(&c.Start, "start", "s", "", "run `+NAME` and all tasks after it even if their state is saved")
	f.StringVarP(&c.Goal, "goal", "g", "", "run `+NAME` and its children even if their state is saved, and no task after it")
	f.StringVarP(&c.End, "end", "e", "", "skip `+NAME` and all tasks after it")
	f.StringVarP(&c.Save, "save", "o", "", "`DIR` of saved state, relative to the project (default: "+projectfolder.NewRunFolder()+"/status)")
	f.BoolVar(&c.NoSave, "no-save", false, "neither read nor write saved state")
	f.StringVar(&c.Session, "session", "last", "session `TIME`: daily, hourly, schedule, last, or \"yyyy-MM-dd[ HH:mm:ss]\"")
	f.StringVarP(&c.Session, "session-time", "t", "last", "the same as --session")
	f.BoolVarP(&c.DryRun, "dry-run", "d", false, "evaluate parameters but run no operators")
	f.BoolVarP(&c.ShowParams, "show-params", "E", false, "print parameters before each operator")
	f.IntVar(&c.Threads, "max-task-threads", 0, "how many tasks may run at once (0: no limit)")
	f.StringVarP(&c.TaskLog, "task-log", "O", "", "write the logs of tasks to this `DIR`")
	f.StringArrayVar(&c.envFiles, "env-file", nil, "pass the KEY=value lines of this `FILE` to commands as environment variables, which _env_files and _env override (may be repeated: the last file wins)")
	f.BoolVar(&c.accept, "accept-local", false, configuration.AcceptLocalUsage)
	f.StringVar(&c.timezone, "timezone", "", "accepted for compatibility, without effect: timezone: of the workflow applies")
	f.BoolVar(&c.strict, "strict", false, "treat warnings as errors: run nothing if there are any")
	c.RegisterParams(cmd.Flags())
	c.Register(cmd.Flags())
	return cmd
}

// checkFlags refuses options that contradict each other, in Digdag's words.
func (c *runCommand) checkFlags() error {
	for _, pair := range []struct {
		both        bool
		first, then string
	}{
		{c.Start != "" && c.Goal != "", "-s, --start", "-g, --goal"},
		{c.Goal != "" && c.End != "", "-g, --goal", "-e, --end"},
		{c.Rerun && c.Start != "", "-a, --rerun", "-s, --start"},
		{c.Rerun && c.Goal != "", "-a, --rerun", "-g, --goal"},
	} {
		if pair.both {
			return program.UsageError(fmt.Errorf("%s and %s don't work together", pair.first, pair.then))
		}
	}
	return nil
}

func (c *runCommand) run(ctx context.Context, argument, pattern string) error {
	if err := c.checkFlags(); err != nil {
		return err
	}
	if c.Original() {
		c.Announce()
	}
	settings, err := c.Load()
	if err != nil {
		return err
	}
	c.Tell(c.Streams.Err, settings)
	if c.timezone != "" && !program.AsDigdag() {
		fmt.Fprintln(c.Streams.Err, "warning: --timezone has no effect: `timezone:` of the workflow applies")
	}
	if err := settings.StayHere(c.accept, false, configuration.ExecutorPlaces...); err != nil {
		return err
	}
	project, err := projectfolder.Open(c.project)
	if err != nil {
		return err
	}
	params, err := c.ParametersAt(settings, project.Root())
	if err != nil {
		return err
	}
	variables, err := readEnvFiles(c.envFiles)
	if err != nil {
		return err
	}
	if err := c.checkState(project); err != nil {
		return err
	}
	named := project.WorkflowName(argument)
	contents, err := project.ReadHere(named, c.Streams.Err)
	if err != nil {
		return err
	}
	workflow, err := project.Find(contents.Workflows, named, c.project)
	if err != nil {
		return err
	}
	for _, w := range given.UndeclaredWarnings(workflow.Config, params) {
		fmt.Fprintln(c.Streams.Err, "warning: "+w)
	}
	if err := c.warn(project, contents, workflow.Name+".dig", params); err != nil {
		return err
	}
	return localrun.Run(ctx, c.Options, localrun.Work{Settings: settings, Params: params, Variables: variables, Folder: project, Workflows: contents.Workflows, Workflow: workflow, Task: pattern})
}

// checkState returns an error if the run's state would not stay in the project's folder, or cannot be written there.
func (c *runCommand) checkState(project projectfolder.Folder) error {
	if err := project.OwnState(); err != nil || c.NoSave || c.DryRun || filepath.IsAbs(c.Save) {
		return err
	}
	return project.Writable()
}

// readEnvFiles reads the variables of the --env-file files, in order.
func readEnvFiles(names []string) (variables []string, err error) {
	for _, name := range names {
		text, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("read variables of --env-file: file %s does not exist (relative to the current folder)", name)
		case err != nil:
			return nil, fmt.Errorf("read variables of --env-file: %w", err)
		}
		list, err := dig.ReadEnvFile(name, text)
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			variables = append(variables, v.Name+"="+v.Value)
		}
	}
	return variables, nil
}

// warn shows warnings about the workflow's file, and about invalid schedules of other workflows.
func (c *runCommand) warn(project projectfolder.Folder, contents projectfolder.Contents, file string, params *param.Map) error {
	warnings, err := projectfolder.SortFaults(contents.Faults, file)
	if err != nil {
		return err
	}
	more, err := project.Warnings(contents, file, params)
	if err != nil {
		return err
	}
	unread, err := project.UnreadParams(c.Params)
	if err != nil {
		return err
	}
	if len(c.envFiles) == 0 && !program.AsDigdag() {
		more = append(more, project.UnreadDotEnv(params)...)
	}
	return projectfolder.TellWarnings(c.Streams.Err, slices.Concat(warnings, more, unread), c.strict)
}
