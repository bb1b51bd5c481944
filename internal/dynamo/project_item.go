package dynamo

import (
	"errors"
	"strings"

	"zerodag/internal/host"
)

// A project is one partition: its row and its revisions.
//
//	P#<id>              R             row, with the newest revision; index site (P#<site>, id) while it lives
//	P#<id>              V#<rev id>    revision
//	P#<id>              W#<rev name>  the name is taken, by the revision of that id
//	N#<site>#<name>     R             the living project of that name
const (
	aProjectItem = "nm"
	aDeleted     = "dl"
	aPushes      = "np" // how many pushes made it what it is; orders what they change elsewhere
	aRevision    = "ri"
	aRevName     = "rv"
	aRevCreated  = "rc"
	aRevArchive  = "ra"
	aRevMD5      = "rm"
	aRevUser     = "ru"
	aRevKept     = "rk" // of the row of a revision only
	aPausedAt    = "pz" // of the row of a project only, like the next two
	aPausedBy    = "pw"
	aPauseReason = "py"
)

func projectKey(id int64) key { return key{"P#" + decimal(id), row} }
func revisionKey(project, id int64) key {
	return key{projectKey(project).partition, "V#" + ordered(id)}
}
func revisionName(project int64, name string) key {
	return key{projectKey(project).partition, "W#" + name}
}
func projectName(site int64, name string) key { return key{"N#" + decimal(site) + "#" + name, row} }
func projectsOf(site int64) string            { return "P#" + decimal(site) }

func (it item) setRevision(r host.Revision) {
	it.setNum(aRevision, r.ID)
	it.setStr(aRevName, r.Name)
	it.setTime(aRevCreated, r.CreatedAt)
	it.setStr(aRevArchive, r.Archive)
	it.setBytes(aRevMD5, r.ArchiveMD5)
	it.setTree(aRevUser, r.UserInfo)
}

func revisionItem(r host.Revision) item {
	it := revisionKey(r.ProjectID, r.ID).item()
	it[aID] = number(r.ID)
	it.setRevision(r)
	return it
}

func revisionOf(it item) (host.Revision, error) {
	user, err := it.tree(aRevUser)
	kept, wrong := host.ParseArchiveState(it.str(aRevKept))
	var project int64
	if p, ok := strings.CutPrefix(it.str(aPartition), "P#"); ok {
		project = parse(p)
	}
	return host.Revision{ID: it.num(aRevision), ProjectID: project, Name: it.str(aRevName), CreatedAt: it.time(aRevCreated), Archive: it.str(aRevArchive),
		ArchiveMD5: it.bytes(aRevMD5), UserInfo: user, Kept: kept}, errors.Join(err, wrong)
}

// projectItem is the row of a project that lives.
func projectItem(p host.Project, pushes int64) item {
	it := projectKey(p.ID).item()
	it[aID], it[aListSite] = number(p.ID), text(projectsOf(p.Site))
	it.setNum(aSite, p.Site)
	it.setStr(aProjectItem, p.Name)
	it.setTime(aCreated, p.CreatedAt)
	it.setNum(aPushes, pushes)
	it.setTime(aPausedAt, p.Paused.At)
	it.setStr(aPausedBy, p.Paused.By)
	it.setStr(aPauseReason, p.Paused.Reason)
	it.setRevision(p.Latest)
	return it
}

func projectOf(it item) (host.Project, error) {
	r, err := revisionOf(it)
	return host.Project{ID: it.num(aID), Site: it.num(aSite), Name: it.str(aProjectItem), CreatedAt: it.time(aCreated), DeletedAt: it.time(aDeleted), Paused: pauseOf(it), Latest: r}, err
}

func pauseOf(it item) host.Pause {
	return host.Pause{At: it.time(aPausedAt), By: it.str(aPausedBy), Reason: it.str(aPauseReason)}
}
