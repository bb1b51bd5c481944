package gcpfake

import (
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/param"
	"zerodag/integration/fake"
)

// answer is JSON with a status.
type answer struct{ fake.Text }

func said(status int, body string) answer {
	return answer{fake.Text{Status: status, Type: "application/json; charset=UTF-8", Content: body}}
}

// Write implements fake.Answer. With the fault Half, the content claims to be much longer; if the content is short,
// nothing arrives, not even its status.
func (a answer) Write(w http.ResponseWriter, f fake.Fault) {
	if f == fake.Half && a.Content != "" {
		w.Header().Set("Content-Length", "100000")
		w.WriteHeader(a.Status)
		io.WriteString(w, a.Content[:len(a.Content)/2])
		panic(http.ErrAbortHandler)
	}
	a.Text.Write(w, f)
}

// failed returns a response in Google's error format.
func failed(status int, reason, message string) answer {
	one := param.New("message", message, "domain", "global", "reason", reason)
	return said(status, param.Text(param.New("error", param.New("code", int64(status), "message", message, "errors", []param.Value{one}))))
}

func good(v *param.Map) answer { return said(http.StatusOK, param.Text(v)) }

// world holds the data of the services.
type world struct {
	jobs     map[string]*job // by project:id
	order    []string        // of their starts
	datasets map[string]*dataset
	objects  map[string]*param.Map // by bucket/name
}

type job struct {
	project, id, location string
	configuration         *param.Map
	does                  Script
	looks                 int64
	cancelled             bool
	failed                *param.Map // nil while it runs, and when it succeeded
}

type dataset struct {
	resource *param.Map
	tables   map[string]*param.Map
}

// Job is a job that was started.
type Job struct {
	ID            string
	Configuration *param.Map
	Cancelled     bool
}

// Jobs lists the jobs in the order of their starts.
func (s *Server) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Job
	for _, key := range s.world.order {
		j := s.world.jobs[key]
		list = append(list, Job{ID: j.id, Configuration: j.configuration, Cancelled: j.cancelled})
	}
	return list
}

// PutDataset makes a dataset, "project:id", in a location.
func (s *Server) PutDataset(name, location string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.datasets[name] = &dataset{resource: param.New("location", location), tables: map[string]*param.Map{}}
}

// PutTable makes a table in an existing dataset.
func (s *Server) PutTable(of, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.datasets[of].tables[id] = param.New()
}

// Tables lists the existing tables, as "project:dataset.table", and datasets without one as "project:dataset".
func (s *Server) Tables() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for name, d := range s.world.datasets {
		if len(d.tables) == 0 {
			list = append(list, name)
		}
		for _, id := range slices.Sorted(maps.Keys(d.tables)) {
			list = append(list, name+"."+id)
		}
	}
	slices.Sort(list)
	return list
}

// PutObject makes an object.
func (s *Server) PutObject(bucket, name, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := crc32.Checksum([]byte(content), crc32.MakeTable(crc32.Castagnoli))
	s.world.objects[bucket+"/"+name] = param.New("kind", "storage#object", "id", bucket+"/"+name+"/1477466841081000", "name", name, "bucket", bucket,
		"generation", "1477466841081000", "metageneration", "1", "contentType", "text/plain", "timeCreated", "2016-10-26T07:27:21.070Z",
		"updated", "2016-10-26T07:27:21.070Z", "storageClass", "STANDARD", "size", strconv.Itoa(len(content)), "crc32c", fmt.Sprintf("%08x", sum),
		"metadata", param.New("size", "large"))
}

// do handles a request that has been checked.
func (w *world) do(id string, names map[string]string, query url.Values, body string) answer {
	content := param.New()
	if v, err := param.ParseJSON(body); err == nil {
		content, _ = v.(*param.Map)
	}
	of := names["projectId"] + ":" + names["datasetId"]
	switch id {
	case "bigquery.jobs.insert":
		return w.insertJob(names["projectId"], content)
	case "bigquery.jobs.get", "bigquery.jobs.cancel":
		return w.onJob(id, names["projectId"]+":"+names["jobId"], query.Get("location"))
	case "bigquery.datasets.insert":
		return w.insertDataset(names["projectId"], content)
	case "bigquery.datasets.delete":
		return w.deleteDataset(of, query.Get("deleteContents") == "true")
	case "bigquery.tables.insert":
		return w.insertTable(of, content)
	case "bigquery.tables.delete":
		d := w.datasets[of]
		if d == nil || d.tables[names["tableId"]] == nil {
			return failed(http.StatusNotFound, "notFound", "Not found: Table "+of+"."+names["tableId"])
		}
		delete(d.tables, names["tableId"])
		return said(http.StatusNoContent, "")
	}
	if o := w.objects[names["bucket"]+"/"+names["object"]]; o != nil {
		return good(o)
	}
	return failed(http.StatusNotFound, "notFound", "No such object: "+names["bucket"]+"/"+names["object"])
}

func textOf(m *param.Map, key string) string {
	v, _ := m.Get(key)
	text, _ := v.(string)
	return text
}

