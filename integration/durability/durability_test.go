package durability_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/integration/server"
)

// The load: the number of concurrent attempts, and the size of each.
const (
	attempts = 50
	tasks    = 40
)

// TestKilledServers checks that a server that is killed at random moments under load loses nothing that it
// acknowledged: pushes, starts, kills and results are stored, every attempt ends, no result counts twice, no task runs
// before its upstreams, and no schedule is missed or duplicated. The server is killed more often than the limit of
// crashes per task allows, so that limit is disabled.
func TestKilledServers(t *testing.T) {
	t.Parallel()
	kills := 20
	if text := os.Getenv("ZERODAG_KILLS"); text != "" {
		kills, _ = strconv.Atoi(text)
	}
	l := &load{t: t, out: t.TempDir(), killed: map[string]bool{},
		Server: server.New(t, server.Build(t), "-X", "executor.attempt_max_run=100000", "-X", "agent.max_crashes=0")}
	l.Start()
	l.push()
	l.workflows = l.find("main")
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() { l.client(stop) })
	}
	for range kills {
		time.Sleep(time.Duration(100+rand.IntN(500)) * time.Millisecond)
		l.Kill()
		l.Start()
	}
	close(stop)
	clients.Wait()
	l.stopSchedule()
	l.drain()
	l.check()
	if t.Failed() {
		log := l.Log()
		t.Logf("the end of the server's log:\n%s", log[max(0, len(log)-5000):])
	}
	t.Logf("%d kills, %d attempts started, %d killed, %d revisions", kills, len(l.started), len(l.killed), l.revisions)
}

// load records what clients did and which responses they got.
type load struct {
	*server.Server
	t         *testing.T
	out       string
	workflows string // id of main in the first revision

	mu        sync.Mutex
	session   int
	revisions int
	started   []string
	killed    map[string]bool
}

type attempt struct {
	ID              string
	Done, Success   bool
	CancelRequested bool
	Index           int
	SessionTime     string
}

// push pushes a revision and counts it once it is acknowledged.
func (l *load) push() {
	name := fmt.Sprintf("r%d", time.Now().UnixNano())
	status, text, err := l.Call(http.MethodPut, "/api/projects?project=load&revision="+name, "application/gzip", l.archive())
	if err != nil {
		return
	}
	if status != http.StatusOK {
		l.t.Errorf("push: %d %s", status, text)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revisions++
}

// archive returns the project: a chain in which every fourth task is a command that records its beginning and end, and
// a schedule for every second.
func (l *load) archive() []byte {
	var main strings.Builder
	for i := range tasks {
		fmt.Fprintf(&main, "+t%d:\n", i)
		if i%4 == 0 {
			fmt.Fprintf(&main, "  sh>: echo begin %d >> %s/${attempt_id}; echo end %d >> %s/${attempt_id}\n", i, l.out, i, l.out)
		} else {
			main.WriteString("  echo>: ${attempt_id}\n")
		}
	}
	return server.Pack(map[string]string{"main.dig": main.String(),
		"every.dig": "schedule:\n  seconds_interval>: 1\n+a:\n  echo>: ${session_time}\n"})
}

func (l *load) project() string {
	var answer struct{ Projects []struct{ ID string } }
	l.Get("/api/projects?name=load", &answer)
	if len(answer.Projects) != 1 {
		l.t.Fatalf("the project is not there: %v", answer)
	}
	return answer.Projects[0].ID
}

func (l *load) find(name string) string {
	var answer struct{ Workflows []struct{ ID string } }
	l.Get("/api/projects/"+l.project()+"/workflows?name="+name, &answer)
	return answer.Workflows[0].ID
}

// client starts attempts, kills some of them, and pushes occasionally, whatever happens to the server meanwhile.
func (l *load) client(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		switch n := rand.IntN(40); {
		case n == 0:
			l.push()
		case l.enough():
			time.Sleep(10 * time.Millisecond)
		default:
			l.start(n < 6)
		}
	}
}

