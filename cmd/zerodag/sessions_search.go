package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// searchFlags are the criteria of a search for sessions.
type searchFlags struct {
	tags, labels           []string
	status, from, to, text string
}

func (f *searchFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.tags, "tag", nil, "only sessions of workflows with this `TAG`, such as daily or team=sales (may be repeated)")
	c.Flags().StringArrayVar(&f.labels, "label", nil, "only sessions whose last attempt has this label `NAME=VALUE` (may be repeated)")
	c.Flags().StringVar(&f.status, "status", "", "only sessions whose last attempt has this `STATUS`: running, success, error or killed; several with commas")
	c.Flags().StringVar(&f.from, "from", "", "only sessions from this session `TIME`: yyyy-MM-dd[ HH:mm:ss] in the zone of each session, or with an offset, such as 2026-05-01T09:00:00Z")
	c.Flags().StringVar(&f.to, "to", "", "only sessions before this session `TIME`")
	c.Flags().StringVar(&f.text, "search", "", "only sessions with this `TEXT` in the name of the project or workflow, in a label, or in the newest definition of the workflow, ignoring case")
}

func (f *searchFlags) given() bool {
	return len(f.tags) > 0 || len(f.labels) > 0 || f.status != "" || f.from != "" || f.to != "" || f.text != ""
}

// search returns the search for the API.
func (f *searchFlags) search() (s client.SessionSearch, err error) {
	if _, err := labelsOf(f.labels); err != nil {
		return s, err
	}
	s = client.SessionSearch{Tags: f.tags, Labels: f.labels, Status: f.status, Text: f.text}
	if s.From, err = searchTime("--from", f.from); err != nil {
		return s, err
	}
	s.To, err = searchTime("--to", f.to)
	return s, err
}

// searchTime returns a time of an option in the API's form.
func searchTime(option, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	local, err := term.ParseTime(text, option+` must be "yyyy-MM-dd", "yyyy-MM-dd HH:mm:SS" or yyyy-MM-ddTHH:mm:SS with an offset`)
	if err != nil {
		return "", program.UsageError(err)
	}
	return local, nil
}

// searchSessions returns matching sessions, oldest first, and reports if not all sessions were searched.
func (r *remote) searchSessions(ctx context.Context, args []string, s client.SessionSearch, page client.Page) ([]client.Session, error) {
	project, workflow, err := r.ofSessions(ctx, args)
	if err != nil {
		return nil, err
	}
	found, err := r.SearchSessions(ctx, project, workflow, s, page)
	if err == nil && !found.Complete {
		fmt.Fprintf(r.Err, "note: only the newest %d sessions were searched; `-i %s` searches further back\n", found.Searched, found.Next)
	}
	if err == nil && len(found.Sessions) == 0 && workflow != "" {
		_, err = r.Workflow(ctx, project, workflow, "") // a workflow that does not exist also has no sessions
	}
	slices.Reverse(found.Sessions)
	return found.Sessions, err
}
