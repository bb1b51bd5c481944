package operate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// NewAlert returns the commands that list and test notification channels.
func NewAlert(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "alert",
		Short: "List and test notification channels",
		RunE:  func(c *cobra.Command, _ []string) error { return cli.ShowUsage(c, s) },
	}
	c.AddCommand(newAlerts(s), newTestAlert(s))
	return c
}

func newAlerts(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "list", Short: "List notification channels and routes",
		Long: `List the channels in the server's configuration with their last delivery and their last
error, and the routes that select which notifications each channel gets. The channels'
secrets are never shown.`}
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		all, err := r.Alerts(ctx)
		if err != nil {
			return err
		}
		return r.Show(all, func(p cli.Printer) {
			if len(all.Channels) == 0 {
				p.Line("The server has no channels: set alert.channels.NAME.type in its configuration (`%s docs notifications`).", program.Called())
				return
			}
			p.WriteString(channelTable(all.Channels, time.Now()).Text(true, 0, term.Palette{}))
			if len(all.Routes) > 0 {
				p.Line("")
				p.WriteString(routeTable(all.Routes).Text(true, 0, term.Palette{}))
			}
		})
	})
}

func channelTable(list []client.AlertChannel, now time.Time) *term.Table {
	t := term.NewTable(term.Column{Title: "CHANNEL", Name: true}, term.Column{Title: "TYPE"}, term.Column{Title: "WAITING"}, term.Column{Title: "DELIVERED"}, term.Column{Title: "FAILED"},
		term.Column{Title: "LAST ERROR", Name: true})
	for _, c := range list {
		problem := ""
		if c.Error != nil {
			problem = *c.Error
		}
		t.Add(c.Name, c.Type, strconv.Itoa(c.Waiting), term.Ago(now, c.DeliveredAt), term.Ago(now, c.FailedAt), problem)
	}
	return t
}

func routeTable(list []client.AlertRoute) *term.Table {
	t := term.NewTable(term.Column{Title: "ROUTE", Name: true}, term.Column{Title: "CHANNELS", Name: true}, term.Column{Title: "SELECTS", Name: true}, term.Column{Title: "QUIET"})
	for _, r := range list {
		var parts []string
		add := func(name string, values []string) {
			if len(values) > 0 {
				parts = append(parts, name+" "+strings.Join(values, ","))
			}
		}
		sites := make([]string, len(r.Sites))
		for i, id := range r.Sites {
			sites[i] = strconv.FormatInt(id, 10)
		}
		add("sites", sites)
		add("projects", r.Projects)
		add("workflows", r.Workflows)
		add("tags", r.Tags)
		add("kinds", r.Kinds)
		if len(parts) == 0 {
			parts = []string{"everything"}
		}
		quiet := ""
		if r.Quiet != nil {
			quiet = term.WholeDuration(time.Duration(*r.Quiet * float64(time.Second)))
		}
		t.Add(r.Name, strings.Join(r.Channels, ", "), strings.Join(parts, "; "), quiet)
	}
	return t
}

func newTestAlert(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "test CHANNEL|ROUTE", Short: "Send a test notification now",
		Long: `Send a notification that is marked as a test to a channel, or to all channels of a route,
and show the receiver's response. A failed test is not retried, and the exit code is 1.`}
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		list, err := r.SendTestAlert(ctx, args[0])
		if err != nil {
			return err
		}
		failed := 0
		for _, t := range list {
			if !t.Delivered {
				failed++
			}
		}
		err = r.Show(list, func(p cli.Printer) {
			for _, t := range list {
				switch {
				case !t.Delivered && t.Error != nil:
					p.Line("%s: not delivered: %s", t.Channel, *t.Error)
				case t.Answer != nil:
					p.Line("%s: delivered (%s)", t.Channel, *t.Answer)
				default:
					p.Line("%s: delivered", t.Channel)
				}
			}
		})
		if err == nil && failed > 0 {
			return fmt.Errorf("%d of %d channels did not accept the test", failed, len(list))
		}
		return err
	})
}
