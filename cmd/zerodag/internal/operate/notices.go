package operate

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/term"
)

// mostNotices is how many notifications are listed.
const mostNotices = 1000

// newNotices returns the command that lists undelivered notifications, and sends them again.
func newNotices(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	attempt := ""
	c := &cobra.Command{Use: "notices", Short: "List notifications that are not delivered, or send them again",
		Long: `List the notifications of the site that are not delivered yet, with the time of the next
retry, and those that were given up. A notification is given up when it could not be
delivered for a day (notification.give_up_after). zerodag admin notices retry sends
notifications again.`}
	c.Flags().StringVar(&attempt, "attempt", "", "list only notifications about the attempt with this `ID`")
	c = r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		list, err := r.Notices(ctx, client.ID(attempt), mostNotices)
		if err != nil {
			return err
		}
		t := noticeTable(list, time.Now())
		return r.List(list, func(p cli.Printer) { p.WriteString(t.Text(true, 0, term.Palette{})) }, t, "All notifications were delivered.")
	})
	c.AddCommand(newRetryNotices(s))
	return c
}

func noticeTable(list []client.Notice, now time.Time) *term.Table {
	t := term.NewTable(term.Column{Title: "ID"}, term.Column{Title: "CHANNEL", Name: true}, term.Column{Title: "ATTEMPT"}, term.Column{Title: "WORKFLOW", Name: true}, term.Column{Title: "SINCE"}, term.Column{Title: "TRIES"},
		term.Column{Title: "NEXT TRY"}, term.Column{Title: "MESSAGE", Name: true}, term.Column{Title: "ERROR", Name: true})
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	for _, n := range list {
		attempt, next := "", "given up"
		if n.AttemptID != nil {
			attempt = string(*n.AttemptID)
		}
		if n.RetryAt != nil {
			next = "in " + term.WholeDuration(max(0, n.RetryAt.Sub(now)).Round(time.Second))
		}
		workflow := text(n.Project)
		if n.Workflow != nil {
			workflow += "/" + *n.Workflow
		}
		t.Add(string(n.ID), n.Channel, attempt, workflow, term.Ago(now, &n.CreatedAt), strconv.Itoa(n.Tries), next, n.Message, text(n.Error))
	}
	return t
}

func newRetryNotices(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "retry [ID...]", Short: "Send notifications again",
		Long: `Send notifications again now: those with the given IDs, or all that were given up. They are
retried for another day.`}
	return r.Command(c, 0, 1<<10, func(ctx context.Context, ids []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		n, err := retryNotices(ctx, r, ids)
		if err != nil {
			return err
		}
		result := struct {
			Notices int `json:"notices"`
		}{n}
		return r.Show(result, func(p cli.Printer) {
			if n == 1 {
				p.Line("Sending one notification again.")
				return
			}
			p.Line("Sending %d notifications again.", n)
		})
	})
}

// retryNotices sends the notifications with the given ids again, or all that were given up on.
func retryNotices(ctx context.Context, r *cli.Remote, ids []string) (n int, err error) {
	if len(ids) == 0 {
		return r.RetryNotices(ctx)
	}
	return oneByOne(ids, "after %d of %d notifications: %w", func(id string) (int, error) { return r.RetryNotice(ctx, client.ID(id)) })
}
