package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/internal/client"
)

// explain adds to an error of a server what may have been meant by a name that there is not, and which command
// lists those that there are. attempt is the one that the command line names, "" for none.
func (r *remote) explain(ctx context.Context, err error, attempt string) error {
	var status *client.StatusError
	if asDigdag() || r.Client == nil || !errors.As(err, &status) {
		return err
	}
	var hint string
	// Names that cannot be read are none: the error that is explained is told all the same.
	switch u := status.Unknown; u.Kind {
	case "project":
		names, _ := namesOfProjects(ctx, r.Client)
		hint = meant(u.Name, names, "`zerodag projects` lists the projects")
	case "workflow":
		names, _ := namesOfWorkflows(ctx, r.Client, u.Project)
		hint = meant(u.Name, names, "`zerodag workflows` lists the workflows")
	case "schedule":
		names, _ := namesOfWorkflows(ctx, r.Client, u.Project)
		hint = meant(u.Name, names, "`zerodag schedules` lists the schedules")
		if slices.Contains(names, u.Name) {
			hint = u.Name + " has no schedule:, whose times this command needs: `zerodag start` starts a session of any time"
		}
	default:
		hint = r.hintOf(ctx, client.Message(err), attempt)
	}
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w\nhint: %s", err, asCalled(hint))
}

// What a server says of a number or a pattern that nothing has.
var (
	unknownNumber = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(session attempt|session|schedule|project|workflow|token) id=`)
	})
	unknownPool     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`pool name=`) })
	unknownRevision = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`revision name=(.*) in project id=(\d+)`) })
	unknownPattern  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Task pattern '([^']*)' doesn't match`) })
)

// hintOf is what to do about a message of a server; "" for nothing.
func (r *remote) hintOf(ctx context.Context, message, attempt string) string {
	if m := unknownPattern().FindStringSubmatch(message); m != nil && attempt != "" {
		tasks, err := r.Tasks(ctx, client.ID(attempt))
		if err != nil {
			return ""
		}
		var names []string
		for _, t := range tasks {
			names = append(names, t.FullName)
		}
		return meantTask(m[1], names) + "`zerodag tasks " + attempt + "` lists them"
	}
	if m := unknownRevision().FindStringSubmatch(message); m != nil {
		return r.revisionHint(ctx, client.ID(m[2]), m[1])
	}
	if unknownPool().MatchString(message) {
		return "`zerodag pool list` lists the pools; `zerodag pool set NAME SLOTS` makes one"
	}
	if m := unknownNumber().FindStringSubmatch(message); m != nil {
		what := strings.TrimPrefix(m[1], "session ") + "s"
		if what == "tokens" {
			return "`zerodag tokens list` lists the tokens with their numbers"
		}
		return "`zerodag " + what + "` lists the " + what + " with their numbers"
	}
	return ""
}

// mostRevisions is how many revisions are named, the newest first.
const mostRevisions = 5

// revisionHint says which revisions a project has that lacks one; "" where they cannot be read.
func (r *remote) revisionHint(ctx context.Context, project client.ID, name string) string {
	list, err := r.Revisions(ctx, project, "")
	if err != nil || len(list) == 0 {
		return ""
	}
	var names []string
	for _, one := range list {
		names = append(names, one.Revision)
	}
	if near := likely(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	if rest := len(names) - mostRevisions; rest > 0 {
		return fmt.Sprintf("its newest revisions are %s, and there are more", strings.Join(names[:mostRevisions], ", "))
	}
	return "its revisions are " + strings.Join(names, ", ")
}

// meant asks whether one of the names was meant, before it says what lists them.
func meant(name string, names []string, list string) string {
	if near := likely(name, names); near != "" {
		return "did you mean " + near + "? " + list
	}
	return list
}

// mostMeant is how many names are listed at most where none is near.
const mostMeant = 10

// meantTask says which task may have been meant by a pattern, or which there are.
func meantTask(pattern string, names []string) string {
	var last []string
	for _, name := range names {
		if word := lastWord(name); strings.HasPrefix(word, "+") && word != name && !slices.Contains(last, word) {
			last = append(last, word)
		}
	}
	switch {
	case strings.Contains(pattern, "="):
		return "a parameter is given with -p: -p " + shellWord(pattern) + "; "
	case strings.HasSuffix(pattern, ".dig"):
		return "the second argument is a task, not another file; "
	}
	near := "+" + pattern
	if !slices.Contains(last, near) {
		near = likely("+"+strings.TrimLeft(lastWord(pattern), "+"), last)
	}
	switch {
	case near != "":
		return "did you mean " + near + "? "
	case len(last) == 0:
		return ""
	case len(last) > mostMeant:
		return "some tasks are " + strings.Join(last[:mostMeant], ", ") + "; "
	}
	return "the tasks are " + strings.Join(last, ", ") + "; "
}

// namesOfProjects are those of the first projects.
func namesOfProjects(ctx context.Context, c *client.Client) (names []string, err error) {
	list, err := c.Projects(ctx, client.Page{Count: mostProposed}, "")
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names, err
}

func namesOfWorkflows(ctx context.Context, c *client.Client, project client.ID) (names []string, err error) {
	list, err := c.ProjectWorkflows(ctx, project, "")
	for _, w := range list {
		names = append(names, w.Name)
	}
	return names, err
}
