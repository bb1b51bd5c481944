package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/attemptview"
	"zerodag/internal/client"
	"zerodag/internal/term"
)

// newTasks returns the command that lists the tasks of an attempt.
func newTasks(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "tasks attempt-id", Aliases: []string{"task"}, Short: "Show the tasks of an attempt"}
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		list, err := r.Tasks(ctx, id)
		if err != nil {
			return err
		}
		none := "There are no tasks."
		if len(list) == 0 { // a missing attempt also has none
			a, err := r.Attempt(ctx, id)
			if err != nil {
				return err
			}
			if a.Imported {
				none += " The attempt was " + importedText + "."
			}
		}
		err = r.List(list, func(p cli.Printer) {
			for _, t := range list {
				p.Block("   ", "id", t.ID, "name", t.FullName, "state", t.State, "started", t.StartedAt, "updated", t.UpdatedAt,
					"config", t.Config, "parent", t.ParentID, "upstreams", t.Upstreams, "export params", t.ExportParams,
					"store params", t.StoreParams, "state params", t.StateParams)
			}
			p.Line("%d entries.", len(list))
		}, taskTable(time.Now(), list), none)
		if err != nil || !r.Ours() {
			return err
		}
		return r.TellFailed(ctx, id, list)
	})
}

// taskTable lists tasks in the order of their ids, with their tries and errors.
func taskTable(now time.Time, list []client.Task) *term.Table {
	t := term.NewTable(term.Column{Title: "ID"}, term.Column{Title: "TASK", Name: true}, term.Column{Title: "STATE", Ink: attemptview.StatusInk}, term.Column{Title: "TRIES"}, term.Column{Title: "STARTED", Spare: true}, term.Column{Title: "TOOK"}, term.Column{Title: "SERVER", Spare: true},
		term.Column{Title: "ERROR", Name: true}, term.Column{Title: "UPDATED", Wide: true}, term.Column{Title: "STORED", Wide: true})
	for _, one := range list {
		t.Add(string(one.ID), one.FullName, one.State, tries(one), term.ShortTime(one.StartedAt), taskTook(now, one), one.AgentID, firstLine(attemptview.ErrorOf(one)), term.ShortTime(&one.UpdatedAt), cli.Shown(one.StoreParams))
	}
	return t
}

// tries returns how many times a task has run or its group has begun; "" if that is unknown.
func tries(t client.Task) string {
	if n, counted := attemptview.RetriesOf(t); counted {
		return strconv.Itoa(n + 1)
	}
	return ""
}

// longestCell is how many characters of an error a list shows.
const longestCell = 200

// firstLine returns as much of a message as a list shows.
func firstLine(message string) string {
	line, _, more := strings.Cut(message, "\n")
	if short := term.ShortenEnd(line, longestCell); short != line || !more {
		return short
	}
	return line + " ..."
}

func taskTook(now time.Time, t client.Task) string {
	switch t.State {
	case "running", "ready", "retry_waiting", "group_retry_waiting", "planned":
		return term.Took(now, t.StartedAt, nil)
	}
	return term.Took(now, t.StartedAt, &t.UpdatedAt)
}
