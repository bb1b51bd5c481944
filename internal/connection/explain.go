package connection

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/remedy"
)

// Explain adds a suggestion for a name that does not exist to a server error, along with the command that lists the
// existing names. attempt is the attempt named on the command line; "" for none. Other errors stay unchanged.
func Explain(ctx context.Context, api *client.Client, err error, attempt string) error {
	var status *client.StatusError
	if program.AsDigdag() || api == nil || !errors.As(err, &status) {
		return err
	}
	var hint string
	// If names cannot be read, there is no suggestion, only the error itself.
	switch u := status.Unknown; u.Kind {
	case "project":
		names, _ := ProjectNames(ctx, api)
		hint = remedy.Meant(u.Name, names, "`zerodag projects` lists the projects")
	case "workflow":
		names, _ := WorkflowNames(ctx, api, u.Project)
		hint = remedy.MeantWorkflow(u.Name, names, "`zerodag workflows` lists the workflows")
	case "schedule":
		names, _ := WorkflowNames(ctx, api, u.Project)
		hint = remedy.MeantWorkflow(u.Name, names, "`zerodag schedules` lists the schedules")
		if slices.Contains(names, u.Name) {
			hint = u.Name + " has no `schedule:`, which this command needs: `zerodag start` starts a session at any time"
		}
	default:
		hint = hintOf(ctx, api, client.Message(err), attempt)
	}
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w\nhint: %s", err, program.AsCalled(hint))
}

// These patterns match a server's messages about a number or a pattern without a match.
var (
	unknownNumber = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(session attempt|session|schedule|project|workflow|token) id=`)
	})
	unknownPool     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`pool name=`) })
	unknownRevision = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`revision name=(.*) in project id=(\d+)`) })
	unknownPattern  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:Task pattern '([^']*)' doesn't match|Match patterns excepting direct child \(\+name\+name\) is not supported: (.*))`)
	})
	wrongSLA = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:Parameter 'sla' must be|SLA (?:time|duration|must)\b)`)
	})
)

// hintOf returns what to do about a server's message; "" if there is no hint.
func hintOf(ctx context.Context, api *client.Client, message, attempt string) string {
	if m := unknownPattern().FindStringSubmatch(message); m != nil && attempt != "" {
		tasks, err := api.Tasks(ctx, client.ID(attempt))
		if err != nil {
			return ""
		}
		var names []string
		for _, t := range tasks {
			names = append(names, t.FullName)
		}
		return remedy.MeantTask(m[1]+m[2], names) + "`zerodag tasks " + attempt + "` lists them"
	}
	if m := unknownRevision().FindStringSubmatch(message); m != nil {
		return RevisionHint(ctx, api, client.ID(m[2]), m[1])
	}
	if wrongSLA().MatchString(message) {
		return "write `sla: {duration: \"02:00:00\"}` or `sla: {time: \"09:00:00\"}` into the workflow, and push it again"
	}
	if message == "There are no sessions in that time" {
		return "a backfill starts the sessions from --from to --to, but only before the next session of the schedule, which `zerodag schedules` shows"
	}
	if strings.HasPrefix(message, "Resuming successfully completed attempts") {
		return "the attempt succeeded: --all instead of --resume or --resume-from runs its tasks again"
	}
	if unknownPool().MatchString(message) {
		return "`zerodag pool list` lists the pools; `zerodag pool set NAME SLOTS` creates one"
	}
	if m := unknownNumber().FindStringSubmatch(message); m != nil {
		what := strings.TrimPrefix(m[1], "session ") + "s"
		if what == "tokens" {
			return "`zerodag tokens list` lists the tokens with their ids"
		}
		return "`zerodag " + what + "` lists the " + what + " with their ids"
	}
	return ""
}

// mostRevisions is the maximum number of revisions that are listed, the newest first.
const mostRevisions = 5

// RevisionHint lists a project's revisions if it lacks the requested one; "" if they cannot be read.
func RevisionHint(ctx context.Context, api *client.Client, project client.ID, name string) string {
	list, err := api.Revisions(ctx, project, "")
	if err != nil || len(list) == 0 {
		return ""
	}
	var names []string
	for _, one := range list {
		names = append(names, one.Revision)
	}
	if near := remedy.Near(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	if rest := len(names) - mostRevisions; rest > 0 {
		return fmt.Sprintf("its newest revisions are %s, and there are more", strings.Join(names[:mostRevisions], ", "))
	}
	return "its revisions are " + strings.Join(names, ", ")
}

// MostProposed is the maximum number of names that are read.
const MostProposed = 100

// ProjectNames returns the names of the first projects.
func ProjectNames(ctx context.Context, c *client.Client) (names []string, err error) {
	list, err := c.Projects(ctx, client.Page{Count: MostProposed}, "")
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names, err
}

// WorkflowNames returns the names of a project's workflows.
func WorkflowNames(ctx context.Context, c *client.Client, project client.ID) (names []string, err error) {
	list, err := c.ProjectWorkflows(ctx, project, "")
	for _, w := range list {
		names = append(names, w.Name)
	}
	return names, err
}
