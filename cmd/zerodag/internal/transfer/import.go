package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/program"
)

type importCommand struct {
	cli.Remote
	from                            string
	fromHeaders                     []string
	fromAuth                        string
	projects                        []string
	latest, disabled, alsoSchedules bool
	source                          *client.Client
}

// imported is the report about one project.
type imported struct {
	Project   string             `json:"project"`
	Copied    []string           `json:"copied"`
	There     int                `json:"alreadyThere"`
	Schedules []importedSchedule `json:"schedules"`
	Secrets   []string           `json:"secretsToSet"`
	Problems  []string           `json:"problems"`
}

type importedSchedule struct {
	Workflow string    `json:"workflow"`
	Next     time.Time `json:"nextRunTime"`
	Disabled bool      `json:"disabled"`
}

// NewImport returns the command that copies projects from another server.
func NewImport(s cli.Streams) *cobra.Command {
	c := &importCommand{Remote: cli.Remote{Streams: s}}
	cmd := &cobra.Command{
		Use:   "import --from URL",
		Short: "Copy projects and schedules from another Digdag or zerodag server",
		Long: `Copy projects and schedules from another Digdag or zerodag server.

Revisions are copied oldest first. Existing ones are skipped, so you can repeat the command.
Schedules continue from where they are on the other server, which is not changed: disable
them there before both servers run them. Values of secrets cannot be read: the command
lists the secrets to set again.`,
	}
	flags := cmd.Flags()
	flags.StringVar(&c.from, "from", "", "`URL` of the server to copy from (required)")
	flags.StringArrayVar(&c.fromHeaders, "from-header", nil, "add a header to requests to that server: `KEY=VALUE` (may be repeated)")
	flags.StringVar(&c.fromAuth, "from-basic-auth", "", "log in to that server as `USER:PASSWORD`")
	flags.StringArrayVar(&c.projects, "project", nil, "copy only the project of this `NAME` (may be repeated)")
	flags.BoolVar(&c.latest, "latest", false, "copy only the latest revision of each project")
	flags.BoolVar(&c.disabled, "disabled", false, "leave all copied schedules disabled")
	flags.BoolVar(&c.alsoSchedules, "schedules", false, "also update the schedules of projects without new revisions")
	cmd.AddCommand(newImportDagu(s), newImportDigdag(s))
	return c.Command(cmd, 0, 2, func(ctx context.Context, args []string) error {
		switch {
		case len(args) == 0:
		case strings.Contains(args[0], "://"):
			return program.UsageError(fmt.Errorf("name the other server with an option: --from %s", args[0]))
		default:
			return program.UsageError(fmt.Errorf("unexpected argument: %s: `zerodag import --from URL` copies from a server, `zerodag import digdag` copies the history of a Digdag server, and `zerodag import dagu FILE` translates a Dagu workflow", args[0]))
		}
		if c.from == "" {
			return program.UsageError(errors.New("--from option is required"))
		}
		return c.run(ctx)
	})
}

func (c *importCommand) run(ctx context.Context) error {
	if err := c.Open(ctx); err != nil {
		return err
	}
	var err error
	if c.source, err = sourceOf(&c.Remote, c.from, c.fromHeaders, c.fromAuth); err != nil {
		return err
	}
	projects, err := c.chosen(ctx)
	if err != nil {
		return err
	}
	report := []imported{}
	var failed error
	for _, p := range projects {
		one, err := c.project(ctx, p)
		report = append(report, one)
		if err != nil {
			failed = fmt.Errorf("import project %s: %w\nhint: run the same command again; it continues", p.Name, err)
			break
		}
		c.Hint("Imported project '%s' (%d of %d).", p.Name, len(report), len(projects))
	}
	return errors.Join(c.showReport(report), failed)
}

// chosen lists the projects to copy.
func (c *importCommand) chosen(ctx context.Context) (list []client.Project, err error) {
	for _, name := range c.projects {
		p, err := c.source.Project(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	if len(c.projects) > 0 {
		return list, nil
	}
	return c.source.AllProjects(ctx)
}

// project copies one project. Requests that the servers refuse become problems in the report; an unreachable server is
// an error.
func (c *importCommand) project(ctx context.Context, from client.Project) (imported, error) {
	report := imported{Project: from.Name, Copied: []string{}, Schedules: []importedSchedule{}, Secrets: []string{}, Problems: []string{}}
	revisions := []client.Revision{{Revision: from.Revision, ArchiveMD5: from.ArchiveMD5}}
	if !c.latest {
		var err error
		if revisions, err = c.source.AllRevisions(ctx, from.ID); err != nil {
			return report, err
		}
	}
	slices.Reverse(revisions)
	if err := c.copyRevisions(ctx, from, revisions, &report); err != nil {
		return report, err
	}
	to, err := c.Project(ctx, from.Name)
	if client.IsMissing(err) {
		return report, nil
	}
	if err != nil {
		return report, err
	}
	if c.alsoSchedules || slices.Contains(report.Copied, from.Revision) {
		if err := c.bringInLine(ctx, from.ID, to.ID, &report); err != nil {
			return report, err
		}
	}
	return report, c.compareSecrets(ctx, from.ID, to.ID, &report)
}

// refused records a server's refusal; other errors are returned.
func (r *imported) refused(what string, err error) error {
	var status *client.StatusError
	if errors.As(err, &status) && status.Status < 500 {
		r.Problems = append(r.Problems, what+": "+err.Error())
		return nil
	}
	return err
}

// compareSecrets finds the secrets that must still be set.
func (c *importCommand) compareSecrets(ctx context.Context, from, to client.ID, report *imported) error {
	there, err := c.source.Secrets(ctx, from)
	if err != nil {
		return report.refused("secrets", err)
	}
	here, err := c.Secrets(ctx, to)
	if err != nil {
		return report.refused("secrets", err)
	}
	for _, s := range there {
		if !slices.ContainsFunc(here, func(x client.Secret) bool { return x.Key == s.Key }) {
			report.Secrets = append(report.Secrets, s.Key)
		}
	}
	return nil
}
