package transfer

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/schedule"
	"zerodag/internal/client"
	"zerodag/internal/projectfiles"
	"zerodag/internal/projectfolder"
	"zerodag/internal/term"
)

// copyRevisions copies only revisions that are newer than all existing ones: an older revision would become the newest.
func (c *importCommand) copyRevisions(ctx context.Context, from client.Project, list []client.Revision, report *imported) error {
	there, err := c.existing(ctx, from.Name)
	if err != nil {
		return err
	}
	newest := -1
	for i, r := range list {
		if _, found := there[r.Revision]; found {
			newest = i
		}
	}
	left := 0
	for i, r := range list {
		old, found := there[r.Revision]
		switch {
		case found && sameMD5(old, r):
			report.There++
		case found:
			report.Problems = append(report.Problems, fmt.Sprintf("revision %s: a revision of this name with different files already exists", r.Revision))
		case i < newest:
			left++
		default:
			if err := c.revision(ctx, from, r, report); err != nil {
				return err
			}
		}
	}
	if left > 0 {
		report.Problems = append(report.Problems, fmt.Sprintf("%d revisions were skipped: a newer one already exists", left))
	}
	if len(report.Copied) > 0 && !slices.Contains(report.Copied, from.Revision) {
		report.Problems = append(report.Problems, "schedules wait until the latest revision is pushed")
	}
	return nil
}

// existing returns the revisions on the target server.
func (c *importCommand) existing(ctx context.Context, project string) (map[string]client.Revision, error) {
	p, err := c.Project(ctx, project)
	if client.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := c.AllRevisions(ctx, p.ID)
	byName := map[string]client.Revision{}
	for _, r := range list {
		byName[r.Revision] = r
	}
	return byName, err
}

// revision copies one revision.
func (c *importCommand) revision(ctx context.Context, from client.Project, r client.Revision, report *imported) error {
	file, err := c.fetch(ctx, from.ID, r.Revision)
	if err != nil {
		return report.refused("revision "+r.Revision, err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if data := projectfiles.ServerData(ctx, file, projectfolder.Generous()); len(data) > 0 {
		report.Problems = append(report.Problems, fmt.Sprintf("revision %s was skipped: it contains the data of a server in %s (its database and the key of its secrets)", r.Revision, strings.Join(data, ", ")))
		return nil
	}
	push := client.Push{Project: from.Name, Revision: r.Revision}
	if r.Revision != from.Revision {
		// Nothing may start from a revision that is about to be replaced.
		push.From = schedule.Ended().AddDate(-1, 0, 0)
	}
	if _, err := c.SendArchive(ctx, push, file); err != nil {
		return report.refused("revision "+r.Revision, err)
	}
	report.Copied = append(report.Copied, r.Revision)
	return nil
}

// sameMD5 compares archives; servers may lack a checksum, and then the name decides.
func sameMD5(a, b client.Revision) bool {
	return a.ArchiveMD5 == nil || b.ArchiveMD5 == nil || *a.ArchiveMD5 == *b.ArchiveMD5
}

// fetch downloads an archive to a temporary file.
func (c *importCommand) fetch(ctx context.Context, project client.ID, revision string) (*os.File, error) {
	defer c.Watch(c.source)()
	archive, err := c.source.Archive(ctx, project, revision)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	file, err := os.CreateTemp("", "zerodag-import-*.tar.gz")
	if err != nil {
		return nil, fmt.Errorf("keep archive: %w", err)
	}
	if _, err := io.Copy(file, archive); err != nil {
		file.Close()
		os.Remove(file.Name())
		return nil, fmt.Errorf("keep archive: %w", err)
	}
	return file, nil
}

// bringInLine copies the times and the disabled state of schedules from the other server. A schedule is disabled before
// its time changes, so that it cannot start in between.
func (c *importCommand) bringInLine(ctx context.Context, from, to client.ID, report *imported) error {
	theirs, err := c.source.AllSchedules(ctx, from)
	if err != nil {
		return report.refused("schedules", err)
	}
	ours, err := c.AllSchedules(ctx, to)
	if err != nil {
		return report.refused("schedules", err)
	}
	byName := map[string]client.Schedule{}
	for _, s := range ours {
		byName[s.Workflow.Name] = s
	}
	for _, their := range theirs {
		our, there := byName[their.Workflow.Name]
		if !there {
			report.Problems = append(report.Problems, fmt.Sprintf("schedule of %s: the copied revision has none", their.Workflow.Name))
			continue
		}
		if err := c.move(ctx, their, our, report); err != nil {
			return err
		}
	}
	return nil
}

func (c *importCommand) move(ctx context.Context, their, our client.Schedule, report *imported) error {
	what := "schedule of " + their.Workflow.Name
	disable := c.disabled || their.DisabledAt != nil
	if disable && our.DisabledAt == nil {
		if _, err := c.Disable(ctx, our.ID); err != nil {
			return report.refused(what, err)
		}
	}
	next := our
	switch {
	case their.NextScheduleTime.After(our.NextScheduleTime):
		moved, err := c.Skip(ctx, our.ID, client.Skip{To: their.NextScheduleTime.Format(time.RFC3339), Run: their.NextRunTime})
		if err != nil {
			return report.refused(what, err)
		}
		next = moved
	case their.NextScheduleTime.Before(our.NextScheduleTime):
		report.Problems = append(report.Problems, fmt.Sprintf("%s: its next session is %s there and %s here; a schedule cannot move back: use `zerodag backfill`",
			what, term.Time(their.NextScheduleTime), term.Time(our.NextScheduleTime)))
	}
	if !disable && our.DisabledAt != nil {
		if _, err := c.Enable(ctx, our.ID); err != nil {
			return report.refused(what, err)
		}
	}
	report.Schedules = append(report.Schedules, importedSchedule{their.Workflow.Name, next.NextRunTime, disable})
	return nil
}

func (c *importCommand) showReport(list []imported) error {
	copied, there, problems := 0, 0, 0
	for _, one := range list {
		copied, there, problems = copied+len(one.Copied), there+one.There, problems+len(one.Problems)
	}
	err := c.Show(list, func(p cli.Printer) {
		p.Line("Imported from %s to %s:", c.source.URL(), c.URL())
		for _, one := range list {
			printImported(p, one)
		}
		p.Line("%d projects, %d revisions copied, %d already present, %d problems.", len(list), copied, there, problems)
	})
	if err == nil && problems > 0 {
		return fmt.Errorf("%d problems, see above", problems)
	}
	return err
}

func printImported(p cli.Printer, one imported) {
	p.Line("  project: %s", one.Project)
	p.Line("  revisions copied: %d, already present: %d", len(one.Copied), one.There)
	for _, s := range one.Schedules {
		state := ""
		if s.Disabled {
			state = ", disabled"
		}
		p.Line("  schedule: %s, next run %s%s", s.Workflow, term.Time(s.Next.Local()), state)
	}
	if len(one.Secrets) > 0 {
		p.Line("  secrets to set: %s", strings.Join(one.Secrets, ", "))
	}
	for _, text := range one.Problems {
		p.Line("  problem: %s", text)
	}
	p.Line("")
}
