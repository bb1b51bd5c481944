package dynamo

import (
	"context"
	"errors"
	"sync"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

// Session returns a session with its last attempt. Its id is the id of its first attempt.
func (db *DB) Session(ctx context.Context, site, id int64) (host.Session, error) {
	first, err := db.Attempt(ctx, site, id)
	if err != nil {
		return host.Session{}, err
	}
	if first.SessionID != id {
		return host.Session{}, table.OrNotFound(nil, "read session %d", id)
	}
	list, err := db.sessionsOf(ctx, []host.Attempt{first})
	if err != nil || len(list) == 0 {
		return host.Session{}, table.OrNotFound(err, "read session %d", id)
	}
	return list[0], nil
}

// sessionsOf reads the sessions whose first attempts are given.
func (db *DB) sessionsOf(ctx context.Context, firsts []host.Attempt) ([]host.Session, error) {
	var keys []table.Key
	for _, a := range firsts {
		keys = append(keys, keyOfSession(a))
	}
	rows, err := db.t.GetAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	lasts := map[int64]host.Attempt{}
	var others []table.Key
	for _, a := range firsts {
		if s := sessionOf(rows[keyOfSession(a)]); s.last == a.ID {
			lasts[a.ID] = a
		} else if s.last != 0 {
			others = append(others, attemptKey(s.last))
		}
	}
	found, err := db.t.GetAll(ctx, others)
	if err != nil {
		return nil, err
	}
	for _, it := range found {
		a, err := db.attemptOf(ctx, it)
		if err != nil {
			return nil, err
		}
		lasts[a.ID] = a
	}
	var list []host.Session
	for _, a := range firsts {
		s := sessionOf(rows[keyOfSession(a)])
		if last, ok := lasts[s.last]; ok {
			list = append(list, host.Session{ID: a.ID, Site: a.Site, Project: a.Project, Workflow: last.Workflow, UUID: s.uuid, Time: a.SessionTime, Last: last})
		}
	}
	return list, nil
}

// attemptList returns the narrowest list that contains the requested attempts.
func (db *DB) attemptList(site, project int64, workflow string, before int64, count int) *table.List {
	switch {
	case project != 0 && workflow != "":
		return db.t.ListOf(env.ByWorkflow(), table.Below(before), true, count, table.ByShard(func(s int64) string { return workflowList(project, workflow, s) }))
	case project != 0:
		return db.t.ListOf(env.ByProject(), table.Below(before), true, count, table.ByShard(func(s int64) string { return projectList(project, s) }))
	}
	return db.t.ListOf(env.BySite(), table.Below(before), true, count, table.ByShard(func(s int64) string { return siteList(site, s) }))
}

// Sessions lists sessions, descending by id. The index of first attempts serves as their list.
func (db *DB) Sessions(ctx context.Context, q host.SessionQuery) ([]host.Session, error) {
	if q.Times != nil {
		return db.sessionsAt(ctx, q)
	}
	out := host.Page[host.Session]{Bytes: q.Bytes}
	err := db.attemptList(q.Site, q.Project, q.Workflow, q.Before, q.Count).Rows(ctx, inParts(q.Bytes, func(rows []table.Item) (bool, error) {
		list, err := db.attemptsOf(ctx, rows)
		if err != nil {
			return false, err
		}
		var firsts []host.Attempt
		for _, a := range list {
			if a.ID == a.SessionID && a.Site == q.Site && (q.Workflow == "" || a.Workflow.Name == q.Workflow) {
				firsts = append(firsts, a)
			}
		}
		sessions, err := db.sessionsOf(ctx, firsts)
		for _, s := range sessions {
			if !out.Add(s, s.Last.Params) {
				return true, nil
			}
		}
		return q.Count > 0 && len(out.Rows) >= q.Count, err
	}))
	return upTo(out.Rows, q.Count), err
}

// inParts passes rows on in batches with about the given number of bytes of parameters, 0 for all at once: parameters
// that are stored outside their item are read only when it is their turn.
func inParts(bytes int, f func([]table.Item) (enough bool, err error)) func([]table.Item) (bool, error) {
	const packed = 8 // stored parameters are usually compressed by at most this factor
	return func(rows []table.Item) (bool, error) {
		first, used := 0, 0
		for i, it := range rows {
			if it.Has(aParamsBlob) {
				used += bytes / 4 // it is too large for the item
			}
			used += packed * len(it.Str(aParams))
			if bytes == 0 || used < bytes || i == len(rows)-1 {
				continue
			}
			if enough, err := f(rows[first : i+1]); enough || err != nil {
				return enough, err
			}
			first, used = i+1, 0
		}
		return f(rows[first:])
	}
}

// upTo cuts a list off at a count; 0 means no limit.
func upTo[T any](list []T, count int) []T {
	if count > 0 && len(list) > count {
		return list[:count]
	}
	return list
}

// Attempts lists attempts, descending by id.
func (db *DB) Attempts(ctx context.Context, q host.AttemptQuery) ([]host.Attempt, error) {
	out := host.Page[host.Attempt]{Bytes: q.Bytes}
	choose := func(rows []table.Item) (bool, error) {
		for _, it := range rows {
			if !q.Retried && it.Bool(aRetried) {
				continue
			}
			a, err := db.attemptOf(ctx, it)
			if err != nil {
				return false, err
			}
			if a.Site == q.Site && (q.Project == 0 || a.Project.ID == q.Project) && (q.Workflow == "" || a.Workflow.Name == q.Workflow) && (q.Before == 0 || a.ID < q.Before) {
				if !out.Add(a, a.Params) {
					return true, nil
				}
			}
		}
		return q.Count > 0 && len(out.Rows) >= q.Count, nil
	}
	if q.Session != 0 {
		rows, err := db.attemptsOfSession(ctx, q.Session)
		if err == nil {
			_, err = choose(rows)
		}
		return upTo(out.Rows, q.Count), err
	}
	err := db.attemptList(q.Site, q.Project, q.Workflow, q.Before, q.Count).Rows(ctx, choose)
	return upTo(out.Rows, q.Count), err
}

// attemptsOfSession reads all rows of a session, descending by id.
func (db *DB) attemptsOfSession(ctx context.Context, session int64) ([]table.Item, error) {
	later, err := db.t.Find(ctx, table.Query{Where: table.Where{Text: "#p = :p", Names: []string{table.Partition}, Values: table.Item{":p": table.Text(retriesOf(session))}}})
	if err != nil {
		return nil, err
	}
	keys := []table.Key{attemptKey(session)}
	for _, it := range later {
		keys = append(keys, attemptKey(it.Num(table.ID)))
	}
	found, err := db.t.GetAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	var rows []table.Item
	for _, it := range found {
		if it.Num(aSession) == session {
			rows = append(rows, it)
		}
	}
	table.SortByID(rows, func(it table.Item) int64 { return it.Num(table.ID) }, true)
	return rows, nil
}

// Active lists unfinished attempts, ascending by id.
func (db *DB) Active(ctx context.Context, q host.ActiveQuery) ([]host.Attempt, error) {
	after, n := q.After, q.Count
	if !q.Since.IsZero() {
		after = max(after, table.IDAt(q.Since))
	}
	sites := []int64{q.Site}
	if q.Site < 0 {
		var err error
		if sites, err = allSites(ctx, db.t); err != nil {
			return nil, err
		}
	}
	var partitions []string
	for _, site := range sites {
		partitions = append(partitions, table.ByShard(func(s int64) string { return activeList(site, s) })...)
	}
	var out []host.Attempt
	err := db.t.ListOf(env.Active(), table.Above(after), false, n, partitions).Rows(ctx, func(rows []table.Item) (bool, error) {
		list, err := db.attemptsOf(ctx, rows)
		for _, a := range list {
			if !a.Done { // the index may lag by a moment
				out = append(out, a)
			}
		}
		return n > 0 && len(out) >= n, err
	})
	return upTo(out, n), err
}

// allSites lists the sites that have or had projects.
func allSites(ctx context.Context, t *table.Table) ([]int64, error) {
	list, err := t.Find(ctx, table.Query{Where: table.Where{Text: "#p = :p", Names: []string{table.Partition}, Values: table.Item{":p": table.Text(siteKey(0).Partition)}}})
	var out []int64
	for _, it := range list {
		out = append(out, it.Num(table.Site))
	}
	return out, err
}

// Sites lists the sites that have or had projects; it counts their projects only in the index.
func (db *DB) Sites(ctx context.Context, after int64, n int) ([]host.Site, error) {
	rows, err := db.t.Find(ctx, table.Query{Limit: n, Where: table.Where{Text: "#p = :p AND #s > :after", Names: []string{table.Partition, table.Sort},
		Values: table.Item{":p": table.Text(siteKey(0).Partition), ":after": table.Text(siteAfter(after))}}})
	if err != nil {
		return nil, err
	}
	list, errs := make([]host.Site, len(rows)), make([]error, len(rows))
	var all sync.WaitGroup
	for i, it := range rows {
		all.Go(func() {
			list[i].ID = it.Num(table.Site)
			_, list[i].Projects, errs[i] = db.t.Run(ctx, table.Query{Index: env.BySite().Name, Count: true, Where: table.Where{Text: "#gs = :p", Names: []string{aListSite},
				Values: table.Item{":p": table.Text(projectsOf(list[i].ID))}}})
		})
	}
	all.Wait()
	return list, errors.Join(errs...)
}

// siteAfter returns the sort key after which the sites with greater numbers begin; for a negative site, it is the key
// before all sites.
func siteAfter(site int64) string {
	if site < 0 {
		return " "
	}
	return siteKey(site).Sort
}

// CountActive counts unfinished attempts of a site, up to a limit, only in the index.
func (db *DB) CountActive(ctx context.Context, site int64, limit int) (int, error) {
	var all sync.WaitGroup
	var counts [table.Shards]int
	var errs [table.Shards]error
	for s := range int64(table.Shards) {
		all.Go(func() {
			_, counts[s], errs[s] = db.t.Run(ctx, table.Query{Index: env.Active().Name, Count: true, Limit: limit, Where: table.Where{Text: "#ga = :p", Names: []string{aListActive},
				Values: table.Item{":p": table.Text(activeList(site, s))}}})
		})
	}
	all.Wait()
	sum := 0
	for s := range counts {
		if errs[s] != nil {
			return 0, errs[s]
		}
		sum += counts[s]
	}
	if limit > 0 {
		sum = min(sum, limit)
	}
	return sum, nil
}

// Waiting lists attempts that wait for a session.
func (db *DB) Waiting(ctx context.Context, session int64) ([]host.Attempt, error) {
	list, err := db.t.Find(ctx, table.Query{Where: table.Where{Text: "#p = :p", Names: []string{table.Partition}, Values: table.Item{":p": table.Text(waitKey(session, 0).Partition)}}})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var keys []table.Key
	for _, it := range list {
		keys = append(keys, attemptKey(it.Num(table.ID)))
	}
	found, err := db.t.GetAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	var out []host.Attempt
	for _, k := range keys {
		if it := found[k]; it.Num(aWaits) == session {
			a, err := db.attemptOf(ctx, it)
			if err != nil {
				return nil, err
			}
			out = append(out, a)
		}
	}
	return out, nil
}

// sessionsAt returns the existing sessions at the given times.
func (db *DB) sessionsAt(ctx context.Context, q host.SessionQuery) ([]host.Session, error) {
	var keys []table.Key
	for _, t := range q.Times {
		keys = append(keys, sessionKey(q.Project, q.Workflow, t))
	}
	rows, err := db.t.GetAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	lasts := make([]table.Key, 0, len(rows))
	for _, it := range rows {
		lasts = append(lasts, attemptKey(sessionOf(it).last))
	}
	found, err := db.t.GetAll(ctx, lasts)
	if err != nil {
		return nil, err
	}
	var list []host.Session
	for _, it := range rows {
		s := sessionOf(it)
		row := found[attemptKey(s.last)]
		if row == nil {
			continue // retention has removed it meanwhile
		}
		last, err := db.attemptOf(ctx, row)
		if err != nil {
			return nil, err
		}
		if last.Site == q.Site {
			list = append(list, host.Session{ID: s.id, Site: q.Site, Project: last.Project, Workflow: last.Workflow, UUID: s.uuid, Time: last.SessionTime, Last: last})
		}
	}
	table.SortByID(list, func(s host.Session) int64 { return s.ID }, true)
	return list, nil
}

// LastSession returns the newest session time of a workflow before t; zero for none.
func (db *DB) LastSession(ctx context.Context, project int64, workflow string, t time.Time) (time.Time, error) {
	list, err := db.t.Find(ctx, table.Query{Descending: true, Limit: 1, Where: table.Where{Text: "#p = :p AND #s < :t", Names: []string{table.Partition, table.Sort},
		Values: table.Item{":p": table.Text(sessionsOf(project, workflow)), ":t": table.Text(sessionSort(t))}}})
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	return sessionTime(list[0].Str(table.Sort)), nil
}
