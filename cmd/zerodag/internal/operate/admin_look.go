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
	"zerodag/internal/term"
)

// newQueue returns the command that shows waiting messages.
func newQueue(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	queue, count, after := "", 0, ""
	c := &cobra.Command{Use: "queue", Short: "Show the waiting messages of the queues, and those in progress",
		Long: `Show the waiting messages of the queues and those in progress, of all sites: how many of each
kind, and the messages of one queue. On AWS the numbers are estimates, and messages are not
listed: reading a message would hide it from the functions.`}
	c.Flags().StringVar(&queue, "queue", "tasks", "list the messages of this `QUEUE`: tasks or events")
	c.Flags().IntVar(&count, "count", 50, "`NUMBER` of messages, 200 at most")
	c.Flags().StringVar(&after, "after", "", "`PLACE` to continue from, as printed after the previous list")
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		q, err := r.Queues(ctx, queue, client.ID(after), count)
		if err != nil {
			return err
		}
		if err := r.List(q, func(p cli.Printer) { p.WriteString(depths(q).Text(true, 0, term.Palette{})) }, depths(q), ""); err != nil || !r.Ours() {
			return err
		}
		now := time.UnixMilli(q.At)
		switch {
		case q.Messages == nil:
			r.Hint("The numbers are estimates. Messages cannot be listed here without hiding them from the functions.")
		case len(q.Messages) > 0:
			fmt.Fprintln(r.Out)
			err = r.List(q.Messages, nil, waiting(q.Messages, now), "")
		}
		if q.Next != nil {
			r.Hint("There may be more: zerodag admin queue --queue %s --after %s", q.Queue, *q.Next)
		}
		return err
	})
}

func depths(q client.Queues) *term.Table {
	t := term.NewTable(term.Column{Title: "QUEUE"}, term.Column{Title: "READY"}, term.Column{Title: "LATER"}, term.Column{Title: "LEASED"}, term.Column{Title: "BEHIND"}, term.Column{Title: "ASIDE", Spare: true}, term.Column{Title: "OLDEST", Spare: true})
	for _, d := range q.Queues {
		aside := ""
		if d.Aside != nil {
			aside = strconv.Itoa(*d.Aside)
		}
		t.Add(d.Name, strconv.Itoa(d.Ready), strconv.Itoa(d.Later), strconv.Itoa(d.Leased), strconv.Itoa(d.Behind), aside, agoMillis(time.UnixMilli(q.At), d.Oldest))
	}
	return t
}

func waiting(list []client.Queued, now time.Time) *term.Table {
	t := term.NewTable(append(subjectColumns(), term.Column{Title: "STATE"}, term.Column{Title: "SINCE"}, term.Column{Title: "TRIES"}, term.Column{Title: "SERVER", Spare: true}, term.Column{Title: "BYTES", Wide: true}, term.Column{Title: "MESSAGE", Wide: true})...)
	for _, m := range list {
		server := ""
		if m.AgentID != nil {
			server = *m.AgentID
		}
		t.Add(append(subjectCells(m.Subject), m.State, agoMillis(now, m.Since), strconv.Itoa(m.Deliveries), server, strconv.Itoa(m.Size), m.Name)...)
	}
	return t
}

// subjectColumns returns the columns that describe the subject of a message.
func subjectColumns() []term.Column {
	return []term.Column{{Title: "WHAT"}, {Title: "ATTEMPT"}, {Title: "WORKFLOW", Name: true}, {Title: "TASK", Name: true}}
}

func subjectCells(s client.Subject) []string {
	attempt, workflow, tasks := "", "", strings.Join(s.Tasks, " ")
	if s.Attempt != nil {
		attempt, workflow = string(s.Attempt.ID), s.Attempt.Project.Name+"/"+s.Attempt.Workflow
		if s.Attempt.Site != "0" {
			workflow += " (site " + string(s.Attempt.Site) + ")"
		}
	}
	if more := s.Count - len(s.Tasks); more > 0 {
		tasks = strings.TrimSpace(fmt.Sprintf("%s (%d more)", tasks, more))
		if len(s.Tasks) == 0 {
			tasks = amount(new(int64(s.Count)), "tasks", "")
		}
	}
	return []string{s.What, attempt, workflow, tasks}
}

// agoMillis returns how long ago a time, in milliseconds since 1970, was; "" for 0.
func agoMillis(now time.Time, millis int64) string {
	if millis == 0 {
		return ""
	}
	return term.Ago(now, new(time.UnixMilli(millis)))
}

