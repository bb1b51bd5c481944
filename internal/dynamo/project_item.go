package dynamo

import (
	"errors"
	"strings"

	"zerodag/internal/dynamo/table"
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
	aPushes      = "np" // number of pushes so far; orders their changes in other rows
	aRevision    = "ri"
	aRevName     = "rv"
	aRevCreated  = "rc"
	aRevArchive  = "ra"
	aRevMD5      = "rm"
	aRevUser     = "ru"
	aRevKept     = "rk" // only in a revision's row
	aPausedAt    = "pz" // only in a project's row, like the next two
	aPausedBy    = "pw"
	aPauseReason = "py"
)

func projectKey(id int64) table.Key { return table.At("P#"+table.Decimal(id), table.Row) }
func revisionKey(project, id int64) table.Key {
	return table.At(projectKey(project).Partition, "V#"+table.Ordered(id))
}
func revisionName(project int64, name string) table.Key {
	return table.At(projectKey(project).Partition, "W#"+name)
}
func projectName(site int64, name string) table.Key {
	return table.At("N#"+table.Decimal(site)+"#"+name, table.Row)
}
func projectsOf(site int64) string { return "P#" + table.Decimal(site) }

func setRevision(it table.Item, r host.Revision) {
	it.SetNum(aRevision, r.ID)
	it.SetStr(aRevName, r.Name)
	it.SetTime(aRevCreated, r.CreatedAt)
	it.SetStr(aRevArchive, r.Archive)
	it.SetBytes(aRevMD5, r.ArchiveMD5)
	it.SetTree(aRevUser, r.UserInfo)
}

func revisionItem(r host.Revision) table.Item {
	it := revisionKey(r.ProjectID, r.ID).Item()
	it[table.ID] = table.Number(r.ID)
	setRevision(it, r)
	return it
}

func revisionOf(it table.Item) (host.Revision, error) {
	user, err := it.Tree(aRevUser)
	kept, wrong := host.ParseArchiveState(it.Str(aRevKept))
	var project int64
	if p, ok := strings.CutPrefix(it.Str(table.Partition), "P#"); ok {
		project = parse(p)
	}
	return host.Revision{ID: it.Num(aRevision), ProjectID: project, Name: it.Str(aRevName), CreatedAt: it.Time(aRevCreated), Archive: it.Str(aRevArchive),
		ArchiveMD5: it.Bytes(aRevMD5), UserInfo: user, Kept: kept}, errors.Join(err, wrong)
}

// projectItem returns an existing project's row.
func projectItem(p host.Project, pushes int64) table.Item {
	it := projectKey(p.ID).Item()
	it[table.ID], it[aListSite] = table.Number(p.ID), table.Text(projectsOf(p.Site))
	it.SetNum(table.Site, p.Site)
	it.SetStr(aProjectItem, p.Name)
	it.SetTime(aCreated, p.CreatedAt)
	it.SetNum(aPushes, pushes)
	it.SetTime(aPausedAt, p.Paused.At)
	it.SetStr(aPausedBy, p.Paused.By)
	it.SetStr(aPauseReason, p.Paused.Reason)
	setRevision(it, p.Latest)
	return it
}

func projectOf(it table.Item) (host.Project, error) {
	r, err := revisionOf(it)
	return host.Project{ID: it.Num(table.ID), Site: it.Num(table.Site), Name: it.Str(aProjectItem), CreatedAt: it.Time(aCreated), DeletedAt: it.Time(aDeleted), Paused: pauseOf(it), Latest: r}, err
}

func pauseOf(it table.Item) host.Pause {
	return host.Pause{At: it.Time(aPausedAt), By: it.Str(aPausedBy), Reason: it.Str(aPauseReason)}
}
