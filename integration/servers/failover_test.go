package servers

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/integration/server"
	"zerodag/operators/operatortest/postgres"
)

// TestFailover checks that servers proceed when a standby takes over from a primary that ends at once under load: every
// attempt ends and no pool keeps a slot. With a synchronous standby, no acknowledged start is lost. With an
// asynchronous one, the last starts are lost, but their numbers are not reused and none of their commands begins
// afterward.
func TestFailover(t *testing.T) {
	required(t)
	program := server.Build(t)
	for name, synchronous := range map[string]bool{"synchronous": true, "asynchronous": false} {
		t.Run(name, func(t *testing.T) {
			primary, _ := database(t)
			standby := primary.Standby(t, synchronous)
			door := openDoor(t, primary.Port)
			in := placeOf(t, door.port())
			l := &failoverLoad{t: t, out: t.TempDir(), acknowledged: map[string]string{}, requested: map[string]time.Time{}}
			for range 2 {
				s := in.Join(t, program, "-X", "executor.attempt_max_run=100000")
				s.Start()
				l.servers = append(l.servers, s)
			}
			l.push()
			stop := make(chan struct{})
			var clients sync.WaitGroup
			for range 6 {
				clients.Go(func() { l.client(stop) })
			}
			await(t, "attempts", func() bool { return l.count() >= 30 })
			if !synchronous {
				standby.Stop(t) // from now on it falls behind
				behind := l.count() + 40
				await(t, "attempts that will be lost", func() bool { return l.count() >= behind })
			}
			door.shut()
			primary.Stop(t)
			ended := time.Now()
			if !synchronous {
				standby.Resume(t)
			}
			standby.Promote(t)
			before := l.count()
			door.lead(standby.Port)
			await(t, "attempts after the failover", func() bool { return l.count() >= before+20 })
			close(stop)
			clients.Wait()
			l.check(ended, synchronous)
			if t.Failed() {
				for _, s := range l.servers {
					log := s.Log()
					t.Logf("the end of a server's log:\n%s", log[max(0, len(log)-5000):])
				}
			}
		})
	}
}

// placeOf returns a new schema in the database at a port.
func placeOf(t *testing.T, port int) server.Place {
	t.Helper()
	name, value, _ := strings.Cut(environment(postgres.Server{Port: port}), "=")
	t.Setenv(name, value)
	p, ok := server.Found()
	if !ok {
		t.Fatal("the environment names no database")
	}
	return p
}

func await(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for begin := time.Now(); !ready(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 3*time.Minute {
			t.Fatalf("%s: they do not come", what)
		}
	}
}

// failoverLoad records what clients did and which responses they got.
type failoverLoad struct {
	t       *testing.T
	out     string // a file for each attempt, to which its commands append when they begin
	servers []*server.Server
	ids     []string // of workflows

	mu           sync.Mutex
	sessions     int
	acknowledged map[string]string // session times by attempt id
	requested    map[string]time.Time
}

func (l *failoverLoad) push() {
	begun := func(task string) string {
		return fmt.Sprintf("sh>: echo %s $(date +%%s%%N) >> %s/${attempt_id}-${session_unixtime}; sleep 0.2", task, l.out)
	}
	files := map[string]string{
		"chain.dig": "+a:\n  " + begun("a") + "\n+b:\n  " + begun("b") + "\n+c:\n  " + begun("c") + "\n",
		"pool.dig":  "zerodag: 1\n+a:\n  _pool: {name: q, slots: 1}\n  " + begun("a") + "\n+b:\n  _pool: {name: q, slots: 1}\n  " + begun("b") + "\n",
		"wait.dig":  "+a:\n  wait>: 2s\n+b:\n  " + begun("b") + "\n",
	}
	must(l.t, l.servers[0], http.MethodPut, "/api/pools/q", "application/json", []byte(`{"slots":4}`))
	must(l.t, l.servers[0], http.MethodPut, "/api/projects?project=p&revision=1", "application/gzip", server.Pack(files))
	var list struct{ Workflows []struct{ ID string } }
	l.servers[0].Get("/api/projects/1/workflows", &list)
	for _, w := range list.Workflows {
		l.ids = append(l.ids, w.ID)
	}
	if len(l.ids) != len(files) {
		l.t.Fatalf("%d workflows, want %d", len(l.ids), len(files))
	}
}

// client starts attempts, and kills one in eight, until stop is closed. Unacknowledged starts may or may not exist.
func (l *failoverLoad) client(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rand.IntN(200)) * time.Millisecond):
		}
		l.mu.Lock()
		l.sessions++
		session := time.Date(2020, 1, 1, 0, l.sessions, 0, 0, time.UTC)
		l.mu.Unlock()
		s, began := l.servers[rand.IntN(len(l.servers))], time.Now()
		status, text, err := s.Call(http.MethodPut, "/api/attempts", "application/json",
			fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":%q,"params":{}}`, l.ids[rand.IntN(len(l.ids))], session.Format(time.RFC3339)))
		if err != nil || status != http.StatusOK {
			continue
		}
		var a struct{ ID, SessionTime string }
		if err := json.Unmarshal(text, &a); err != nil {
			l.t.Error(err)
			return
		}
		l.mu.Lock()
		if other, again := l.acknowledged[a.ID]; again {
			l.t.Errorf("attempt %s is of session %s and was of session %s", a.ID, a.SessionTime, other)
		}
		l.acknowledged[a.ID], l.requested[a.ID] = a.SessionTime, began
		l.mu.Unlock()
		if rand.IntN(8) == 0 {
			s.Call(http.MethodPost, "/api/attempts/"+a.ID+"/kill", "application/json", []byte("{}"))
		}
	}
}

