package durability_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"zerodag/integration/fake"
	"zerodag/integration/gcpfake"
	"zerodag/integration/server"
)

// TestBigQueryOnce checks that a query on BigQuery runs once, and its task succeeds, no matter at which of its requests
// the server is killed: both before BigQuery has handled the request, and afterward, when the response is lost.
func TestBigQueryOnce(t *testing.T) {
	t.Parallel()
	bq := newBigQuery(t, "+a:\n  bq>: {data: 'select 1'}\n  dataset: d\n+b:\n  echo>: ${bq.last_job_id}\n")
	kills := 0
	for _, answered := range []bool{false, true} {
		for n := 1; bq.once(n, answered); n++ {
			if kills++; n == mostRequests {
				t.Fatalf("the task makes more than %d requests", mostRequests)
			}
		}
	}
	if kills < 4 {
		t.Errorf("%d kills, want one at each request: %v", kills, bq.service.Requests())
	}
	t.Logf("%d kills", kills)
}

// TestBigQueryKilled checks that killing an attempt cancels its query, even if the server was started after the query.
func TestBigQueryKilled(t *testing.T) {
	t.Parallel()
	bq := newBigQuery(t, "+a:\n  bq>:\n    data: |\n      -- bq: {\"looks\": 1000000}\n      select 1\n  dataset: d\n")
	looked := make(chan struct{})
	var once sync.Once
	bq.service.OnRequest(func(_ int, r fake.Request, answered bool) {
		if answered && r.Method == http.MethodGet {
			once.Do(func() { close(looked) })
		}
	})
	id := bq.start()
	<-looked
	bq.Kill()
	bq.Start()
	if status, text, err := bq.Call(http.MethodPost, "/api/attempts/"+id+"/kill", "application/json", []byte("{}")); err != nil || status != http.StatusOK {
		t.Fatalf("kill: %d %v %s", status, err, text)
	}
	bq.ended(id, nil)
	if jobs := bq.service.Jobs(); len(jobs) != 1 || !jobs[0].Cancelled {
		t.Errorf("%+v\n%v", jobs, bq.service.Requests())
	}
}

// bigQuery is a server with a task that queries BigQuery.
type bigQuery struct {
	*server.Server
	t        *testing.T
	service  *gcpfake.Server
	workflow string
	sessions int
}

// newBigQuery starts a server with a project whose dataset is in a region where BigQuery finds a job only with its
// location.
func newBigQuery(t *testing.T, text string) *bigQuery {
	t.Helper()
	bq := &bigQuery{t: t, service: gcpfake.New(), Server: server.New(t, server.Build(t), "-X", "agent.max_crashes=0")}
	bq.service.PutDataset(gcpfake.Project+":d", "asia-northeast1")
	bq.Start()
	archive := server.Pack(map[string]string{"main.dig": text})
	if status, text, err := bq.Call(http.MethodPut, "/api/projects?project=bq&revision=1", "application/gzip", archive); err != nil || status != http.StatusOK {
		t.Fatalf("push: %d %v %s", status, err, text)
	}
	var answer struct{ Projects []struct{ ID string } }
	bq.Get("/api/projects?name=bq", &answer)
	project, address := answer.Projects[0].ID, bq.service.Start(t)
	for key, value := range map[string]string{"gcp.credential": gcpfake.Credential(address), "gcp.bigquery.endpoint": address} {
		content, err := json.Marshal(map[string]string{"value": value})
		if err != nil {
			t.Fatal(err)
		}
		if status, text, err := bq.Call(http.MethodPut, "/api/projects/"+project+"/secrets/"+key, "application/json", content); err != nil || status >= 300 {
			t.Fatalf("secret: %d %v %s", status, err, text)
		}
	}
	var list struct{ Workflows []struct{ ID string } }
	bq.Get("/api/projects/"+project+"/workflows?name=main", &list)
	bq.workflow = list.Workflows[0].ID
	return bq
}

// once runs the task in a separate session and kills the server at its n-th request; it returns false if there was no
// such request.
func (bq *bigQuery) once(n int, answered bool) bool {
	bq.t.Helper()
	requests, jobs := len(bq.service.Requests()), len(bq.service.Jobs())
	started, killed := make(chan struct{}), make(chan struct{})
	hit := false
	bq.service.OnRequest(func(at int, _ fake.Request, now bool) {
		if at == requests+n && now == answered {
			<-started // the client knows the ID of its attempt
			hit = true
			bq.Kill()
			close(killed)
		}
	})
	id := bq.start()
	close(started)
	ended := bq.ended(id, killed)
	if !ended {
		bq.service.OnRequest(nil)
		bq.Start()
		ended = bq.ended(id, nil)
	}
	var a attempt
	bq.Get("/api/attempts/"+id, &a)
	if !ended || !a.Success || len(bq.service.Jobs()) != jobs+1 {
		bq.t.Errorf("killed at request %d, answered %v: %d jobs, ended %v, %+v\n%v", n, answered, len(bq.service.Jobs())-jobs, ended, a, bq.service.Requests()[requests:])
	}
	return hit
}

// start starts the workflow for a separate session.
func (bq *bigQuery) start() string {
	bq.t.Helper()
	bq.sessions++
	body := fmt.Sprintf(`{"workflowId":%q,"sessionTime":%q,"params":{}}`, bq.workflow, time.Unix(int64(bq.sessions), 0).UTC().Format(time.RFC3339))
	status, text, err := bq.Call(http.MethodPut, "/api/attempts", "application/json", []byte(body))
	var a attempt
	if err != nil || status != http.StatusOK || json.Unmarshal(text, &a) != nil {
		bq.t.Fatalf("start: %d %v %s", status, err, text)
	}
	return a.ID
}

// ended waits for the end of an attempt; it returns false if the server was killed first.
func (bq *bigQuery) ended(id string, killed <-chan struct{}) bool {
	bq.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		select {
		case <-killed:
			return false
		default:
		}
		status, text, err := bq.Call(http.MethodGet, "/api/attempts/"+id, "", nil)
		var a attempt
		if err == nil && status == http.StatusOK && json.Unmarshal(text, &a) == nil && a.Done {
			return true
		}
	}
	bq.t.Fatalf("attempt %s never ends:\n%s", id, bq.Log())
	return false
}
