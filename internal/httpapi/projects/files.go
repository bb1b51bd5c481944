package projects

import (
	"unicode/utf8"

	"zerodag/internal/catalogue"
	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// revisionWithFiles returns the revision that the request names if its archive still exists.
func revisionWithFiles(c *endpoint.Call) (host.Revision, error) {
	p, err := c.LivingProject()
	if err != nil {
		return host.Revision{}, err
	}
	r, err := c.RevisionAsked(p)
	if err != nil {
		return host.Revision{}, err
	}
	if r.Archive == "" {
		return host.Revision{}, wire.Missing("archive of revision name=%s in project id=%d", r.Name, p.ID)
	}
	return r, catalogue.ArchiveRemoved(r)
}

func getFiles(c *endpoint.Call) (any, error) {
	r, err := revisionWithFiles(c)
	if err != nil {
		return nil, err
	}
	list, all, err := c.Console.Files(c.Ctx(), r)
	if err != nil {
		return nil, wire.OrMissing(err, "archive of revision name=%s", r.Name)
	}
	return wire.Files{Revision: r.Name, Files: wire.Each(list, func(f console.File) wire.File { return wire.File{Path: f.Path, Size: f.Size} }), All: all}, nil
}

func getFileText(c *endpoint.Call) (any, error) {
	r, err := revisionWithFiles(c)
	if err != nil {
		return nil, err
	}
	name := c.Vars["path"]
	content, size, err := c.Console.File(c.Ctx(), r, name, wire.MostText+1)
	if err != nil {
		return nil, wire.OrMissing(err, "file %s of revision name=%s", name, r.Name)
	}
	t := wire.Text{Path: name, Revision: r.Name, Size: size}
	if len(content) <= wire.MostText && utf8.Valid(content) {
		t.Text = new(string(content))
	}
	return t, nil
}