// locationOf returns where a job runs: the location that it names, or the location of its datasets.
func (w *world) locationOf(project string, reference, configuration *param.Map) string {
	if where := textOf(reference, "location"); where != "" {
		return where
	}
	for _, c := range []*param.Map{configuration.Map("query"), configuration.Map("load"), configuration.Map("extract")} {
		for _, key := range []string{"defaultDataset", "destinationTable", "sourceTable"} {
			name := c.Map(key)
			of := textOf(name, "projectId")
			if of == "" {
				of = project
			}
			if d := w.datasets[of+":"+textOf(name, "datasetId")]; d != nil {
				return textOf(d.resource, "location")
			}
		}
	}
	return "US"
}

func (w *world) insertJob(project string, content *param.Map) answer {
	reference, configuration := content.Map("jobReference"), content.Map("configuration")
	j := &job{project: project, id: textOf(reference, "jobId"), configuration: configuration, location: w.locationOf(project, reference, configuration)}
	key := project + ":" + j.id
	if there := w.jobs[key]; there != nil {
		return failed(http.StatusConflict, "duplicate", "Already Exists: Job "+project+":"+there.location+"."+j.id)
	}
	if textOf(reference, "projectId") != project || j.id == "" || len(j.id) > 1024 || strings.ContainsFunc(j.id, notInID) {
		return failed(http.StatusBadRequest, "invalid", "Invalid job ID \""+j.id+"\"")
	}
	query := textOf(configuration.Map("query"), "query")
	if strings.Contains(query, "syntax error") {
		return failed(http.StatusBadRequest, "invalidQuery", "Syntax error: Unexpected identifier \"syntax\" at [1:1]")
	}
	j.does = script(query)
	w.jobs[key], w.order = j, append(w.order, key)
	return good(j.resource())
}

func notInID(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
}

// resource returns the current state of the job.
func (j *job) resource() *param.Map {
	status := param.New("state", "RUNNING")
	if j.looks > j.does.Looks || j.cancelled {
		status = param.New("state", "DONE")
	}
	if j.does.State != "" {
		status = param.New("state", j.does.State)
	}
	if j.cancelled {
		j.failed = param.New("reason", "stopped", "message", "Job execution was cancelled: User requested cancellation")
	} else if j.does.Fail != "" {
		j.failed = param.New("reason", j.does.Reason, "location", "query", "message", j.does.Fail)
	}
	if j.failed != nil && textOf(status, "state") == "DONE" {
		status.Set("errorResult", j.failed)
		status.Set("errors", []param.Value{j.failed})
	}
	return param.New("kind", "bigquery#job", "id", j.project+":"+j.location+"."+j.id,
		"jobReference", param.New("projectId", j.project, "jobId", j.id, "location", j.location), "configuration", j.configuration, "status", status)
}

// onJob returns a job, or ends it. A job outside the US and the EU is found only with its location.
func (w *world) onJob(id, key, location string) answer {
	j := w.jobs[key]
	if j == nil || location == "" && j.location != "US" && j.location != "EU" || location != "" && !strings.EqualFold(location, j.location) {
		return failed(http.StatusNotFound, "notFound", "Not found: Job "+key)
	}
	if id == "bigquery.jobs.cancel" {
		j.cancelled = j.cancelled || j.looks <= j.does.Looks
		return good(param.New("kind", "bigquery#jobCancelResponse", "job", j.resource()))
	}
	j.looks++
	return good(j.resource())
}

func (w *world) insertDataset(project string, content *param.Map) answer {
	name := textOf(content.Map("datasetReference"), "projectId") + ":" + textOf(content.Map("datasetReference"), "datasetId")
	switch {
	case textOf(content.Map("datasetReference"), "projectId") != project:
		return failed(http.StatusBadRequest, "invalid", "Value for projectId in content does not agree with value in request.")
	case w.datasets[name] != nil:
		return failed(http.StatusConflict, "duplicate", "Already Exists: Dataset "+name)
	}
	if textOf(content, "location") == "" {
		content.Set("location", "US")
	}
	w.datasets[name] = &dataset{resource: content, tables: map[string]*param.Map{}}
	return good(content)
}

func (w *world) deleteDataset(name string, contents bool) answer {
	d := w.datasets[name]
	switch {
	case d == nil:
		return failed(http.StatusNotFound, "notFound", "Not found: Dataset "+name)
	case len(d.tables) > 0 && !contents:
		return failed(http.StatusBadRequest, "resourceInUse", "Dataset "+name+" is still in use")
	}
	delete(w.datasets, name)
	return said(http.StatusNoContent, "")
}

func (w *world) insertTable(of string, content *param.Map) answer {
	name := content.Map("tableReference")
	d := w.datasets[of]
	switch {
	case textOf(name, "projectId")+":"+textOf(name, "datasetId") != of:
		return failed(http.StatusBadRequest, "invalid", "Value for datasetId in content does not agree with value in request.")
	case d == nil:
		return failed(http.StatusNotFound, "notFound", "Not found: Dataset "+of)
	case d.tables[textOf(name, "tableId")] != nil:
		return failed(http.StatusConflict, "duplicate", "Already Exists: Table "+of+"."+textOf(name, "tableId"))
	}
	d.tables[textOf(name, "tableId")] = content
	return good(content)
}