func (l *failoverLoad) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged)
}

// all lists all attempts once all have ended.
func (l *failoverLoad) all() map[string]string {
	for begin := time.Now(); ; time.Sleep(time.Second) {
		there, open := map[string]string{}, []string{}
		for last := ""; ; {
			var page struct {
				Attempts []struct {
					ID, SessionTime string
					Done            bool
				}
			}
			l.servers[0].Get("/api/attempts?include_retried=true&page_size=100"+last, &page)
			for _, a := range page.Attempts {
				there[a.ID] = a.SessionTime
				last = "&last_id=" + a.ID
				if !a.Done {
					open = append(open, a.ID)
				}
			}
			if len(page.Attempts) == 0 {
				break
			}
		}
		if len(open) == 0 {
			return there
		}
		if time.Since(begin) > 4*time.Minute {
			l.t.Errorf("%d of %d attempts do not end: %.10v", len(open), len(there), open)
			return there
		}
	}
}

func (l *failoverLoad) check(ended time.Time, synchronous bool) {
	l.t.Helper()
	there, lost := l.all(), 0
	for id, session := range l.acknowledged {
		if there[id] == session {
			continue
		}
		if there[id] != "" {
			l.t.Errorf("attempt %s is of session %s, and was acknowledged for %s", id, there[id], session)
		}
		lost++
		if synchronous || l.requested[id].After(ended) {
			l.t.Errorf("attempt %s was acknowledged and is not there", id)
		}
		l.neverLater(id, session, ended)
	}
	if !synchronous && lost == 0 {
		l.t.Error("nothing was lost: this proves nothing")
	}
	l.noSlots()
	l.t.Logf("%d attempts, %d acknowledged, %d of them lost", len(there), len(l.acknowledged), lost)
}

// noSlots waits until the pool is empty: once a minute, servers search for slots whose tasks have ended.
func (l *failoverLoad) noSlots() {
	var pool struct {
		Taken, Waiting []struct{ AttemptID, Since string }
	}
	for begin := time.Now(); ; time.Sleep(time.Second) {
		l.servers[0].Get("/api/pools/q", &pool)
		if len(pool.Taken)+len(pool.Waiting) == 0 {
			return
		}
		if time.Since(begin) > 2*time.Minute {
			l.t.Errorf("no attempt is under way, and slots are taken or waited for: %v", pool)
			return
		}
	}
}

// settledBy is how long after the end of the primary a command that a server was about to begin at that moment may
// still begin.
const settledBy = 5 * time.Second

// neverLater fails if a command of a lost attempt began after the failover.
func (l *failoverLoad) neverLater(id, session string, ended time.Time) {
	l.t.Helper()
	at, err := time.Parse(time.RFC3339, session)
	if err != nil {
		l.t.Error(err)
		return
	}
	text, _ := os.ReadFile(filepath.Join(l.out, id+"-"+strconv.FormatInt(at.Unix(), 10))) // without a file, no command has begun
	for line := range strings.Lines(string(text)) {
		task, nanos, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(nanos, 10, 64)
		if late := time.Unix(0, n).Sub(ended); err != nil || late > settledBy {
			l.t.Errorf("task %s of attempt %s, which is lost, began %v after the failover: %v", task, id, late, err)
		}
	}
}

// door forwards connections to one server, and later to a different one.
type door struct {
	listener net.Listener

	mu   sync.Mutex
	to   int // port; 0: nowhere
	open map[net.Conn]bool
}

func openDoor(t *testing.T, to int) *door {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{listener: listener, to: to, open: map[net.Conn]bool{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { d.serve(client) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		d.shut()
		all.Wait()
	})
	return d
}

func (d *door) port() int { return d.listener.Addr().(*net.TCPAddr).Port }

func (d *door) lead(to int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = to
}

// shut cuts all connections, and refuses new ones.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = 0
	for c := range d.open {
		c.Close()
	}
}

// enter connects a client, or returns nil if there is no server.
func (d *door) enter(client net.Conn) net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.to == 0 {
		return nil
	}
	to, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", d.to))
	if err != nil {
		return nil
	}
	d.open[client], d.open[to] = true, true
	return to
}

func (d *door) serve(client net.Conn) {
	defer client.Close()
	to := d.enter(client)
	if to == nil {
		return
	}
	defer to.Close()
	over := make(chan struct{})
	go func() {
		defer close(over)
		io.Copy(client, to)
		client.Close()
	}()
	io.Copy(to, client)
	to.Close()
	<-over
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, client)
	delete(d.open, to)
}
