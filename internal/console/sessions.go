package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/host"
)

// SessionFilter selects sessions of a site, by their last attempts.
type SessionFilter struct {
	Site        int64
	Project     int64           // 0 means any
	Workflow    string          // "" is any
	Tags        []string        // the workflow's newest revision must have all of them, as keys.TagsOf returns them
	Labels      []string        // "name=value"; the attempt must have all of them
	States      map[string]bool // values of host.Attempt.Status; empty means any
	From, Until Bound           // session times, Until not included
	Text        string          // part of a label or of the name of project, workflow or retry; case is ignored
	InFile      bool            // Text may also be part of a tag or of the workflow's newest definition
	Before      int64           // only smaller ids; 0 means all
	Count       int
	Most        int // maximum number of sessions that are read for a page; 0 means mostSessions
	Bytes       int // limit of the parameters on a page, see host.Page; 0 means no limit
}

// Bound is a session time that limits the selected sessions; the zero value means no limit.
type Bound struct {
	At    time.Time
	Local bool // At is the local time in the session's zone, written as UTC
}

// before reports whether a session's time is before the bound.
func (b Bound) before(s host.Session) bool {
	if !b.Local {
		return s.Time.Before(b.At)
	}
	zone, err := schedule.Zone(s.Last.Zone)
	if err != nil {
		zone = time.UTC // as it is shown
	}
	at := s.Time.In(zone)
	_, offset := at.Zone()
	return at.Add(time.Duration(offset) * time.Second).Before(b.At)
}

// SessionPage holds matching sessions, the newest id first.
type SessionPage struct {
	Sessions []host.Session
	Searched int // how many sessions were read
	// Next is Before of the next page; 0 if all sessions were read. A page that reached the limit of rows may be short or
	// even empty without being the last.
	Next int64
	// Cut means that the page ended because the limit of rows was reached.
	Cut bool
}

// How many sessions are read at once, and the maximum for one page.
const (
	sessionsAtOnce = 200
	mostSessions   = 2000
)

// mostLanes is the maximum number of workflows with a tag whose sessions are read as separate lists: if there are more,
// all sessions are read.
const mostLanes = 50

// Limits on the definitions that are read at once: their number and their bytes.
const (
	definitionsAtOnce = 1000
	definitionBytes   = 16 << 20
)

// workflowKey identifies a workflow of a site.
type workflowKey struct {
	project int64
	name    string
}

// Sessions lists the sessions that match.
func (c *Console) Sessions(ctx context.Context, f SessionFilter) (SessionPage, error) {
	var p SessionPage
	files, err := c.files(ctx, f)
	if err != nil {
		return p, err
	}
	lanes, page, most := f.lanes(files), host.Page[host.Session]{Bytes: f.Bytes}, f.Most
	if most == 0 {
		most = mostSessions
	}
	for p.Next = f.Before; p.Searched < most; {
		s, err := c.newest(ctx, lanes)
		if s == nil || err != nil {
			return SessionPage{Sessions: page.Rows, Searched: p.Searched}, err
		}
		if f.means(*s, files[workflowKey{s.Project.ID, s.Workflow.Name}]) && !page.Add(*s, s.Last.Params) {
			p.Sessions = page.Rows
			return p, nil
		}
		p.Next, p.Searched = s.ID, p.Searched+1
		if len(page.Rows) == f.Count {
			p.Sessions = page.Rows
			return p, nil
		}
	}
	p.Sessions, p.Cut = page.Rows, true
	return p, nil
}

// file holds data about a workflow's newest definition.
type file struct {
	tags  []string
	holds bool // it contains the text that is searched for
}

// files returns the data of all workflows that have tags or contain the text, if the filter uses either.
func (c *Console) files(ctx context.Context, f SessionFilter) (map[workflowKey]file, error) {
	text := strings.ToLower(f.Text)
	inFile := text != "" && f.InFile
	if len(f.Tags) == 0 && !inFile {
		return nil, nil
	}
	found := map[workflowKey]file{}
	q := host.WorkflowQuery{Site: f.Site, Count: definitionsAtOnce, Bytes: definitionBytes}
	for {
		list, err := c.Catalogue.Workflows(ctx, q)
		if err != nil || len(list) == 0 {
			return found, err
		}
		for _, w := range list {
			if q.Last = w.ID; !f.isAbout(w) {
				continue
			}
			one := file{tags: keys.TagsOf(w.Config)}
			one.holds = inFile && (holds(w.Config, text) || anyHolds(one.tags, text))
			if len(one.tags) > 0 || one.holds {
				found[workflowKey{w.Project.ID, w.Name}] = one
			}
		}
	}
}