// newLimits returns the command that shows the limits of a server.
func newLimits(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "limits", Short: "Show the limits of the server and their settings"}
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		list, err := r.Limits(ctx)
		if err != nil {
			return err
		}
		t := term.NewTable(term.Column{Title: "LIMIT"}, term.Column{Title: "VALUE"}, term.Column{Title: "USE", Spare: true}, term.Column{Title: "SETTING"}, term.Column{Title: "DESCRIPTION", Name: true})
		for _, l := range list {
			setting := ""
			if l.Setting != nil {
				setting = *l.Setting
			}
			t.Add(l.Name, amount(l.Value, l.Unit, "none"), amount(l.Use, l.Unit, ""), setting, l.About)
		}
		return r.List(list, func(p cli.Printer) { p.WriteString(t.Text(true, 0, term.Palette{})) }, t, "There are no limits.")
	})
}

// amount formats a number with its unit for users.
func amount(n *int64, unit, none string) string {
	switch {
	case n == nil:
		return none
	case unit == "seconds":
		return term.LongDuration(time.Duration(*n) * time.Second)
	case *n == 1:
		return "1 " + strings.TrimSuffix(unit, "s")
	case unit == "bytes" && *n >= 1<<20 && *n%(1<<20) == 0:
		return strconv.FormatInt(*n>>20, 10) + " MiB"
	}
	return strconv.FormatInt(*n, 10) + " " + unit
}

// newSites returns the command that shows the sites of a server.
func newSites(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "sites", Short: "Show the sites that share the server"}
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		list, err := r.Sites(ctx)
		if err != nil {
			return err
		}
		t := term.NewTable(term.Column{Title: "SITE"}, term.Column{Title: "PROJECTS"}, term.Column{Title: "RUNNING"}, term.Column{Title: "TOKENS", Spare: true})
		for _, x := range list {
			tokens := ""
			if x.Tokens != nil {
				tokens = strconv.Itoa(*x.Tokens)
			}
			t.Add(string(x.ID), strconv.Itoa(x.Projects), strconv.Itoa(x.Attempts), tokens)
		}
		return r.List(list, func(p cli.Printer) { p.WriteString(t.Text(true, 0, term.Palette{})) }, t, "No site has projects yet.")
	})
}

// newDeadLetters returns the command that shows dead letters.
func newDeadLetters(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	count := 0
	c := &cobra.Command{Use: "dead-letters [ID]", Short: "Show messages that could not be handled, or the content of one",
		Long: `Show messages that could not be handled and were set aside, of all sites, or the content of
one, except for the input and output of tasks. They stay where they are:
zerodag admin redrive sends them back. Only on AWS.`}
	c.Flags().IntVar(&count, "count", 50, "`NUMBER` of messages of each queue, 100 at most")
	return r.Command(c, 0, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		if len(args) == 1 {
			l, err := r.DeadLetter(ctx, args[0])
			if err != nil {
				return err
			}
			return r.Show(l, func(p cli.Printer) { printLetter(p, l) })
		}
		list, all, err := r.DeadLetters(ctx, count)
		if err != nil {
			return err
		}
		t := term.NewTable(append([]term.Column{{Title: "ID"}, {Title: "QUEUE"}}, append(subjectColumns(), term.Column{Title: "SENT"}, term.Column{Title: "RETURNED"}, term.Column{Title: "PROBLEM", Spare: true, Name: true})...)...)
		for _, l := range list {
			sent, broken := time.UnixMilli(l.Sent), ""
			if l.Broken != nil {
				broken = *l.Broken
			}
			t.Add(append(append([]string{l.ID, l.Queue}, subjectCells(l.Subject)...), term.ShortTime(&sent), strconv.Itoa(l.Returned), broken)...)
		}
		err = r.List(list, func(p cli.Printer) { p.WriteString(t.Text(true, 0, term.Palette{})) }, t, "There are no dead letters.")
		if !all {
			r.Hint("There are more: raise --count, or send some back first.")
		}
		return err
	})
}

func printLetter(p cli.Printer, l client.DeadLetter) {
	sent, cells := time.UnixMilli(l.Sent), subjectCells(l.Subject)
	pairs := []any{"id", l.ID, "queue", l.Queue, "message", l.Name, "what", cells[0], "attempt", cells[1], "workflow", cells[2], "tasks", cells[3],
		"sent", term.ShortTime(&sent), "deliveries", l.Deliveries, "returned", l.Returned, "bytes", l.Size}
	if l.Broken != nil {
		pairs = append(pairs, "problem", *l.Broken)
	}
	p.Block("", append(pairs, "body", string(l.Body))...)
}