// enough reports whether the intended number of attempts is already running.
func (l *load) enough() bool {
	l.mu.Lock()
	ids := l.started[max(0, len(l.started)-2*attempts):]
	l.mu.Unlock()
	if len(ids) < attempts {
		return false
	}
	status, text, err := l.Call(http.MethodGet, "/api/attempts/"+ids[len(ids)-attempts], "", nil)
	var a attempt
	return err != nil || status != http.StatusOK || json.Unmarshal(text, &a) != nil || !a.Done
}

func (l *load) start(kill bool) {
	l.mu.Lock()
	l.session++
	session := time.Unix(int64(l.session), 0).UTC().Format(time.RFC3339)
	l.mu.Unlock()
	body := fmt.Sprintf(`{"workflowId":%q,"sessionTime":%q,"params":{}}`, l.workflows, session)
	status, text, err := l.Call(http.MethodPut, "/api/attempts", "application/json", []byte(body))
	if err != nil {
		return // not acknowledged: it may or may not exist
	}
	var a attempt
	if err := json.Unmarshal(text, &a); err != nil || status != http.StatusOK {
		l.t.Errorf("start: %d %s", status, text)
		return
	}
	l.mu.Lock()
	l.started = append(l.started, a.ID)
	l.mu.Unlock()
	if !kill {
		return
	}
	if status, _, err := l.Call(http.MethodPost, "/api/attempts/"+a.ID+"/kill", "application/json", []byte("{}")); err == nil && status == http.StatusOK {
		l.mu.Lock()
		l.killed[a.ID] = true
		l.mu.Unlock()
	}
}

// stopSchedule disables the schedule so that all attempts can end.
func (l *load) stopSchedule() {
	var answer struct{ Schedules []struct{ ID string } }
	l.Get("/api/projects/"+l.project()+"/schedules", &answer)
	if len(answer.Schedules) != 1 {
		l.t.Fatalf("schedules: %v", answer)
	}
	if status, text, err := l.Call(http.MethodPost, "/api/schedules/"+answer.Schedules[0].ID+"/disable", "application/json", []byte("{}")); err != nil || status != http.StatusOK {
		l.t.Fatalf("disable: %d %v %s", status, err, text)
	}
}

// drain waits until every attempt has ended.
func (l *load) drain() {
	l.t.Helper()
	const patience = 2 * time.Minute
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		open := slices.DeleteFunc(append(l.all("main"), l.all("every")...), func(a attempt) bool { return a.Done })
		if len(open) == 0 {
			return
		}
		if time.Now().After(deadline) {
			l.explain(open)
			l.t.Fatalf("after %v %d attempts have not ended", patience, len(open))
		}
	}
}

// explain prints what is known about unfinished attempts: their tasks and entries, and the servers' messages about
// them.
func (l *load) explain(open []attempt) {
	l.t.Helper()
	lines := strings.Split(l.Log(), "\n")
	for _, a := range open {
		var tree struct {
			Tasks []struct{ FullName, State, UpdatedAt string }
		}
		var history json.RawMessage
		l.Get("/api/attempts/"+a.ID+"/tasks", &tree)
		l.Get("/api/attempts/"+a.ID+"/history", &history)
		l.t.Logf("attempt %s: tasks %v, history %s", a.ID, tree.Tasks, history)
		for _, line := range lines {
			if strings.Contains(line, "="+a.ID) {
				l.t.Logf("server: %s", line)
			}
		}
	}
	l.t.Logf("the end of the servers' log:\n%s", strings.Join(lines[max(0, len(lines)-100):], "\n"))
}

// all lists every attempt of a workflow.
func (l *load) all(workflow string) []attempt {
	var list []attempt
	for last := ""; ; {
		var answer struct{ Attempts []attempt }
		l.Get("/api/attempts?project=load&include_retried=true&workflow="+workflow+last, &answer)
		list = append(list, answer.Attempts...)
		if len(answer.Attempts) == 0 {
			return list
		}
		last = "&last_id=" + answer.Attempts[len(answer.Attempts)-1].ID
	}
}

