package httpapi

import (
	"errors"
	"unicode/utf8"

	"zerodag/internal/catalogue"
	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// revisionWithFiles is the revision that the request names, whose archive is there.
func (c *call) revisionWithFiles() (host.Revision, error) {
	p, err := c.living()
	if err != nil {
		return host.Revision{}, err
	}
	r, err := c.revisionOf(p)
	if err != nil {
		return host.Revision{}, err
	}
	if r.Archive == "" {
		return host.Revision{}, wire.Missing("archive of revision name=%s in project id=%d", r.Name, p.ID)
	}
	return r, catalogue.ArchiveRemoved(r)
}

func getFiles(c *call) (any, error) {
	r, err := c.revisionWithFiles()
	if err != nil {
		return nil, err
	}
	list, all, err := c.console.Files(c.ctx(), r)
	if err != nil {
		return nil, wire.OrMissing(err, "archive of revision name=%s", r.Name)
	}
	return wire.Files{Revision: r.Name, Files: wire.Each(list, func(f console.File) wire.File { return wire.File{Path: f.Path, Size: f.Size} }), All: all}, nil
}

func getFileText(c *call) (any, error) {
	r, err := c.revisionWithFiles()
	if err != nil {
		return nil, err
	}
	name := c.vars["path"]
	content, size, err := c.console.File(c.ctx(), r, name, mostText+1)
	if err != nil {
		return nil, wire.OrMissing(err, "file %s of revision name=%s", name, r.Name)
	}
	t := wire.Text{Path: name, Revision: r.Name, Size: size}
	if len(content) <= mostText && utf8.Valid(content) {
		t.Text = new(string(content))
	}
	return t, nil
}

func getComparison(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	x, err := c.console.CompareWithSuccess(c.ctx(), a)
	if errors.Is(err, host.ErrNotFound) {
		return nil, wire.Missing("session attempt id=%d, or the one that it is compared with", a.ID)
	}
	if err != nil {
		return nil, err
	}
	r := wire.Comparison{Looked: x.Looked, Revision: wire.FromTo[*string]{From: wire.TextOrNull(x.Revision[0]), To: wire.TextOrNull(x.Revision[1])}}
	if x.With != nil {
		b := wire.Briefly(*x.With)
		r.With = &b
	}
	if x.FilesKnown {
		r.Files = wire.Each(x.Files, func(f console.FileChange) wire.FileChange { return wire.FileChange(f) })
	}
	r.Params = wire.Each(x.Params, func(p console.ParamChange) wire.Param {
		return wire.Param{Name: p.Name, FromTo: wire.FromTo[wire.Value]{From: wire.Value{Value: p.From}, To: wire.Value{Value: p.To}}}
	})
	r.Tasks = wire.Each(x.Tasks, func(t console.TaskChange) wire.Took {
		return wire.Took{Name: t.Name, FromTo: wire.FromTo[int64]{From: t.From.Milliseconds(), To: t.To.Milliseconds()}}
	})
	return r, nil
}
