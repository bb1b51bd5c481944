package catalogue

import (
	"context"
	"crypto/md5" // #nosec G501 -- clients compare this sum to find damage, not attacks: the API requires it
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
)

// PushRequest requests a new revision of a project.
type PushRequest struct {
	Site     int64
	Project  string // created if it does not exist
	Revision string // unique in the project; pushing it again is a Conflict
	// ScheduleFrom is the time after which new schedules have their first run; zero means now. Schedules that have run
	// continue from their last session instead.
	ScheduleFrom time.Time
	// Clear names the workflows whose schedules forget their last session; ClearAll selects all workflows.
	Clear    []string
	ClearAll bool
	// UserInfo is the authenticator's description of the pusher; it is stored with the revision.
	UserInfo *param.Map
}

// CheckNames refuses invalid project and revision names.
func (r PushRequest) CheckNames() error {
	if err := names.Project(r.Project); err != nil {
		return err
	}
	return names.Check("revision", r.Revision)
}

// PushAction is the name of a push in the audit log.
const PushAction = "push"

// Target returns the target of the push for the audit log.
func (r PushRequest) Target() string { return "project " + r.Project + " revision " + r.Revision }

// Push stores an archive (tar.gz) as a new revision, either completely or not at all. size is the number of bytes that
// will be read. The archive is stored before the revision refers to it, and is deleted if the push is refused; a crash
// in between leaves an archive without a revision. Timing is notified of the schedules last: if that fails, the
// revision stays, and a tick or a check finds the schedules.
func (c pushing) Push(ctx context.Context, r PushRequest, archive io.Reader, size int64) (host.Project, error) {
	if err := r.CheckNames(); err != nil {
		return host.Project{}, err
	}
	key := archiveKey(strings.ToLower(rand.Text()))
	p, err := c.pushAs(ctx, r, key, archive, size)
	if err != nil {
		if e := c.o.Blobs.Delete(context.WithoutCancel(ctx), key); e != nil {
			c.o.Logger.Error("delete the archive of a refused push", "key", key, "error", e)
		}
		return host.Project{}, err
	}
	return p, c.pushedSchedules(ctx, p)
}

func (c pushing) pushAs(ctx context.Context, r PushRequest, key string, archive io.Reader, size int64) (host.Project, error) {
	sum, err := c.keepArchive(ctx, key, archive, size)
	if err != nil {
		return host.Project{}, err
	}
	push, err := c.readPush(ctx, r, key)
	if err != nil {
		return host.Project{}, err
	}
	if err := c.findPools(ctx, push); err != nil {
		return host.Project{}, err
	}
	return c.publish(ctx, push.Push, key, sum)
}

// Uploaded is an archive that a client uploaded directly to the blob store.
type Uploaded struct {
	ID   string // the upload's id, part of a key
	Key  string // where it is now
	Size int64  // expected number of bytes
}

// PushUploaded stores an uploaded archive as a new revision, like Push. The same upload is pushed only once, no matter
// how often this function is called, even concurrently: a call succeeds if a revision already has the archive.
// Therefore the archive is checked in place and copied only afterwards, and a copy is never deleted because another
// call may have registered it.
func (c pushing) PushUploaded(ctx context.Context, r PushRequest, u Uploaded) (host.Project, error) {
	if err := r.CheckNames(); err != nil {
		return host.Project{}, err
	}
	push, err := c.readPush(ctx, r, u.Key)
	if err != nil {
		return host.Project{}, err
	}
	key := archiveKey(u.ID)
	if p, found, err := c.pushed(ctx, r, key); err != nil {
		return p, err
	} else if found {
		return p, c.pushedSchedules(ctx, p)
	}
	if err := c.findPools(ctx, push); err != nil {
		return host.Project{}, err
	}
	archive, size, err := c.o.Blobs.Open(ctx, u.Key)
	if err != nil {
		return host.Project{}, fmt.Errorf("read upload: %w", err)
	}
	defer archive.Close()
	if size != u.Size {
		return host.Project{}, host.Invalidf("The upload is %d bytes instead of the announced %d", size, u.Size)
	}
	sum, err := c.keepArchive(ctx, key, archive, size)
	if err != nil {
		return host.Project{}, err
	}
	p, err := c.publish(ctx, push.Push, key, sum)
	var user *host.Error
	if errors.As(err, &user) && user.Code == host.Conflict { // perhaps a conflict with another call for this upload
		if same, found, e := c.pushed(ctx, r, key); found || e != nil {
			p, err = same, e
		}
	}
	if err != nil {
		return host.Project{}, err
	}
	return p, c.pushedSchedules(ctx, p)
}

