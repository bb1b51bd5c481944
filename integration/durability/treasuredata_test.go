package durability_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/integration/fake"
	"zerodag/integration/server"
	"zerodag/integration/tdfake"
)

// mostRequests is more than the number of requests that a task of the test makes.
const mostRequests = 20

// TestTreasureDataOnce checks that a query on Treasure Data runs once, and its task succeeds, no matter at which of its
// requests the server is killed: both before the service has handled the request, and afterward, when the response is
// lost.
func TestTreasureDataOnce(t *testing.T) {
	t.Parallel()
	td := &treasureData{t: t, service: tdfake.New()}
	td.Server = server.New(t, server.Build(t), "-X", "agent.max_crashes=0", "-X", "config.td.min_poll_interval=0s", "-X", "config.td.max_poll_interval=0s",
		"-X", "config.td.min_retry_interval=0s", "-X", "config.td.max_retry_interval=1s")
	td.Start()
	td.push(td.service.Start(t))
	kills := 0
	for _, answered := range []bool{false, true} {
		for n := 1; ; n++ {
			if !td.once(n, answered) {
				break
			}
			if kills++; n == mostRequests {
				t.Fatalf("the task makes more than %d requests", mostRequests)
			}
		}
	}
	if kills < 10 {
		t.Errorf("%d kills, want one at each request: %v", kills, td.service.Requests())
	}
	t.Logf("%d kills", kills)
}

// TestTreasureDataKilled checks that killing an attempt ends its query, even if the server was started after the query.
func TestTreasureDataKilled(t *testing.T) {
	t.Parallel()
	td := &treasureData{t: t, service: tdfake.New()}
	td.Server = server.New(t, server.Build(t))
	td.Start()
	td.pushFile(td.service.Start(t), "+a:\n  td>:\n    data: |\n      -- td: {\"looks\": 1000000}\n      select 1\n  database: sample_datasets\n")
	looked := make(chan struct{})
	var once sync.Once
	td.service.OnRequest(func(_ int, r fake.Request, answered bool) {
		if answered && strings.Contains(r.Path, "/job/status/") {
			once.Do(func() { close(looked) })
		}
	})
	id := td.start()
	<-looked
	td.Kill()
	td.Start()
	if status, text, err := td.Call(http.MethodPost, "/api/attempts/"+id+"/kill", "application/json", []byte("{}")); err != nil || status != http.StatusOK {
		t.Fatalf("kill: %d %v %s", status, err, text)
	}
	td.ended(id, nil)
	if jobs := td.service.Jobs(); len(jobs) != 1 || jobs[0].Status != "killed" {
		t.Errorf("%+v\n%s", jobs, td.requests(0))
	}
}

// treasureData is a server with a task that queries a service.
type treasureData struct {
	*server.Server
	t        *testing.T
	service  *tdfake.Server
	workflow string
	sessions int
}

func (td *treasureData) push(endpoint string) {
	td.t.Helper()
	td.pushFile(endpoint, "+a:\n  td>: {data: 'select 1'}\n  database: sample_datasets\n  insert_into: new_table\n  store_last_results: true\n"+
		"+b:\n  echo>: ${td.last_job.id}\n")
}

func (td *treasureData) pushFile(endpoint, text string) {
	td.t.Helper()
	archive := server.Pack(map[string]string{"main.dig": text})
	if status, text, err := td.Call(http.MethodPut, "/api/projects?project=td&revision=1", "application/gzip", archive); err != nil || status != http.StatusOK {
		td.t.Fatalf("push: %d %v %s", status, err, text)
	}
	var answer struct{ Projects []struct{ ID string } }
	td.Get("/api/projects?name=td", &answer)
	project := answer.Projects[0].ID
	for key, value := range map[string]string{"td.apikey": tdfake.Key, "td.endpoint": endpoint, "td.use_ssl": "false"} {
		if status, text, err := td.Call(http.MethodPut, "/api/projects/"+project+"/secrets/"+key, "application/json", fmt.Appendf(nil, `{"value":%q}`, value)); err != nil || status >= 300 {
			td.t.Fatalf("secret: %d %v %s", status, err, text)
		}
	}
	var list struct{ Workflows []struct{ ID string } }
	td.Get("/api/projects/"+project+"/workflows?name=main", &list)
	td.workflow = list.Workflows[0].ID
}

// once runs the task in a separate session and kills the server at its n-th request; it returns false if there was no
// such request.
func (td *treasureData) once(n int, answered bool) bool {
	td.t.Helper()
	requests, jobs := len(td.service.Requests()), len(td.service.Jobs())
	started, killed := make(chan struct{}), make(chan struct{})
	hit := false
	td.service.OnRequest(func(at int, _ fake.Request, now bool) {
		if at == requests+n && now == answered {
			<-started // the client knows the ID of its attempt
			hit = true
			td.Kill()
			close(killed)
		}
	})
	id := td.start()
	close(started)
	ended := td.ended(id, killed)
	if !ended {
		td.service.OnRequest(nil)
		td.Start()
		ended = td.ended(id, nil)
	}
	var a attempt
	td.Get("/api/attempts/"+id, &a)
	if !ended || !a.Success || len(td.service.Jobs()) != jobs+1 {
		td.t.Errorf("killed at request %d, answered %v: %d jobs, ended %v, %+v\n%s", n, answered, len(td.service.Jobs())-jobs, ended, a, td.requests(requests))
	}
	return hit
}

// start starts the workflow for a separate session.
func (td *treasureData) start() string {
	td.t.Helper()
	td.sessions++
	body := fmt.Sprintf(`{"workflowId":%q,"sessionTime":%q,"params":{}}`, td.workflow, time.Unix(int64(td.sessions), 0).UTC().Format(time.RFC3339))
	status, text, err := td.Call(http.MethodPut, "/api/attempts", "application/json", []byte(body))
	var a attempt
	if err != nil || status != http.StatusOK || json.Unmarshal(text, &a) != nil {
		td.t.Fatalf("start: %d %v %s", status, err, text)
	}
	return a.ID
}

// ended waits for the end of an attempt; it returns false if the server was killed first.
func (td *treasureData) ended(id string, killed <-chan struct{}) bool {
	td.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		select {
		case <-killed:
			return false
		default:
		}
		status, text, err := td.Call(http.MethodGet, "/api/attempts/"+id, "", nil)
		var a attempt
		if err == nil && status == http.StatusOK && json.Unmarshal(text, &a) == nil && a.Done {
			return true
		}
	}
	td.t.Fatalf("attempt %s never ends:\n%s", id, td.Log())
	return false
}

func (td *treasureData) requests(from int) string {
	var lines []string
	for _, r := range td.service.Requests()[from:] {
		lines = append(lines, r.String())
	}
	return strings.Join(lines, "\n")
}
