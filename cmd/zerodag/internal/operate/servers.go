package operate

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/term"
)

// newServers returns the command that lists the servers that share a database.
func newServers(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "servers", Short: "List the servers that share the database, and those that were lost",
		Long: `List the servers that share the database: their state, when they were last seen, and how many
tasks they run. A server that was not stopped is listed as lost for a day. On AWS there are no
servers: functions do their work.`}
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		list, err := r.Servers(ctx)
		if err != nil {
			return err
		}
		t := serverTable(list)
		return r.List(list.Servers, func(p cli.Printer) { p.WriteString(t.Text(r.Format == cli.WideForm, 0, term.Palette{})) }, t, "There are no servers.")
	})
}

func serverTable(list client.Servers) *term.Table {
	t := term.NewTable(term.Column{Title: "SERVER", Name: true}, term.Column{Title: "STATE"}, term.Column{Title: "SEEN"}, term.Column{Title: "STARTED"}, term.Column{Title: "TASKS"},
		term.Column{Title: "ROLES"}, term.Column{Title: "RUNS"}, term.Column{Title: "CLOCK"}, term.Column{Title: "VERSION"},
		term.Column{Title: "HOST", Wide: true}, term.Column{Title: "PROCESS", Wide: true}, term.Column{Title: "ID", Wide: true})
	for _, s := range list.Servers {
		tasks, runs := strconv.Itoa(s.RunningTasks), "all"
		if s.TaskSlots != nil {
			tasks += " of " + strconv.Itoa(*s.TaskSlots)
		}
		switch {
		case !slices.Contains(s.Roles, "agent"):
			runs = ""
		case s.TaskTypes != nil:
			runs = strings.Join(s.TaskTypes, " ")
		}
		t.Add(s.Name, s.State, term.Ago(list.At, &s.SeenAt), term.Ago(list.At, &s.StartedAt), tasks, strings.Join(s.Roles, " "), runs, clockText(s.ClockAhead), s.Version,
			s.Host, strconv.Itoa(s.ProcessID), s.ID)
	}
	return t
}

// clockText shows how far a clock is ahead; differences that have no effect are not shown.
func clockText(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond)
	switch {
	case d.Abs() < time.Second:
		return "right"
	case d < 0:
		return (-d).String() + " behind"
	}
	return d.String() + " ahead"
}
