package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/configuration"
	"zerodag/internal/overview"
	"zerodag/internal/term"
)

// newStatus returns the command that shows the running, the failed, the late and the next sessions.
func newStatus(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "status [project-name]", Short: "Show running attempts, failures of the last day, and late and upcoming sessions"}
	return r.Command(c, 0, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		now := time.Now()
		projects, err := r.listProjects(ctx, args, client.Page{Count: overview.Most}, "")
		if err != nil {
			return err
		}
		found, err := overview.Of(ctx, r.Client, projects, len(args) == 1, now)
		if err != nil {
			return err
		}
		return r.Show(found, func(p cli.Printer) {
			columns, ink := term.Look(r.Out)
			part := func(title string, t *term.Table) {
				if t.Empty() {
					p.Line("%s: nothing", title)
					return
				}
				p.Line("%s:", title)
				p.WriteString(t.Text(r.Format == cli.WideForm, columns, ink))
			}
			if len(found.Paused) > 0 {
				part("Paused projects", pausedTable(found.Paused))
			}
			part("Running", attemptTable(now, found.Running))
			part("Failed in the last day", sessionTable(found.Failed))
			part("Late", scheduleTable(now, found.Late, found.Paused))
			if i := slices.IndexFunc(found.Late, found.IsRefused); i >= 0 {
				n := found.Late[i]
				p.Line("A due session could not start and will be retried. `zerodag start %s %s --session now --dry-run` may show why; the log of the server does.", term.ShellWord(n.Project.Name), term.ShellWord(n.Workflow.Name))
			}
			part("Next", scheduleTable(now, found.Next, found.Paused))
			if n := len(found.Notices); n > 0 {
				p.Line("%d notifications are not delivered: `zerodag admin notices` lists them.", n)
			}
			if states := serverStates(found.Several()); states != "" {
				p.Line("Servers: %s: `zerodag admin servers` lists them.", states)
			}
			for _, x := range found.Servers {
				if x.Exposed != nil {
					p.Line("Commands of tasks can read the data of the server %s, because %s: see agent.command_executor.process.isolation in `zerodag docs commands`.", x.Name, *x.Exposed)
				}
			}
			if kept := keptFor(found.Kept); kept != "" {
				p.Line("Kept: %s.", kept)
			}
			if found.Partly {
				p.Line("Only the last %d attempts and sessions, and the first %d projects, were examined.", overview.Most, overview.Most)
			}
			if end := r.nearEnd(ctx, now); end != nil {
				p.Line("The token that you use expires %s: create another one with `zerodag tokens create`.", term.Ago(now, end))
			}
		})
	})
}

// soon is how long before a token's expiry users are reminded of it.
const soon = 14 * 24 * time.Hour

// nearEnd returns when the caller's token expires if that is soon; otherwise nil, as for a server that does not report
// it.
func (r *remote) nearEnd(ctx context.Context, now time.Time) *time.Time {
	who, err := r.Caller(ctx)
	if err != nil || who.ExpiresAt == nil || who.ExpiresAt.Sub(now) > soon {
		return nil
	}
	return who.ExpiresAt
}

// serverStates counts servers by state: "2 running, 1 lost".
func serverStates(n map[string]int) string {
	var list []string
	for _, state := range []string{"running", "stopping", "silent", "lost"} {
		if n[state] > 0 {
			list = append(list, fmt.Sprintf("%d %s", n[state], state))
		}
	}
	return strings.Join(list, ", ")
}

// keptFor describes how long finished attempts and their logs are kept: "attempts and logs for 365 days
// (retention.attempts)".
func keptFor(list []client.Limit) string {
	texts := map[string]string{}
	for _, l := range list {
		text := configuration.Forever
		if l.Value != nil {
			text = "for " + term.LongDuration(time.Duration(*l.Value)*time.Second)
		}
		if l.Setting != nil {
			text += " (" + *l.Setting + ")"
		}
		if l.Value != nil || l.Name == "keep_attempts" {
			texts[l.Name] = text
		}
	}
	switch attempts, logs := texts["keep_attempts"], texts["keep_logs"]; {
	case attempts == "":
		return ""
	case logs == "":
		return "attempts and logs " + attempts
	default:
		return "attempts " + attempts + ", logs " + logs
	}
}

func pausedTable(list []client.Project) *term.Table {
	t := term.NewTable(term.Column{Title: "PROJECT", Name: true}, term.Column{Title: "PAUSED"})
	for _, p := range list {
		t.Add(p.Name, pausedBy(p.Paused))
	}
	return t
}
