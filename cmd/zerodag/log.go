package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/attemptview"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/remedy"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
)

type logCommand struct {
	remote
	verbose, follow, urls bool
}

// newLog returns the command that shows the logs of an attempt.
func newLog(s cli.Streams) *cobra.Command {
	c := &logCommand{remote: remote{cli.Remote{Streams: s}}}
	cmd := &cobra.Command{Use: "log attempt-id [+task name prefix]", Aliases: []string{"logs"}, Short: "Show the logs of an attempt or of its tasks"}
	cmd.Flags().BoolVarP(&c.verbose, "verbose", "v", false, "also show debug messages")
	cmd.Flags().BoolVarP(&c.follow, "follow", "f", false, "show new lines until the attempt or the task ends")
	cmd.Flags().BoolVar(&c.urls, "url", false, "show the URLs of the log files instead of their content")
	return c.Command(cmd, 1, 2, func(ctx context.Context, args []string) error {
		id, err := c.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		prefix := ""
		if len(args) == 2 {
			prefix = args[1]
		}
		if c.urls || !c.ForPeople() {
			return c.listFiles(ctx, id, prefix)
		}
		if !c.Ours() {
			return c.reader(true).Read(ctx, id, prefix)
		}
		return c.showLog(ctx, id, prefix)
	})
}

// reader returns a reader of the log with the given options; plain keeps lines unchanged.
func (c *logCommand) reader(plain bool) *attemptview.LogReader {
	_, ink := term.Look(c.Out)
	return attemptview.NewLogReader(c.Client, attemptview.LogOptions{Out: c.Out, Verbose: c.verbose, Follow: c.follow, Plain: plain, Ink: ink})
}

// showLog shows the log as text. A user who follows it to the end of the attempt sees how it ended.
func (c *logCommand) showLog(ctx context.Context, id client.ID, prefix string) error {
	log := c.reader(false)
	if err := log.Read(ctx, id, prefix); err != nil {
		return err
	}
	if prefix != "" && log.Empty() {
		return c.knowTask(ctx, id, prefix)
	}
	switch {
	case prefix != "":
		return nil
	case !c.follow:
		return c.TellFailed(ctx, id, nil)
	}
	a, err := c.Attempt(ctx, id)
	if err != nil {
		return err
	}
	tasks, err := c.Tasks(ctx, id)
	if err != nil {
		return err
	}
	c.Warnings(attemptview.IncompleteLogs(tasks))
	if a.Success {
		return c.TellEnd(a, nil)
	}
	failed, err := c.AttemptViews().FailuresAmong(ctx, a, tasks, 0)
	if err != nil {
		return err
	}
	return c.TellEnd(a, failed)
}

// knowTask refuses a name prefix that no task of an attempt has.
func (c *logCommand) knowTask(ctx context.Context, id client.ID, prefix string) error {
	tasks, err := c.Tasks(ctx, id)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range tasks {
		if strings.HasPrefix(t.FullName, prefix) {
			return nil
		}
		names = append(names, t.FullName)
	}
	near := ""
	if full := remedy.Near(prefix, names); full != "" {
		near = "did you mean " + full + "? "
	}
	return fmt.Errorf("attempt %s has no task whose name begins with %s\nhint: %s%s", id, prefix, near, program.AsCalled("`zerodag tasks "+string(id)+"` lists them"))
}

// waitFlags let a command that starts an attempt wait for its end.
type waitFlags struct{ wait, follow bool }

func (f *waitFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.wait, "wait", false, "wait until the attempt ends; exit code 0 only if it succeeded")
	c.Flags().BoolVar(&f.follow, "follow", false, "like --wait, and show the log while waiting")
}

// check refuses options that would mix a log with a result for programs.
func (f *waitFlags) check(r *remote) error {
	if f.follow && !r.ForPeople() {
		return program.UsageError(fmt.Errorf("--follow mixes the log with the result: with --output %s use --wait", r.Format))
	}
	return nil
}

// until waits for the end of an attempt, if requested.
func (f *waitFlags) until(ctx context.Context, r *remote, a client.Attempt) error {
	defer func() {
		if ctx.Err() != nil {
			r.Hint("The attempt continues: `zerodag log %s --follow` shows its log again.", a.ID)
		}
	}()
	switch {
	case f.follow:
		c := &logCommand{remote: *r, follow: true}
		return c.showLog(ctx, a.ID, "")
	case f.wait:
		a, err := r.AttemptViews().Await(ctx, a.ID)
		if err != nil {
			return err
		}
		return r.TellOutcome(ctx, a, taskview.LastLines)
	}
	return nil
}

// listFiles lists the log files.
func (c *logCommand) listFiles(ctx context.Context, id client.ID, prefix string) error {
	list := c.LogFiles
	if c.urls {
		list = c.LogLinks
	}
	handles, err := list(ctx, id, prefix)
	if err != nil {
		return err
	}
	type listed struct {
		client.LogFile
		URL string `json:"url"`
	}
	files, closed := make([]listed, len(handles)), 0
	for i, h := range handles {
		files[i] = listed{h, c.LogURL(id, h)}
		if h.Direct == "" {
			closed++
		}
	}
	if err := c.Show(files, func(p cli.Printer) {
		for _, l := range files {
			p.Line("%s", l.URL)
		}
	}); err != nil {
		return err
	}
	if c.urls && c.Ours() && closed > 0 {
		c.Hint("hint: the API serves %d of %d logs at URLs that require a login: `zerodag log %s` shows them", closed, len(files), id)
	}
	return nil
}
