package host

import (
	"context"
	"crypto/md5" // #nosec G501 -- clients compare this sum to find damage, not attacks: the API has it so
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

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

// Push stores an archive (tar.gz) as a new revision: all of it or nothing. size is the
// number of bytes to come.
func (h *Host) Push(ctx context.Context, r PushRequest, archive io.Reader, size int64) (Project, error) {
	if err := r.CheckNames(); err != nil {
		return Project{}, err
	}
	key := archiveKey(strings.ToLower(rand.Text()))
	p, err := h.pushAs(ctx, r, key, archive, size)
	if err != nil {
		if e := h.Blobs.Delete(context.WithoutCancel(ctx), key); e != nil {
			h.Logger.Error("delete the archive of a refused push", "key", key, "error", e)
		}
		return Project{}, err
	}
	return p, h.schedulesPushed(ctx, p)
}

func (h *Host) pushAs(ctx context.Context, r PushRequest, key string, archive io.Reader, size int64) (Project, error) {
	sum, err := h.keepArchive(ctx, key, archive, size)
	if err != nil {
		return Project{}, err
	}
	push, err := h.readPush(ctx, r, key)
	if err != nil {
		return Project{}, err
	}
	return h.publish(ctx, push, key, sum)
}

// Uploaded is an archive that somebody put among the blobs without asking the host for it.
type Uploaded struct {
	ID   string // of the upload: a part of a key
	Key  string // where it lies now
	Size int64  // what it must have
}

// PushUploaded stores an uploaded archive as a new revision, like Push. The same upload
// pushes once, however often this is called, also at the same time: a revision that has
// its archive already is success. Therefore it is checked where it lies, is copied only
// then, and a copy, which another call may have registered, is never deleted.
func (h *Host) PushUploaded(ctx context.Context, r PushRequest, u Uploaded) (Project, error) {
	if err := r.CheckNames(); err != nil {
		return Project{}, err
	}
	push, err := h.readPush(ctx, r, u.Key)
	if err != nil {
		return Project{}, err
	}
	key := archiveKey(u.ID)
	if p, found, err := h.pushed(ctx, r, key); err != nil {
		return p, err
	} else if found {
		return p, h.schedulesPushed(ctx, p)
	}
	archive, size, err := h.Blobs.Open(ctx, u.Key)
	if err != nil {
		return Project{}, fmt.Errorf("read upload: %w", err)
	}
	defer archive.Close()
	if size != u.Size {
		return Project{}, invalidf("The upload has %d bytes and not the %d that were announced", size, u.Size)
	}
	sum, err := h.keepArchive(ctx, key, archive, size)
	if err != nil {
		return Project{}, err
	}
	p, err := h.publish(ctx, push, key, sum)
	var user *Error
	if errors.As(err, &user) && user.Code == Conflict { // perhaps with another call for this upload
		if same, found, e := h.pushed(ctx, r, key); found || e != nil {
			p, err = same, e
		}
	}
	if err != nil {
		return Project{}, err
	}
	return p, h.schedulesPushed(ctx, p)
}

// pushed looks for a revision of that name. One with this archive is the one that is
// wanted; another is a conflict.
func (h *Host) pushed(ctx context.Context, r PushRequest, key string) (Project, bool, error) {
	projects, err := h.Projects.Projects(ctx, ProjectQuery{Site: r.Site, Name: r.Project, Count: 1})
	if err != nil || len(projects) == 0 {
		return Project{}, false, err
	}
	p := projects[0]
	revisions, err := h.Projects.Revisions(ctx, RevisionQuery{Site: r.Site, Project: p.ID, Name: r.Revision, Count: 1})
	switch {
	case err != nil || len(revisions) == 0:
		return Project{}, false, err
	case revisions[0].Archive != key:
		return Project{}, true, revisionExists(r.Revision, p.ID)
	}
	p.Latest = revisions[0]
	return p, true, nil
}

func revisionExists(name string, project int64) error {
	return conflictf("Resource already exists: revision=%s in project id=%d", name, project)
}

func archiveKey(name string) string { return "archives/" + name + ".tar.gz" }

// keepArchive stores an archive and returns its MD5.
func (h *Host) keepArchive(ctx context.Context, key string, archive io.Reader, size int64) ([]byte, error) {
	sum := md5.New() // #nosec G401 -- clients compare this sum to find damage, not attacks: the API has it so
	in := io.TeeReader(archive, sum)
	if err := h.Blobs.Put(ctx, key, in, size); err != nil {
		return nil, fmt.Errorf("store archive: %w", err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // one that was there already is not read
		return nil, fmt.Errorf("read archive: %w", err)
	}
	return sum.Sum(nil), nil
}

// readPush checks an archive and says what it makes of the project.
func (h *Host) readPush(ctx context.Context, r PushRequest, key string) (Push, error) {
	content, err := h.Unpack(ctx, key)
	if err != nil {
		return Push{}, userError(err)
	}
	defer content.Close()
	workflows, err := dig.Load(content.Read, content.Workflows())
	if err != nil {
		return Push{}, userError(err)
	}
	push := Push{Site: r.Site, Project: r.Project, Workflows: workflows, Schedules: map[string]func(*Schedule) Times{},
		Revision: Revision{Name: r.Revision, CreatedAt: h.Now().UTC(), UserInfo: r.UserInfo}}
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
			return Push{}, err
		}
		s, err := scheduleOf(w.Config, w.Zone)
		if err != nil {
			return Push{}, userError(err)
		}
		if s != nil {
			push.Schedules[w.Name] = moved(s, from, r.ClearAll || clear[w.Name])
		}
		delete(clear, w.Name)
	}
	for _, name := range r.Clear {
		if clear[name] {
			return Push{}, invalidf("%s does not exist", name)
		}
	}
	return push, nil
}

// publish makes a revision whose archive is kept visible.
func (h *Host) publish(ctx context.Context, push Push, key string, sum []byte) (Project, error) {
	push.Revision.Archive, push.Revision.ArchiveMD5 = key, sum
	p, err := h.Projects.Push(ctx, push)
	if errors.Is(err, ErrConflict) {
		return Project{}, revisionExists(push.Revision.Name, p.ID)
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

// moved says what a schedule becomes with a new revision (engine.md 2.9): one that
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