func (l *load) check() {
	byID := map[string]attempt{}
	for _, a := range l.all("main") {
		byID[a.ID] = a
	}
	for _, id := range l.started {
		a, there := byID[id]
		switch {
		case !there:
			l.t.Errorf("attempt %s was acknowledged and is lost", id)
		case l.killed[id] && !a.CancelRequested:
			l.t.Errorf("the kill of attempt %s was acknowledged and is lost", id)
		case !l.killed[id] && !a.Success && !a.CancelRequested:
			l.t.Errorf("attempt %s failed: %s", id, l.failure(id))
		}
	}
	for id := range byID {
		l.checkHistory(id)
		l.checkOrder(id, byID[id].Success)
	}
	l.checkSchedule()
	var answer struct{ Revisions []struct{ Revision string } }
	l.Get("/api/projects/"+l.project()+"/revisions", &answer)
	if len(answer.Revisions) < l.revisions {
		l.t.Errorf("%d pushes were acknowledged, %d revisions are there", l.revisions, len(answer.Revisions))
	}
}

func (l *load) failure(id string) string {
	var answer struct {
		Tasks []struct {
			FullName, State string
			Error           map[string]any
		}
	}
	l.Get("/api/attempts/"+id+"/tasks", &answer)
	for _, t := range answer.Tasks {
		if t.State == "error" {
			return fmt.Sprint(t.FullName, " ", t.Error)
		}
	}
	return "no task failed"
}

// checkHistory checks whether a task's result was accepted twice.
func (l *load) checkHistory(id string) {
	seen := map[string]bool{}
	for first := 1; ; {
		var answer struct {
			History []struct {
				Seq    int
				Events []struct {
					Event string
					Run   *struct{ Task int }
				}
			}
		}
		l.Get(fmt.Sprintf("/api/attempts/%s/history?first=%d&count=100", id, first), &answer)
		if len(answer.History) == 0 {
			return
		}
		for _, entry := range answer.History {
			if entry.Seq != first {
				l.t.Errorf("attempt %s: entry %d follows on %d", id, entry.Seq, first-1)
			}
			first = entry.Seq + 1
			for _, e := range entry.Events {
				if e.Run == nil || e.Event != "succeeded" && e.Event != "failed" {
					continue
				}
				key := fmt.Sprint(e.Run.Task)
				if seen[key] {
					l.t.Errorf("attempt %s: task %s ended twice", id, key)
				}
				seen[key] = true
			}
		}
	}
}

// checkOrder checks whether a command ran before the command that it waits for had ended. A command that was cut off
// may begin again.
func (l *load) checkOrder(id string, success bool) {
	text, err := os.ReadFile(filepath.Join(l.out, id))
	if err != nil && success {
		l.t.Errorf("attempt %s: its commands left nothing: %v", id, err)
	}
	over := -4
	for line := range strings.Lines(string(text)) {
		word, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.Atoi(number)
		if n > over+4 {
			l.t.Errorf("attempt %s: task %d ran before task %d was over:\n%s", id, n, n-4, text)
			return
		}
		if word == "end" {
			over = max(over, n)
		}
	}
	if success && over != tasks-4 {
		l.t.Errorf("attempt %s succeeded without its last command:\n%s", id, text)
	}
}

// checkSchedule checks whether each second has exactly one attempt.
func (l *load) checkSchedule() {
	list := l.all("every")
	if len(list) < 3 {
		l.t.Fatalf("the schedule started %d attempts", len(list))
	}
	at := map[time.Time]int{}
	var oldest, newest time.Time
	for _, a := range list {
		s, err := time.Parse(time.RFC3339, a.SessionTime)
		if err != nil {
			l.t.Fatal(err)
		}
		if at[s]++; at[s] > 1 || a.Index != 1 {
			l.t.Errorf("session %v was started twice", s)
		}
		if oldest.IsZero() || s.Before(oldest) {
			oldest = s
		}
		if s.After(newest) {
			newest = s
		}
	}
	for s := oldest; s.Before(newest); s = s.Add(time.Second) {
		if at[s] == 0 {
			l.t.Errorf("session %v was missed", s)
		}
	}
}
