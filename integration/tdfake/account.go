package tdfake

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"zerodag/integration/fake"
)

// account holds the data of the service.
type account struct {
	databases   map[string]map[string]bool // tables by database
	jobs        map[string]*job
	order       []string          // of jobs by their start
	byKey       map[string]string // jobs by domain key
	connections map[string]int64
	saved       map[string]string // queries by name, and by number
}

type job struct {
	id, kind, database string
	script             Script
	looks              int // polls of its status so far
	killed             bool
}

func (j *job) status() string {
	switch {
	case j.killed:
		return "killed"
	case j.looks < j.script.Looks:
		return "running"
	case j.script.Fail != "":
		return "error"
	}
	return "success"
}

// Job is a job that was started.
type Job struct{ ID, Type, Database, Status string }

// Jobs lists the jobs that were started, in order.
func (s *Server) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Job
	for _, id := range s.account.order {
		j := s.account.jobs[id]
		list = append(list, Job{j.id, j.kind, j.database, j.status()})
	}
	return list
}

// Tables lists the existing tables as "database.table", and databases without tables as "database.".
func (s *Server) Tables() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for database, tables := range s.account.databases {
		if len(tables) == 0 {
			list = append(list, database+".")
		}
		for name := range tables {
			list = append(list, database+"."+name)
		}
	}
	slices.Sort(list)
	return list
}

// Put makes a database, and a table in it unless table is "".
func (s *Server) Put(database, table string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account.databases[database] == nil {
		s.account.databases[database] = map[string]bool{}
	}
	if table != "" {
		s.account.databases[database][table] = true
	}
}

// Connect makes a connection.
func (s *Server) Connect(name string, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account.connections[name] = id
}

// Save keeps a query under a name and a number; bulk loads are kept in the same way.
func (s *Server) Save(name string, number int64, query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account.saved[name], s.account.saved[strconv.FormatInt(number, 10)] = query, query
}

// reply is a response.
type reply struct {
	status  int
	content []byte
	result  *Script // whose rows are the content
}

// Write implements fake.Answer.
func (r reply) Write(w http.ResponseWriter, f fake.Fault) {
	if r.result != nil {
		r.result.write(w, f)
		return
	}
	fake.Text{Status: r.status, Type: "application/json", Content: string(r.content)}.Write(w, f)
}

func ok(v any) reply {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is always JSON
	}
	return reply{status: http.StatusOK, content: text}
}

type fields map[string]any

func refuse(status int, text string) reply {
	r := ok(fields{"error": http.StatusText(status), "text": text, "severity": "error"})
	r.status = status
	return r
}

// Answer implements fake.Service.
func (s *Server) Answer(q fake.Request, r *http.Request) fake.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer(q, r.Header.Get("Authorization"))
}

func (s *Server) answer(r fake.Request, authorization string) reply {
	if authorization != "TD1 "+s.key && authorization != s.key {
		return refuse(http.StatusUnauthorized, "Authentication failed")
	}
	segments := strings.Split(strings.TrimPrefix(r.Path, "/"), "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err == nil {
			segments[i] = plain
		}
	}
	a := &s.account
	for _, e := range endpoints() {
		if values, fits := match(e.path, segments); fits && e.method == r.Method {
			return e.do(a, values, r)
		}
	}
	return refuse(http.StatusNotFound, "there is no "+r.Method+" "+r.Path)
}

// match returns the values of the parts of a pattern that are "*".
func match(pattern string, segments []string) (values []string, fits bool) {
	parts := strings.Split(pattern, "/")
	if len(parts) != len(segments) {
		return nil, false
	}
	for i, part := range parts {
		if part == "*" {
			values = append(values, segments[i])
		} else if part != segments[i] {
			return nil, false
		}
	}
	return values, true
}

type endpoint struct {
	method, path string
	do           func(a *account, v []string, r fake.Request) reply
}

