package stack_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/integration/stack"
)

// load records what clients did, which responses they got, and what tasks did.
type load struct {
	*stack.Stack
	t       *testing.T
	name    string // of the project
	project stack.Project
	works   *works
	since   time.Time
	// patience is how long a client waits for the end of an attempt before it starts the next.
	patience time.Duration

	mu      sync.Mutex
	random  *rand.Rand
	session int64
	started []string
	killed  map[string]bool
}

// works is a server that the tasks call. It records when each task of each attempt began and ended: keys are
// "<attempt>/<task>".
type works struct {
	url string

	mu     sync.Mutex
	random *rand.Rand
	begun  map[string][]time.Time
	ended  map[string][]time.Time
}

func newLoad(t *testing.T, s *stack.Stack, seed uint64) *load {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 2))
	l := &load{Stack: s, t: t, since: time.Now(), patience: 3 * time.Second, name: fmt.Sprintf("crash%d", time.Now().UnixNano()), killed: map[string]bool{}, random: random, works: newWorks(t, seed)}
	var err error
	l.project, err = s.Push(t.Context(), l.name, map[string]string{"main.dig": l.works.main(), "every.dig": "schedule:\n  seconds_interval>: 5\n+a:\n  echo>: ${session_time}\n"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newWorks(t *testing.T, seed uint64) *works {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &works{url: "http://" + listener.Addr().String(), random: rand.New(rand.NewPCG(seed, 3)), begun: map[string][]time.Time{}, ended: map[string][]time.Time{}}
	server := &http.Server{Handler: w}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return w
}

// stages returns the names of tasks that run one after the other; tasks in the same list run in parallel.
func stages() [][]string {
	return [][]string{{"first"}, {"p0", "p1", "p2", "p3"}, {"each0", "each1", "each2"}, {"flaky"}, {"last"}}
}

// main returns the workflow that is started: a chain, a parallel group, a loop, a task that fails at first, and tasks
// without I/O.
func (w *works) main() string {
	task := func(indent, name string) string {
		return fmt.Sprintf("%shttp>: %s/${attempt_id}/%s\n%sstore_content: true\n", indent, w.url, name, indent)
	}
	var b strings.Builder
	b.WriteString("+first:\n" + task("  ", "first") + "+show:\n  echo>: ${http.last_content}\n+wide:\n  _parallel: true\n")
	for i := range 4 {
		fmt.Fprintf(&b, "  +p%d:\n%s", i, task("    ", fmt.Sprint("p", i)))
	}
	b.WriteString("+each:\n  for_each>: {i: [0, 1, 2]}\n  _parallel: true\n  _do:\n    +it:\n" + task("      ", "each${i}"))
	b.WriteString("+flaky:\n  _retry: {limit: 5, interval: 1}\n" + task("  ", "flaky"))
	b.WriteString("+params:\n  _export: {a: 1}\n  +b:\n    echo>: ${a}\n+last:\n" + task("  ", "last"))
	return b.String()
}

// ServeHTTP does the work of a task, which takes a moment. The first run of "flaky" fails.
func (w *works) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, "/")
	w.mu.Lock()
	w.begun[key] = append(w.begun[key], time.Now())
	first := len(w.begun[key]) == 1
	pause := time.Duration(w.random.IntN(200)) * time.Millisecond
	w.mu.Unlock()
	time.Sleep(pause)
	if first && strings.HasSuffix(key, "/flaky") {
		http.Error(answer, "not yet", http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.ended[key] = append(w.ended[key], time.Now())
	w.mu.Unlock()
	fmt.Fprint(answer, key)
}

// begunOf returns when tasks of an attempt began, by the path that they call.
func (w *works) begunOf(attempt string) map[string][]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := map[string][]time.Time{}
	for key, times := range w.begun {
		if name, is := strings.CutPrefix(key, attempt+"/"); is {
			of[name] = slices.Clone(times)
		}
	}
	return of
}

func (l *load) runs() int {
	l.works.mu.Lock()
	defer l.works.mu.Unlock()
	n := 0
	for _, list := range l.works.begun {
		n += len(list)
	}
	return n
}

// begin lets clients start attempts, of which underWay run at once, and kill some, until stop is called. It ticks more
// often than once a minute for the schedule.
func (l *load) begin(underWay int) (stop func()) {
	over := make(chan struct{})
	var clients sync.WaitGroup
	for range underWay {
		clients.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					l.one()
				}
			}
		})
	}
	clients.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(3 * time.Second):
				l.Tick(l.t.Context()) // it may be killed
			}
		}
	})
	return func() {
		close(over)
		clients.Wait()
	}
}

// one starts an attempt, kills one in eight, and waits for its end.
func (l *load) one() {
	l.mu.Lock()
	l.session++
	session := time.Unix(l.session, 0)
	kill, after := l.random.IntN(8) == 0, time.Duration(l.random.IntN(2000))*time.Millisecond
	l.mu.Unlock()
	a, err := l.Start(l.t.Context(), l.project.Workflows["main"], session)
	if err != nil {
		l.t.Error(err)
		return
	}
	l.mu.Lock()
	l.started = append(l.started, a.ID)
	l.mu.Unlock()
	if kill {
		time.Sleep(after)
		if err := l.Post(l.t.Context(), "/api/attempts/"+a.ID+"/kill", struct{}{}, nil); err == nil {
			l.mu.Lock()
			l.killed[a.ID] = true
			l.mu.Unlock()
		}
	}
	for deadline := time.Now().Add(l.patience); time.Now().Before(deadline); time.Sleep(300 * time.Millisecond) {
		var now stack.Attempt
		if l.Get(l.t.Context(), "/api/attempts/"+a.ID, &now) != nil || now.Done {
			return
		}
	}
}

// atLeast waits until n attempts have been started.
func (l *load) atLeast(n int) {
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		l.mu.Lock()
		started := len(l.started)
		l.mu.Unlock()
		if started >= n {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%d attempts were started, want %d", started, n)
		}
	}
}