// isAbout reports whether the filter selects sessions of a workflow.
func (f SessionFilter) isAbout(w host.Workflow) bool {
	return (f.Project == 0 || w.Project.ID == f.Project) && (f.Workflow == "" || w.Name == f.Workflow)
}

// holds reports whether a key or value in a definition, or in part of one, contains a string, which must be in lower
// case.
func holds(v param.Value, text string) bool {
	switch x := v.(type) {
	case *param.Map:
		for key, v := range x.All() {
			if strings.Contains(strings.ToLower(key), text) || holds(v, text) {
				return true
			}
		}
		return false
	case []param.Value:
		return slices.ContainsFunc(x, func(v param.Value) bool { return holds(v, text) })
	case string:
		return strings.Contains(strings.ToLower(x), text)
	}
	return v != nil && strings.Contains(param.Text(v), text)
}

func anyHolds(texts []string, text string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), text) })
}

// lane is a list of sessions that is read as far as it is needed.
type lane struct {
	query host.SessionQuery
	rows  []host.Session // rows that were read but not taken yet
	over  bool           // there are no more rows to read
}

// lanes returns lists that together contain every matching session exactly once.
func (f SessionFilter) lanes(files map[workflowKey]file) []*lane {
	q := host.SessionQuery{Site: f.Site, Project: f.Project, Workflow: f.Workflow, Before: f.Before, Count: sessionsAtOnce, Bytes: f.Bytes}
	if len(f.Tags) == 0 {
		return []*lane{{query: q}}
	}
	var lanes []*lane
	for w, has := range files {
		if hasAll(has.tags, f.Tags) {
			own := q
			own.Project, own.Workflow = w.project, w.name
			lanes = append(lanes, &lane{query: own})
		}
	}
	if len(lanes) > mostLanes {
		return []*lane{{query: q}}
	}
	for _, l := range lanes {
		l.query.Count, l.query.Bytes = max(sessionsAtOnce/len(lanes), 10), f.Bytes/len(lanes)
	}
	return lanes
}

// newest takes the session with the highest id of all lanes; nil if there is none.
func (c *Console) newest(ctx context.Context, lanes []*lane) (*host.Session, error) {
	var from *lane
	for _, l := range lanes {
		if len(l.rows) == 0 && !l.over {
			list, err := c.Catalogue.Sessions(ctx, l.query)
			if err != nil {
				return nil, err
			}
			l.rows, l.over = list, len(list) == 0 || l.query.Bytes == 0 && len(list) < l.query.Count
			if len(list) > 0 {
				l.query.Before = list[len(list)-1].ID
			}
		}
		if len(l.rows) > 0 && (from == nil || l.rows[0].ID > from.rows[0].ID) {
			from = l
		}
	}
	if from == nil {
		return nil, nil
	}
	s := &from.rows[0]
	from.rows = from.rows[1:]
	return s, nil
}

// means reports whether the filter matches a session of a workflow with this definition.
func (f SessionFilter) means(s host.Session, of file) bool {
	switch {
	case len(f.States) > 0 && !f.States[s.Last.Status()],
		!f.From.At.IsZero() && f.From.before(s),
		!f.Until.At.IsZero() && !f.Until.before(s),
		len(f.Tags) > 0 && !hasAll(of.tags, f.Tags),
		len(f.Labels) > 0 && !hasAll(labelsOf(s.Last), f.Labels):
		return false
	}
	if f.Text == "" || of.holds {
		return true
	}
	return anyHolds(append(labelsOf(s.Last), s.Project.Name+"/"+s.Workflow.Name, s.Last.RetryName), strings.ToLower(f.Text))
}

// labelsOf returns an attempt's labels, each as "name=value".
func labelsOf(a host.Attempt) (list []string) {
	for name, v := range a.Labels.All() {
		if text, ok := v.(string); ok {
			list = append(list, name+"="+text)
		}
	}
	return list
}

func hasAll(list, wanted []string) bool {
	for _, w := range wanted {
		if !slices.Contains(list, w) {
			return false
		}
	}
	return true
}