func endpoints() []endpoint {
	return []endpoint{
		{"POST", "v3/job/issue/*/*", issue},
		{"GET", "v3/job/status/*", status},
		{"GET", "v3/job/status_by_domain_key/*", statusByKey},
		{"GET", "v3/job/show/*", show},
		{"GET", "v3/job/result/*", result},
		{"POST", "v3/job/kill/*", kill},
		{"POST", "v3/job/result_export/*", exportResult},
		{"GET", "v3/connections/lookup", lookup},
		{"POST", "v3/schedule/run/*/*", runSaved},
		{"POST", "v4/queries/*/jobs", runSavedNumber},
		{"POST", "v3/bulk_loads/*/jobs", runSession},
		{"POST", "v3/export/run/*/*", exportTable},
		{"POST", "v3/table/partialdelete/*/*", partialDelete},
		{"GET", "v3/database/list", listDatabases},
		{"POST", "v3/database/create/*", createDatabase},
		{"POST", "v3/database/delete/*", deleteDatabase},
		{"GET", "v3/table/list/*", listTables},
		{"POST", "v3/table/create/*/*/log", createTable},
		{"POST", "v3/table/delete/*/*", deleteTable},
		{"POST", "v3/table/rename/*/*/*", renameTable},
	}
}

func listDatabases(a *account, _ []string, _ fake.Request) reply {
	list := []fields{}
	for _, name := range slices.Sorted(maps.Keys(a.databases)) {
		list = append(list, fields{"name": name, "count": 0})
	}
	return ok(fields{"databases": list})
}

func createDatabase(a *account, v []string, _ fake.Request) reply {
	if a.databases[v[0]] != nil {
		return refuse(http.StatusConflict, "Database "+v[0]+" already exists")
	}
	a.databases[v[0]] = map[string]bool{}
	return ok(fields{"database": v[0]})
}

func deleteDatabase(a *account, v []string, _ fake.Request) reply {
	if a.databases[v[0]] == nil {
		return refuse(http.StatusNotFound, "Couldn't find database "+v[0])
	}
	delete(a.databases, v[0])
	return ok(fields{"database": v[0]})
}

func listTables(a *account, v []string, _ fake.Request) reply {
	if a.databases[v[0]] == nil {
		return refuse(http.StatusNotFound, "Couldn't find database "+v[0])
	}
	list := []fields{}
	for _, name := range slices.Sorted(maps.Keys(a.databases[v[0]])) {
		list = append(list, fields{"id": 1, "name": name, "type": "log", "schema": "[]", "count": 0})
	}
	return ok(fields{"database": v[0], "tables": list})
}

func createTable(a *account, v []string, _ fake.Request) reply {
	switch {
	case a.databases[v[0]] == nil:
		return refuse(http.StatusNotFound, "Couldn't find database "+v[0])
	case a.databases[v[0]][v[1]]:
		return refuse(http.StatusConflict, "Table "+v[1]+" already exists")
	}
	a.databases[v[0]][v[1]] = true
	return ok(fields{"database": v[0], "table": v[1], "type": "log"})
}

func deleteTable(a *account, v []string, _ fake.Request) reply {
	if !a.databases[v[0]][v[1]] {
		return refuse(http.StatusNotFound, "Couldn't find table "+v[0]+"."+v[1])
	}
	delete(a.databases[v[0]], v[1])
	return ok(fields{"database": v[0], "table": v[1], "type": "log"})
}

func renameTable(a *account, v []string, r fake.Request) reply {
	tables := a.databases[v[0]]
	switch {
	case !tables[v[1]]:
		return refuse(http.StatusNotFound, "Couldn't find table "+v[0]+"."+v[1])
	case tables[v[2]] && r.Form.Get("overwrite") != "true":
		return refuse(http.StatusConflict, "Table "+v[2]+" already exists")
	}
	delete(tables, v[1])
	tables[v[2]] = true
	return ok(fields{"database": v[0], "table": v[2], "type": "log"})
}
