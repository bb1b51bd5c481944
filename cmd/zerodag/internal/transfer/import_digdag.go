package transfer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/configuration"
	"zerodag/internal/connection"
	"zerodag/internal/digdag"
	"zerodag/internal/program"
	"zerodag/internal/serverconfig"
	"zerodag/internal/term"
)

type importDigdag struct {
	cli.Remote
	from, database string
	fromHeaders    []string
	fromAuth       string
	site           int64
	projects       []string
	since          string
	schedules      string
	dryRun         bool
}

// newImportDigdag returns the command that copies the history of a Digdag server.
func newImportDigdag(s cli.Streams) *cobra.Command {
	c := &importDigdag{Remote: cli.Remote{Streams: s}}
	cmd := &cobra.Command{
		Use:   "digdag --from URL | --database URL",
		Short: "Copy finished sessions and the positions of schedules from Digdag",
		Long: `Copy finished sessions with their attempts, and the positions of schedules, from a Digdag server
or from its PostgreSQL database, which is only read. Copy the projects first: zerodag import --from URL.

Tasks and logs are not copied. Sessions with a running attempt are omitted, and reported. Sessions that
started here never change. Repeat the command as often as you like: what exists is skipped.

Schedules continue where they are in Digdag. --schedules selects what else happens to them:
  times     whether they are enabled stays as it is here (the default)
  all       they are enabled or disabled as in Digdag: disable the scheduler there first
  disabled  they are disabled
  none      they are not changed

A schedule that has already started its next session here is left alone.`,
		Example: `  zerodag import digdag --from http://old:65432 --since 2026-01-01
  zerodag import digdag --database digdag.properties --schedules all`,
	}
	flags := cmd.Flags()
	flags.StringVar(&c.from, "from", "", "`URL` of the Digdag server")
	flags.StringVar(&c.database, "database", "", "`URL` of Digdag's database (postgresql://...), or the configuration file of its server")
	flags.StringArrayVar(&c.fromHeaders, "from-header", nil, "add a header to requests to that server: `KEY=VALUE` (may be repeated)")
	flags.StringVar(&c.fromAuth, "from-basic-auth", "", "log in to that server as `USER:PASSWORD`")
	flags.Int64Var(&c.site, "from-site", 0, "`NUMBER` of the site in a database that several sites share")
	flags.StringArrayVar(&c.projects, "project", nil, "copy only the project of this `NAME` (may be repeated)")
	flags.StringVar(&c.since, "since", "", "copy only attempts that were created at this `TIME` or later: a date (UTC), or a time with an offset or Z")
	flags.StringVar(&c.schedules, "schedules", "times", "`CHANGE` of the schedules: times, all, disabled or none")
	flags.BoolVar(&c.dryRun, "dry-run", false, "change nothing, and report what would be copied")
	return c.Command(cmd, 0, 0, func(ctx context.Context, _ []string) error { return c.run(ctx) })
}

func (c *importDigdag) run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return program.UsageError(err)
	}
	if err := c.Open(ctx); err != nil {
		return err
	}
	history, err := c.history()
	if err != nil {
		return err
	}
	shown := time.Now()
	o.Progress = func(sent, of int) {
		if now := time.Now(); sent == of || now.Sub(shown) >= time.Second {
			shown = now
			c.Hint("%d of %d attempts", sent, of)
		}
	}
	report, err := digdag.Move(ctx, history, c.Client, o)
	if err != nil {
		err = fmt.Errorf("%w\nhint: run the same command again; it continues", err)
	}
	return errors.Join(c.showMoved(report), err)
}

