package host

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// PushRequest asks for a new revision of a project.
type PushRequest struct {
	Site     int64
	Project  string
	Revision string
	// ScheduleFrom is the time from which first runs are counted; zero is now.
	ScheduleFrom time.Time
	// Clear names workflows whose schedules forget their last session; ClearAll is all.
	Clear    []string
	ClearAll bool
	UserInfo *param.Map
}

// maxName is how long names may be, in characters (limits.json).
const maxName = 255

// Push stores an archive (tar.gz) as a new revision: all of it or nothing. size is the
// number of bytes to come.
func (h *Host) Push(ctx context.Context, r PushRequest, archive io.Reader, size int64) (Project, error) {
	if err := checkName("project", r.Project); err != nil {
		return Project{}, err
	}
	if err := checkName("revision", r.Revision); err != nil {
		return Project{}, err
	}
	sum := md5.New()
	key := "archives/" + strings.ToLower(rand.Text()) + ".tar.gz"
	if err := h.Blobs.Put(ctx, key, io.TeeReader(archive, sum), size); err != nil {
		return Project{}, fmt.Errorf("store archive: %w", err)
	}
	p, err := h.register(ctx, r, key, sum.Sum(nil))
	if err != nil {
		if e := h.Blobs.Delete(context.WithoutCancel(ctx), key); e != nil {
			h.Logger.Error("delete the archive of a refused push", "key", key, "error", e)
		}
		return Project{}, err
	}
	return p, h.pushed(ctx, p)
}

func checkName(what, name string) error {
	switch {
	case name == "":
		return invalidf("%s= is required", what)
	case utf8.RuneCountInString(name) > maxName:
		return invalidf("Validating %s failed\nname must not be longer than %d characters: %q", what, maxName, name)
	}
	return nil
}

// CheckRetryName refuses names of attempts that the original refuses.
func CheckRetryName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return invalidf("Validating attempt request failed\nretry attempt name must not be blank: %q", name)
	case utf8.RuneCountInString(name) > maxName:
		return invalidf("Validating attempt request failed\nretry attempt name must not be longer than %d characters: %q", maxName, name)
	}
	return nil
}

func (h *Host) register(ctx context.Context, r PushRequest, key string, sum []byte) (Project, error) {
	content, err := h.Unpack(ctx, key)
	if err != nil {
		return Project{}, userError(err)
	}
	defer content.Close()
	workflows, err := dig.Load(content.Read, content.Workflows())
	if err != nil {
		return Project{}, userError(err)
	}
	push := Push{Site: r.Site, Project: r.Project, Workflows: workflows, Schedules: map[string]func(*Schedule) Times{},
		Revision: Revision{Name: r.Revision, CreatedAt: h.Now().UTC(), Archive: key, ArchiveMD5: sum, UserInfo: r.UserInfo}}
	from := r.ScheduleFrom
	if from.IsZero() {
		from = h.Now()
	}
	clear := map[string]bool{}
	for _, name := range r.Clear {
		clear[name] = true
	}
	for _, w := range workflows {
		if err := checkName("workflow", w.Name); err != nil {
			return Project{}, err
		}
		s, err := scheduleOf(w.Config, w.Zone)
		if err != nil {
			return Project{}, userError(err)
		}
		if s != nil {
			push.Schedules[w.Name] = moved(s, from, r.ClearAll || clear[w.Name])
		}
		delete(clear, w.Name)
	}
	for _, name := range r.Clear {
		if clear[name] {
			return Project{}, invalidf("%s does not exist", name)
		}
	}
	p, err := h.Projects.Push(ctx, push)
	if errors.Is(err, ErrConflict) {
		return Project{}, conflictf("Resource already exists: revision=%s in project id=%d", r.Revision, p.ID)
	}
	if err != nil {
		return Project{}, fmt.Errorf("store revision: %w", err)
	}
	return p, nil
}

// scheduleOf returns a workflow's schedule, nil when it has none.
func scheduleOf(config *param.Map, zone string) (*schedule.Schedule, error) {
	c := config.Map("schedule")
	if c == nil {
		return nil, nil
	}
	location, err := schedule.Zone(zone)
	if err != nil {
		return nil, err
	}
	return schedule.Parse(c, location)
}

// moved says what a schedule becomes with a new revision (spec engine.md 2.9): one that
// ran goes on from its last session, which may be in the past.
func moved(s *schedule.Schedule, from time.Time, clear bool) func(*Schedule) Times {
	return func(old *Schedule) Times {
		if old != nil && !old.Times.Last.IsZero() && !clear {
			next := s.Next(old.Times.Last)
			return Times{Run: next.RunTime, Session: next.Time, Last: old.Times.Last}
		}
		first := s.First(from)
		return Times{Run: first.RunTime, Session: first.Time}
	}
}

// DeleteProject deletes a project and returns it as it was.
func (h *Host) DeleteProject(ctx context.Context, site, id int64) (Project, error) {
	p, err := h.LivingProject(ctx, site, id)
	if err != nil {
		return Project{}, err
	}
	if err := h.Projects.DeleteProject(ctx, site, id, h.Now().UTC()); err != nil {
		return Project{}, fmt.Errorf("delete project: %w", err)
	}
	h.schedulesChanged()
	return p, nil
}

// LivingProject returns a project; one that was deleted is an *Error like one that never
// was.
func (h *Host) LivingProject(ctx context.Context, site, id int64) (Project, error) {
	p, err := h.Projects.Project(ctx, site, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return Project{}, missingf("project id=%d", id)
	case err == nil && !p.DeletedAt.IsZero():
		return Project{}, deleted(p)
	}
	return p, err
}

// Newest finds a workflow in the newest revision of a project, both by name. An *Error of
// code Missing says which of the two there is not.
func (h *Host) Newest(ctx context.Context, site int64, project, workflow string) (Workflow, error) {
	list, err := h.Projects.Projects(ctx, ProjectQuery{Site: site, Name: project, Count: 1})
	if err != nil {
		return Workflow{}, err
	}
	if len(list) == 0 || project == "" { // no name asks the store for any project
		return Workflow{}, &Error{Code: Missing, Message: fmt.Sprintf("there is no project %q: push it first", project)}
	}
	return h.newestIn(ctx, list[0], workflow)
}

func (h *Host) newestIn(ctx context.Context, p Project, workflow string) (Workflow, error) {
	list, err := h.Workflows.Workflows(ctx, WorkflowQuery{Site: p.Site, Revision: p.Latest.ID, Name: workflow, Count: 1})
	if err != nil {
		return Workflow{}, err
	}
	if len(list) == 0 || workflow == "" {
		return Workflow{}, &Error{Code: Missing, Message: fmt.Sprintf("project %q has no workflow %q in its newest revision", p.Name, workflow)}
	}
	return list[0], nil
}
