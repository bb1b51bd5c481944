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
	Project     int64           // 0 is any
	Workflow    string          // "" is any
	Tags        []string        // all of which the workflow has in its newest revision, as keys.TagsOf shows them
	Labels      []string        // "name=value", all of which the attempt has
	States      map[string]bool // words of host.Attempt.Status; none is any
	From, Until Bound           // session times, Until not included
	Text        string          // part of the name of the project, the workflow or the retry, or of a label, in any case; "" is any
	InFile      bool            // Text may also be part of a tag or of the workflow's newest definition
	Before      int64           // ids below; 0 is all
	Count       int
	Most        int // how many sessions are looked at for a page; 0 is mostSessions
	Bytes       int // of parameters that a page has, see host.Page; 0 means no limit
}

// Bound is a session time from which on, or before which, sessions are meant; the zero value is none.
type Bound struct {
	At    time.Time
	Local bool // what a clock in the zone of the session shows then, in UTC here
}

// before reports whether a session is of an earlier time than the bound.
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

// SessionPage are sessions that are meant, the newest id first.
type SessionPage struct {
	Sessions []host.Session
	Searched int // how many were looked at
	// Next is Before of the next page; 0 when all were looked at. A page may be short, even empty, and not the last:
	// so many rows were looked at.
	Next int64
	// Cut means that the page is as it is because so many were looked at.
	Cut bool
}

// How many sessions are read at once, and looked at for a page.
const (
	sessionsAtOnce = 200
	mostSessions   = 2000
)

// Of how many workflows with a tag the sessions are read, each list for itself: of more all sessions are looked at.
const mostLanes = 50

// How many definitions are read at once, and how many bytes of them.
const (
	definitionsAtOnce = 1000
	definitionBytes   = 16 << 20
)

// workflowKey is a workflow of a site.
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

// file is the data of the newest definition of a workflow.
type file struct {
	tags  []string
	holds bool // the text that is searched for
}

// files are those of all workflows that have tags, or contain the searched text, if either matters.
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

// isAbout reports whether a workflow is one of those whose sessions are asked for.
func (f SessionFilter) isAbout(w host.Workflow) bool {
	return (f.Project == 0 || w.Project.ID == f.Project) && (f.Workflow == "" || w.Name == f.Workflow)
}

// holds reports whether a key or a value of a definition, or of a part of one, has a text within it, which is in lower
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
	rows  []host.Session // that were read and not taken yet
	over  bool           // there are no more to read
}

// lanes are the lists that hold all sessions that are meant, none of them twice.
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

// newest takes the session with the highest id of all lanes; nil when there is none.
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

// means reports whether a session of a workflow with a definition is meant.
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

// labelsOf are the labels of an attempt, each as "name=value".
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