// options reads the options that select what is copied.
func (c *importDigdag) options() (o digdag.Options, err error) {
	o = digdag.Options{Filter: digdag.Filter{Projects: c.projects}, DryRun: c.dryRun}
	if (c.from == "") == (c.database == "") {
		return o, errors.New("one of --from and --database is required")
	}
	if c.since != "" {
		if o.Since, err = time.Parse(time.DateOnly, c.since); err != nil {
			if o.Since, err = time.Parse(time.RFC3339, c.since); err != nil {
				return o, fmt.Errorf("--since must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z, not %q", c.since)
			}
		}
	}
	known := map[string]string{"times": "here", "all": "there", "disabled": "disabled", "none": ""}
	enabling, ok := known[c.schedules]
	if !ok {
		return o, fmt.Errorf("--schedules must be times, all, disabled or none, not %q", c.schedules)
	}
	o.Enabling = enabling
	return o, nil
}

// history returns where the history is read from.
func (c *importDigdag) history() (digdag.History, error) {
	if c.from == "" {
		address, err := databaseOf(c.database)
		return digdag.Database{URL: address, Site: c.site}, err
	}
	source, err := sourceOf(&c.Remote, c.from, c.fromHeaders, c.fromAuth)
	return digdag.Server{API: source}, err
}

// sourceOf returns a client for another server.
func sourceOf(r *cli.Remote, from string, headers []string, auth string) (*client.Client, error) {
	header := http.Header{}
	if err := connection.AddHeaders(header, headers, auth); err != nil {
		return nil, err
	}
	o := r.Options
	o.Endpoint, o.Header = from, header
	source, err := client.New(o)
	if err == nil && source.URL() == r.URL() {
		return nil, fmt.Errorf("--from and --endpoint are the same server, %s", r.URL())
	}
	return source, err
}

// databaseOf returns the address of a database that is given directly or in a Digdag server's configuration file.
func databaseOf(text string) (string, error) {
	if strings.Contains(text, "://") {
		return text, nil
	}
	file := configuration.Flags{Config: text}
	settings, err := file.Load()
	if err != nil {
		return "", err
	}
	if kind := strings.TrimSpace(settings["database.type"]); kind != configuration.PostgreSQL {
		return "", fmt.Errorf("%s has database.type = %s: only the history in a PostgreSQL database can be read; read that of a running server with --from URL", text, kind)
	}
	reading := settings.Reading()
	o, err := serverconfig.Database(reading)
	return o.URL, errors.Join(err, reading.Err)
}

// showMoved prints the report. It returns an error if something was left behind that users expect to be copied.
func (c *importDigdag) showMoved(r digdag.Report) error {
	err := c.Show(r, func(p cli.Printer) {
		word := "added"
		if c.dryRun {
			word = "would be added"
		}
		p.Line("%s: %d %s, %d already present", term.Counted(r.Attempts, "finished attempt"), r.Added, word, r.Present)
		if r.Unfinished > 0 {
			p.Line("  omitted: %s of sessions that are still running", term.Counted(r.Unfinished, "attempt"))
		}
		if r.Deleted > 0 {
			p.Line("  omitted: %s of deleted projects", term.Counted(r.Deleted, "attempt"))
		}
		for _, m := range r.Missing {
			what := "workflow " + m.Workflow + " of project " + m.Project
			if m.Workflow == "" {
				what = "project " + m.Project
			}
			p.Line("  omitted: %s: %s does not exist here", term.Counted(m.Attempts, "attempt"), what)
		}
		for _, text := range r.Refused {
			p.Line("  refused: %s", text)
		}
		for _, s := range r.Schedules {
			printMoved(p, s)
		}
	})
	if err == nil && len(r.Refused) > 0 {
		return fmt.Errorf("%s refused, see above", term.Counted(len(r.Refused), "attempt"))
	}
	return err
}

func printMoved(p cli.Printer, s client.ImportedSchedule) {
	name := s.Project + "/" + s.Workflow
	switch {
	case s.Schedule == nil:
		p.Line("schedule %s: omitted, because it does not exist here", name)
	case s.Outcome == "ahead":
		p.Line("schedule %s: unchanged, because it has continued here", name)
	case s.Schedule.DisabledAt != nil:
		p.Line("schedule %s: next run %s, disabled", name, term.Time(s.Schedule.NextRunTime.Local()))
	default:
		p.Line("schedule %s: next run %s", name, term.Time(s.Schedule.NextRunTime.Local()))
	}
}