// pushed searches for a revision of that name. If the revision has this archive, the push already succeeded; otherwise
// there is a conflict.
func (c pushing) pushed(ctx context.Context, r PushRequest, key string) (host.Project, bool, error) {
	p, err := c.projectNamed(ctx, r.Site, r.Project)
	if err != nil || p.ID == 0 {
		return host.Project{}, false, err
	}
	revisions, err := c.o.Projects.Revisions(ctx, host.RevisionQuery{Site: r.Site, Project: p.ID, Name: r.Revision, Count: 1})
	switch {
	case err != nil || len(revisions) == 0:
		return host.Project{}, false, err
	case revisions[0].Archive != key:
		return host.Project{}, true, revisionExists(r.Revision, p.ID)
	}
	p.Latest = revisions[0]
	return p, true, nil
}

func revisionExists(name string, project int64) error {
	return host.Conflictf("Resource already exists: revision=%s in project id=%d", name, project)
}

func archiveKey(name string) string { return "archives/" + name + ".tar.gz" }

// keepArchive stores an archive and returns its MD5.
func (c pushing) keepArchive(ctx context.Context, key string, archive io.Reader, size int64) ([]byte, error) {
	sum := md5.New() // #nosec G401 -- clients compare this sum to find damage, not attacks: the API requires it
	in := io.TeeReader(archive, sum)
	if err := c.o.Blobs.Put(ctx, key, in, size); err != nil {
		return nil, fmt.Errorf("store archive: %w", err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // an archive that already existed was not read
		return nil, fmt.Errorf("read archive: %w", err)
	}
	return sum.Sum(nil), nil
}

// checkedPush is a push whose archive was read.
type checkedPush struct {
	host.Push
	pools []dig.NamedPool // pools that its tasks request
}

// readPush checks an archive and returns the revision to create from it. Two functions decide what is refused:
// projectfiles.Inspect, when the archive is unpacked, and dig.Load. `zerodag check` calls the same two.
func (c pushing) readPush(ctx context.Context, r PushRequest, key string) (checkedPush, error) {
	content, err := c.o.Unpack(ctx, key)
	if err != nil {
		return checkedPush{}, userError(err)
	}
	defer content.Close() //nolint:errcheck // it was read, or the reading failed
	workflows, err := dig.Load(content.Read, content.Workflows())
	if err != nil {
		return checkedPush{}, userError(err)
	}
	push := host.Push{Site: r.Site, Project: r.Project, Workflows: workflows, Schedules: map[string]host.NextTimes{},
		Revision: host.Revision{Name: r.Revision, CreatedAt: c.o.Now().UTC(), UserInfo: r.UserInfo}}
	from := r.ScheduleFrom
	if from.IsZero() {
		from = c.o.Now()
	}
	clear := map[string]bool{}
	for _, name := range r.Clear {
		clear[name] = true
	}
	for _, w := range workflows {
		s, err := scheduleOf(w.Config, w.Zone)
		if err != nil {
			return checkedPush{}, userError(err)
		}
		if s != nil {
			push.Schedules[w.Name] = timesAfterPush(s, from, r.ClearAll || clear[w.Name])
		}
		delete(clear, w.Name)
	}
	for _, name := range r.Clear {
		if clear[name] {
			return checkedPush{}, host.Invalidf("%s does not exist", name)
		}
	}
	return checkedPush{push, dig.NamedPools(content.Read, workflows)}, nil
}

// findPools refuses a project whose tasks name pools that exist neither for the site nor for the project. For projects
// that name no pools it makes no request.
func (c pushing) findPools(ctx context.Context, push checkedPush) error {
	var names []string
	for _, p := range push.pools {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	names, err := c.missingPools(ctx, host.PoolRef{Site: push.Site}, slices.Compact(names))
	if err != nil || len(names) == 0 {
		return err
	}
	id, err := c.projectID(ctx, push.Push)
	if err == nil && id != 0 {
		names, err = c.missingPools(ctx, host.PoolRef{Site: push.Site, Project: id}, names)
	}
	if err != nil || len(names) == 0 {
		return err
	}
	return userError(dig.MissingPools(push.pools, names, host.NoPool))
}

// missingPools returns the names for which neither the site nor the project has a pool.
func (c pushing) missingPools(ctx context.Context, of host.PoolRef, names []string) ([]string, error) {
	var missing []string
	for _, name := range names {
		of.Name = name
		_, err := c.o.Pools.Pool(ctx, of)
		switch {
		case errors.Is(err, host.ErrNotFound):
			missing = append(missing, name)
		case err != nil:
			return nil, fmt.Errorf("look up pool %s: %w", name, err)
		}
	}
	return missing, nil
}

// projectID finds the project that a push is for; 0 means that the push creates it.
func (c pushing) projectID(ctx context.Context, push host.Push) (int64, error) {
	p, err := c.projectNamed(ctx, push.Site, push.Project)
	return p.ID, err
}

// publish makes a revision visible, once its archive is stored.
func (c pushing) publish(ctx context.Context, push host.Push, key string, sum []byte) (host.Project, error) {
	push.Revision.Archive, push.Revision.ArchiveMD5 = key, sum
	p, err := c.o.Projects.Push(ctx, push)
	if errors.Is(err, host.ErrConflict) {
		return host.Project{}, revisionExists(push.Revision.Name, p.ID)
	}
	if err != nil {
		return host.Project{}, fmt.Errorf("store revision: %w", err)
	}
	return p, nil
}

// scheduleOf returns a workflow's schedule, nil if it has none.
func scheduleOf(config *param.Map, zone string) (*schedule.Schedule, error) {
	location, err := schedule.Zone(zone)
	if err != nil {
		return nil, err
	}
	return dig.Schedule(config, location)
}

// timesAfterPush returns the times of a schedule under a new revision (engine.md 2.9): a schedule that has run
// continues from its last session, which may be in the past. One that has never run starts over, unless its project is
// paused: then a held session stays due.
func timesAfterPush(s *schedule.Schedule, from time.Time, clear bool) host.NextTimes {
	return func(old *host.Schedule, paused bool) host.Times {
		var next schedule.Time
		switch {
		case old == nil || clear || old.Times.Last.IsZero() && !paused:
			next = s.First(from)
			return host.Times{Run: next.RunTime, Session: next.Time}
		case old.Times.Last.IsZero():
			next = s.Next(old.Times.Session.Add(-time.Second))
		default:
			next = s.Next(old.Times.Last)
		}
		return host.Times{Run: next.RunTime, Session: next.Time, Last: old.Times.Last}
	}
}

// DeleteProject deletes a project and returns it as it was.
func (c pushing) DeleteProject(ctx context.Context, site, id int64) (host.Project, error) {
	p, err := c.LivingProject(ctx, site, id)
	if err != nil {
		return host.Project{}, err
	}
	if err := c.o.Projects.DeleteProject(ctx, site, id, c.o.Now().UTC()); err != nil {
		return host.Project{}, fmt.Errorf("delete project: %w", err)
	}
	return p, c.changed(ctx, func() ([]host.Schedule, error) { return nil, nil })
}

// LivingProject returns a project; a deleted or unknown project is an *Error.
func (c pushing) LivingProject(ctx context.Context, site, id int64) (host.Project, error) {
	p, err := c.o.Projects.Project(ctx, site, id)
	switch {
	case errors.Is(err, host.ErrNotFound):
		return host.Project{}, host.Missingf("project id=%d", id)
	case err == nil && !p.DeletedAt.IsZero():
		return host.Project{}, errDeleted(p)
	}
	return p, err
}

// Newest finds a workflow by name in the newest revision of the named project. An *Error with code Missing names the
// missing project or workflow.
func (c pushing) Newest(ctx context.Context, site int64, project, workflow string) (host.Workflow, error) {
	p, err := c.projectNamed(ctx, site, project)
	if err != nil {
		return host.Workflow{}, err
	}
	if p.ID == 0 {
		return host.Workflow{}, &host.Error{Code: host.Missing, Message: fmt.Sprintf("there is no project %q: push it first", project)}
	}
	return c.newestIn(ctx, p, workflow)
}

func (c pushing) newestIn(ctx context.Context, p host.Project, workflow string) (host.Workflow, error) {
	list, err := c.o.Workflows.Workflows(ctx, host.WorkflowQuery{Site: p.Site, Revision: p.Latest.ID, Name: workflow, Count: 1})
	if err != nil {
		return host.Workflow{}, err
	}
	if len(list) == 0 || workflow == "" {
		return host.Workflow{}, &host.Error{Code: host.Missing, Message: fmt.Sprintf("project %q has no workflow %q in its newest revision", p.Name, workflow)}
	}
	return list[0], nil
}
