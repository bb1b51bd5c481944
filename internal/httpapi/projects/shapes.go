package projects

import (
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// The shapes of responses about projects (wire.md 3.3). Ids are strings; missing values are null.

func shownProject(c *endpoint.Call, p host.Project) wire.Project {
	shown := wire.Project{ID: wire.ID(p.ID), Name: p.Name, Revision: p.Latest.Name, CreatedAt: wire.Moment(p.CreatedAt),
		UpdatedAt: wire.Moment(p.Latest.CreatedAt), DeletedAt: wire.Moment(p.DeletedAt),
		ArchiveType: archiveType(c, p.Latest), ArchiveMD5: p.Latest.ArchiveMD5}
	if x := p.Paused; !x.IsZero() {
		shown.Paused = &wire.Paused{By: x.By, At: wire.Moment(x.At), Reason: x.Reason}
	}
	return shown
}

func archiveType(c *endpoint.Call, r host.Revision) string {
	if r.Archive == "" {
		return "none"
	}
	return c.ArchiveType
}

func shownRevision(c *endpoint.Call, r host.Revision) wire.Revision {
	return wire.Revision{Revision: r.Name, CreatedAt: wire.Moment(r.CreatedAt), ArchiveType: archiveType(c, r),
		ArchiveMD5: r.ArchiveMD5, UserInfo: wire.Object{Map: r.UserInfo}}
}
