package httpapi

import (
	"errors"
	"unicode/utf8"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/console"
	"zerodag/internal/host"
)

type restFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

type restFiles struct {
	Revision string     `json:"revision"`
	Files    []restFile `json:"files"`
	All      bool       `json:"all"` // false: the archive has more than is read
}

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
		return host.Revision{}, missing("archive of revision name=%s in project id=%d", r.Name, p.ID)
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
		return nil, found(err, "archive of revision name=%s", r.Name)
	}
	return restFiles{r.Name, each(list, func(f console.File) restFile { return restFile{f.Path, f.Size} }), all}, nil
}

type restText struct {
	Path     string  `json:"path"`
	Revision string  `json:"revision"`
	Size     int64   `json:"size"`
	Text     *string `json:"text"` // null where the file is larger than mostText, or no text
}

func getFileText(c *call) (any, error) {
	r, err := c.revisionWithFiles()
	if err != nil {
		return nil, err
	}
	name := c.vars["path"]
	content, size, err := c.console.File(c.ctx(), r, name, mostText+1)
	if err != nil {
		return nil, found(err, "file %s of revision name=%s", name, r.Name)
	}
	t := restText{Path: name, Revision: r.Name, Size: size}
	if len(content) <= mostText && utf8.Valid(content) {
		t.Text = new(string(content))
	}
	return t, nil
}

type restComparison struct {
	With     *brief           `json:"with"`
	Looked   bool             `json:"looked"` // all earlier attempts were looked at
	Revision fromTo[*string]  `json:"revision"`
	Files    []restFileChange `json:"files"` // null where they cannot be compared
	Params   []restParam      `json:"params"`
	Tasks    []restTook       `json:"tasks"`
}

type fromTo[T any] struct {
	From T `json:"from"`
	To   T `json:"to"`
}

type restFileChange struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
}

type restParam struct {
	Name string `json:"name"`
	fromTo[value]
}

type restTook struct {
	Name string `json:"name"`
	fromTo[int64]
}

// value is any parameter.
type value struct{ param.Value }

// MarshalJSON writes the value with its keys in order.
func (v value) MarshalJSON() ([]byte, error) { return param.AppendJSON(nil, v.Value), nil }

func getComparison(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	x, err := c.console.CompareWithSuccess(c.ctx(), a)
	if errors.Is(err, host.ErrNotFound) {
		return nil, missing("session attempt id=%d, or the one that it is compared with", a.ID)
	}
	if err != nil {
		return nil, err
	}
	r := restComparison{Looked: x.Looked, Revision: fromTo[*string]{textOrNull(x.Revision[0]), textOrNull(x.Revision[1])}}
	if x.With != nil {
		b := briefly(*x.With)
		r.With = &b
	}
	if x.FilesKnown {
		r.Files = each(x.Files, func(f console.FileChange) restFileChange { return restFileChange(f) })
	}
	r.Params = each(x.Params, func(p console.ParamChange) restParam {
		return restParam{p.Name, fromTo[value]{value{p.From}, value{p.To}}}
	})
	r.Tasks = each(x.Tasks, func(t console.TaskChange) restTook {
		return restTook{t.Name, fromTo[int64]{t.From.Milliseconds(), t.To.Milliseconds()}}
	})
	return r, nil
}
