package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/engine/dig"
	"zerodag/engine/schedule"
)

type checkCommand struct {
	commonFlags
	streams
	project string
	strict  bool
}

// newCheck shows what a project defines, and what can be known to be wrong with it.
func newCheck(s streams) *cobra.Command {
	c := &checkCommand{streams: s}
	cmd := &cobra.Command{
		Use:     "check [workflow.dig]",
		Aliases: []string{"c"},
		Short:   "Show and check the workflows of a project",
		Args:    upTo(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.check(args) },
	}
	cmd.Flags().StringVar(&c.project, "project", "", "the project's `DIR` (default: the current one)")
	cmd.Flags().BoolVar(&c.strict, "strict", false, "warnings are errors")
	c.registerParams(cmd)
	c.register(cmd)
	return cmd
}

func (c *checkCommand) check(args []string) error {
	banner(c.err)
	settings, err := c.load()
	if err != nil {
		return err
	}
	c.tell(c.err, settings)
	project, err := openProject(c.project)
	if err != nil {
		return err
	}
	params, err := c.parametersOf(settings, project)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "  System default timezone: %s\n\n", systemZone())
	named, of := "", ""
	if len(args) > 0 {
		named = workflowArgument(project, args[0])
		of = named + ".dig"
	}
	workflows, names, faults, err := loadHere(project, named, c.err)
	if err != nil {
		return err
	}
	warnings, err := sortFaults(faults, of)
	if err != nil {
		return err
	}
	if of != "" && !asDigdag() { // a mistyped name must not be taken for a workflow in which nothing is wrong
		if _, err := findWorkflow(project, workflows, named, c.project); err != nil {
			return err
		}
	}
	if err := c.showDefinitions(workflows); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "  Parameters:\n%s\n", indented(string(dig.FormatYAML(params)), "    "))
	scheduled, err := c.showSchedules(workflows)
	if err != nil {
		return err
	}
	for _, s := range scheduled {
		s.showNext(c.out)
	}
	more, err := projectWarnings(project, names, workflows, "", params)
	if err != nil {
		return err
	}
	if len(names) == 0 && !asDigdag() {
		more = append(more, noWorkflow(project))
	}
	return c.warn(append(warnings, more...))
}

func (c *checkCommand) showDefinitions(workflows []dig.Workflow) error {
	fmt.Fprintf(c.out, "  Definitions (%d workflows):\n", len(workflows))
	for _, w := range workflows {
		nodes, err := dig.Tree(w.Name, w.Config)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "    %s (%d tasks)\n", w.Name, len(nodes))
		shown := map[string]bool{}
		for _, n := range nodes {
			v, _ := n.Config.Get("require>")
			if required, ok := v.(string); ok && !shown[required] {
				shown[required] = true
				fmt.Fprintf(c.out, "      -> %s\n", required)
			}
		}
	}
	fmt.Fprintln(c.out)
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
		s, err := dig.ScheduleHere(w.Config, zone)
		if err != nil {
			continue // it is among the warnings: another workflow is looked at
		}
		first, shown := s.First(now), zone
		if asDigdag() {
			shown = time.Local
		}
		list = append(list, scheduled{w.Name, zone, first, s})
		fmt.Fprintf(&text, "    %s:\n%s", w.Name, indented(string(dig.FormatYAML(config)), "      "))
		fmt.Fprintf(&text, "      first session time: %s\n", showTime(first.Time.In(shown)))
		fmt.Fprintf(&text, "      first scheduled to run at: %s\n", showTimeFrom(now, first.RunTime.In(shown)))
	}
	fmt.Fprintf(c.out, "  Schedules (%d entries):\n%s\n", len(list), text.String())
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
		fmt.Fprintf(out, "    %s  (session %s)\n", showTime(next.RunTime.In(s.zone)), showTime(next.Time.In(s.zone)))
		next = s.Next(next.Time)
	}
	fmt.Fprintln(out)
}

func (c *checkCommand) warn(warnings dig.Errors) error {
	if len(warnings) == 0 {
		return nil
	}
	fmt.Fprintf(c.out, "  Warnings (%d):\n", len(warnings))
	fmt.Fprint(c.out, indented(warnings.Error(), "    "))
	fmt.Fprintln(c.out)
	return strictly(warnings, c.strict)
}

// indented puts a prefix before every line, and a newline after the last.
func indented(text, prefix string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(prefix + line + "\n")
	}
	return b.String()
}

// showTime is the form of times in all output.
func showTime(t time.Time) string { return t.Format("2006-01-02 15:04:05 -0700") }

// showTimeFrom adds how far away a time is.
func showTimeFrom(now, t time.Time) string {
	if d := t.Sub(now); d >= 0 {
		return fmt.Sprintf("%s (in %s)", showTime(t), showDuration(d))
	}
	return fmt.Sprintf("%s (%s ago)", showTime(t), showDuration(now.Sub(t)))
}

// showDuration writes "2h 3m 4s", from the first part that is not 0.
func showDuration(d time.Duration) string {
	n := int64(d / time.Second)
	h, m, s := n/3600, n/60%60, n%60
	switch {
	case h > 0:
		return fmt.Sprintf("%dh %dm %ds", h, m, s)
	case m > 0:
		return fmt.Sprintf("%dm %ds", m, s)
	}
	return fmt.Sprintf("%ds", s)
}

// systemZone names the time zone of this machine.
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
