package tdfake

import (
	"encoding/json"
	"net/http"
	"strconv"

	"zerodag/integration/fake"
)

// begin starts a job; if its domain key is already in use, it returns a conflict that names the existing job.
func (a *account) begin(kind, database, domainKey string, script Script) (*job, reply) {
	if id, known := a.byKey[domainKey]; known && domainKey != "" {
		r := ok(fields{"error": "Conflict", "text": "Domain key has already been taken", "severity": "error", "details": fields{"conflicts_with": id}})
		r.status = http.StatusConflict
		return nil, r
	}
	j := &job{id: strconv.Itoa(1001 + len(a.order)), kind: kind, database: database, script: script}
	a.jobs[j.id] = j
	a.order = append(a.order, j.id)
	if domainKey != "" {
		a.byKey[domainKey] = j.id
	}
	return j, ok(fields{"job_id": j.id, "job": j.id, "database": database})
}

func issue(a *account, v []string, r fake.Request) reply {
	form := r.Form
	if r.Body != "" {
		form = r.Query
	}
	if a.databases[v[1]] == nil {
		return refuse(http.StatusNotFound, "Couldn't find database "+v[1])
	}
	script, err := ReadScript(form.Get("query"))
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, err.Error())
	}
	_, answer := a.begin(v[0], v[1], form.Get("domain_key"), script)
	return answer
}

func (a *account) find(id string, use func(*job) reply) reply {
	if j := a.jobs[id]; j != nil {
		return use(j)
	}
	return refuse(http.StatusNotFound, "Couldn't find job "+id)
}

func status(a *account, v []string, _ fake.Request) reply {
	return a.find(v[0], func(j *job) reply {
		defer func() { j.looks++ }()
		return ok(fields{"job_id": j.id, "status": j.status(), "created_at": "2024-02-29 12:34:56 UTC", "result_size": 0, "duration": 1})
	})
}

func statusByKey(a *account, v []string, r fake.Request) reply {
	return status(a, []string{a.byKey[v[0]]}, r)
}

func show(a *account, v []string, _ fake.Request) reply {
	return a.find(v[0], func(j *job) reply {
		f := fields{"job_id": j.id, "status": j.status(), "type": j.kind, "database": j.database, "query": "select 1", "num_records": j.script.records(),
			"debug": fields{"cmdout": j.script.Out, "stderr": j.script.Fail}}
		if j.script.hasRows() {
			schema, err := json.Marshal(j.script.Columns)
			if err != nil {
				panic(err) // strings can always be encoded
			}
			f["hive_result_schema"] = string(schema)
		}
		return ok(f)
	})
}

func result(a *account, v []string, _ fake.Request) reply {
	return a.find(v[0], func(j *job) reply {
		if !j.script.hasRows() {
			return refuse(http.StatusNotFound, "the job has no result")
		}
		return reply{status: http.StatusOK, result: &j.script}
	})
}

func kill(a *account, v []string, _ fake.Request) reply {
	return a.find(v[0], func(j *job) reply {
		former := j.status()
		j.killed = j.killed || former == "running"
		return ok(fields{"former_status": former, "job_id": j.id})
	})
}

func lookup(a *account, _ []string, r fake.Request) reply {
	if id, known := a.connections[r.Query.Get("name")]; known {
		return ok(fields{"id": id})
	}
	return refuse(http.StatusNotFound, "Couldn't find connection "+r.Query.Get("name"))
}

// run starts the query that is saved under a name.
func (a *account) run(name, kind, domainKey string, answer func(j *job) reply) reply {
	query, known := a.saved[name]
	if !known {
		return refuse(http.StatusNotFound, "Couldn't find "+name)
	}
	script, err := ReadScript(query)
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, err.Error())
	}
	j, refused := a.begin(kind, "", domainKey, script)
	if j == nil {
		return refused
	}
	return answer(j)
}

func runSaved(a *account, v []string, r fake.Request) reply {
	return a.run(v[0], "presto", r.Form.Get("domain_key"), func(j *job) reply {
		return ok(fields{"jobs": []fields{{"job_id": j.id, "type": j.kind, "scheduled_at": v[1]}}})
	})
}

// keyOf returns the domain key in JSON content.
func keyOf(r fake.Request) string {
	var content struct {
		Key string `json:"domain_key"`
	}
	if json.Unmarshal([]byte(r.Body), &content) != nil {
		return ""
	}
	return content.Key
}

func runSavedNumber(a *account, v []string, r fake.Request) reply {
	return a.run(v[0], "presto", keyOf(r), func(j *job) reply { return ok(fields{"id": j.id}) })
}

func runSession(a *account, v []string, r fake.Request) reply {
	return a.run(v[0], "bulkload", keyOf(r), func(j *job) reply { return ok(fields{"job_id": j.id}) })
}

func exportTable(a *account, v []string, r fake.Request) reply {
	if !a.databases[v[0]][v[1]] {
		return refuse(http.StatusNotFound, "Couldn't find table "+v[0]+"."+v[1])
	}
	_, answer := a.begin("export", v[0], r.Form.Get("domain_key"), Script{})
	return answer
}

func partialDelete(a *account, v []string, r fake.Request) reply {
	if !a.databases[v[0]][v[1]] {
		return refuse(http.StatusNotFound, "Couldn't find table "+v[0]+"."+v[1])
	}
	_, answer := a.begin("partialdelete", v[0], r.Form.Get("domain_key"), Script{})
	return answer
}

func exportResult(a *account, v []string, _ fake.Request) reply {
	return a.find(v[0], func(of *job) reply {
		_, answer := a.begin("result_export", of.database, "", Script{})
		return answer
	})
}
