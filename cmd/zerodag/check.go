package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/configuration"
	"zerodag/internal/program"
	"zerodag/internal/projectfolder"
	"zerodag/internal/term"
)

type checkCommand struct {
	configuration.Flags
	cli.Streams
	project string
	strict  bool
	push    projectfolder.Admission
}

// newCheck returns the command that shows what a project defines, and its recognizable mistakes.
func newCheck(s cli.Streams) *cobra.Command {
	c := &checkCommand{Streams: s}
	cmd := &cobra.Command{
		Use:     "check [workflow.dig]",
		Aliases: []string{"c"},
		Short:   "Show and check the workflows of a project",
		Args:    cli.UpTo(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.check(args) },
	}
	cmd.Flags().StringVar(&c.project, "project", "", "the project's `DIR` (default: the current one)")
	cmd.Flags().BoolVar(&c.strict, "strict", false, "treat warnings as errors")
	cmd.Flags().BoolVar(&c.push.CopyLinks, "copy-outgoing-symlinks", false, "check as for a push with this option")
	cmd.Flags().BoolVar(&c.push.AllowEmpty, "allow-empty", false, "check as for a push with this option: accept a folder without workflows")
	c.RegisterParams(cmd.Flags())
	c.Register(cmd.Flags())
	return cmd
}

func (c *checkCommand) check(args []string) error {
	c.Banner()
	settings, err := c.Load()
	if err != nil {
		return err
	}
	c.Tell(c.Err, settings)
	project, err := projectfolder.Open(c.project)
	if err != nil {
		return err
	}
	params, err := c.ParametersAt(settings, project.Root())
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "  System default timezone: %s\n\n", systemZone())
	named := ""
	if len(args) > 0 {
		named = project.WorkflowName(args[0])
	}
	contents, warnings, err := c.read(project, named)
	if err != nil {
		return err
	}
	if named != "" && !program.AsDigdag() { // a mistyped name must not look like a workflow without mistakes
		if _, err := project.Find(contents.Workflows, named, c.project); err != nil {
			return err
		}
	}
	if err := c.showDefinitions(contents.Workflows); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "  Parameters:\n%s\n", term.Indented(string(dig.FormatYAML(params)), "    "))
	scheduled, err := c.showSchedules(contents.Workflows)
	if err != nil {
		return err
	}
	for _, s := range scheduled {
		s.showNext(c.Out)
	}
	more, err := c.doubts(project, contents, params)
	if err != nil {
		return err
	}
	return c.warn(append(warnings, more...))
}

// read reads the project as a push does, or as Digdag's check does.
func (c *checkCommand) read(project projectfolder.Folder, named string) (projectfolder.Contents, dig.Errors, error) {
	if !program.AsDigdag() {
		return project.Check(named, c.push, c.Err)
	}
	contents, err := project.ReadHere(named, c.Err)
	if err != nil {
		return contents, nil, err
	}
	of := ""
	if named != "" {
		of = named + dig.Suffix
	}
	warnings, err := projectfolder.SortFaults(contents.Faults, of)
	return contents, warnings, err
}

// doubts returns warnings about parts of a project that are legal but rarely do what their author intends.
func (c *checkCommand) doubts(project projectfolder.Folder, contents projectfolder.Contents, params *param.Map) (dig.Errors, error) {
	list, err := project.Warnings(contents, "", params)
	if err != nil {
		return nil, err
	}
	unread, err := project.UnreadParams(c.Params)
	return append(list, unread...), err
}

func (c *checkCommand) showDefinitions(workflows []dig.Workflow) error {
	fmt.Fprintf(c.Out, "  Definitions (%d workflows):\n", len(workflows))
	for _, w := range workflows {
		nodes, err := dig.Tree(w.Name, w.Config)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "    %s (%d tasks)\n", w.Name, len(nodes))
		shown := map[string]bool{}
		for _, n := range nodes {
			v, _ := n.Config.Get("require>")
			if required, ok := v.(string); ok && !shown[required] {
				shown[required] = true
				fmt.Fprintf(c.Out, "      -> %s\n", required)
			}
		}
	}
	fmt.Fprintln(c.Out)
	return nil
}

// scheduled is a workflow with a schedule.
type scheduled struct {
	name  string
	zone  *time.Location
	first schedule.Time
	*schedule.Schedule
}

func (c *checkCommand) showSchedules(workflows []dig.Workflow) ([]scheduled, error) {
	var list []scheduled
	var text strings.Builder
	now := time.Now()
	for _, w := range workflows {
		config := w.Config.Map("schedule")
		if config == nil {
			continue
		}
		zone, err := schedule.Zone(w.Zone)
		if err != nil {
			return nil, err
		}
		read := dig.Schedule
		if program.AsDigdag() {
			read = dig.ScheduleHere
		}
		s, err := read(w.Config, zone)
		if err != nil {
			continue // it is among the warnings: a different workflow is checked
		}
		first, shown := s.First(now), zone
		if program.AsDigdag() {
			shown = time.Local
		}
		list = append(list, scheduled{w.Name, zone, first, s})
		fmt.Fprintf(&text, "    %s:\n%s", w.Name, term.Indented(string(dig.FormatYAML(config)), "      "))
		if first.IsEnded() && !program.AsDigdag() {
			fmt.Fprintln(&text, "      first session time: never")
			continue
		}
		fmt.Fprintf(&text, "      first session time: %s\n", term.Time(first.Time.In(shown)))
		fmt.Fprintf(&text, "      first scheduled to run at: %s\n", term.TimeFrom(now, first.RunTime.In(shown)))
	}
	fmt.Fprintf(c.Out, "  Schedules (%d entries):\n%s\n", len(list), text.String())
	return list, nil
}

// upcoming is how many runs of each schedule are listed.
const upcoming = 10

func (s scheduled) showNext(out io.Writer) {
	fmt.Fprintf(out, "  Next %d runs of %s:\n", upcoming, s.name)
	next := s.first
	for range upcoming {
		if next.IsEnded() {
			fmt.Fprintln(out, "    (the schedule ends)")
			break
		}
		fmt.Fprintf(out, "    %s  (session %s)\n", term.Time(next.RunTime.In(s.zone)), term.Time(next.Time.In(s.zone)))
		next = s.Next(next.Time)
	}
	fmt.Fprintln(out)
}

func (c *checkCommand) warn(warnings dig.Errors) error {
	if len(warnings) == 0 {
		return nil
	}
	fmt.Fprintf(c.Out, "  Warnings (%d):\n", len(warnings))
	fmt.Fprint(c.Out, term.Indented(warnings.Error(), "    "))
	fmt.Fprintln(c.Out)
	return projectfolder.Strictly(warnings, c.strict)
}

// systemZone returns the name of this machine's time zone.
func systemZone() string {
	if name := os.Getenv("TZ"); name != "" {
		return strings.TrimPrefix(name, ":")
	}
	if link, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, found := strings.Cut(link, "zoneinfo/"); found {
			return name
		}
	}
	name, _ := time.Now().Zone()
	return name
}
