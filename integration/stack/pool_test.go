package stack_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"zerodag/integration/stack"
)

// till is a web server whose responses take a second. It records its callers, and how many call at once.
type till struct {
	url string

	mu        sync.Mutex
	now, most int
	runs      map[string]int // by path
}

// served is how long a till's response takes.
const served = time.Second

func newTill(t *testing.T) *till {
	t.Helper()
	l := &till{runs: map[string]int{}}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

func (l *till) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.runs[r.URL.Path]++
	l.now++
	l.most = max(l.most, l.now)
	l.mu.Unlock()
	time.Sleep(served)
	l.mu.Lock()
	l.now--
	l.mu.Unlock()
}

// TestPoolOfTen checks that the tasks of many attempts that share a pool of ten slots each run once, and never more
// than ten at the same time. It prints how long that took, and how long the same attempts took without a pool.
// ZERODAG_POOL is the number of attempts (40).
//
// It runs alone, so that nothing else affects its times.
func TestPoolOfTen(t *testing.T) {
	s := stack.Alone(t)
	const slots = 10
	many, name := number(t, "ZERODAG_POOL", 40), fmt.Sprintf("ten%d", time.Now().UnixNano())
	status, text, err := s.Call(t.Context(), http.MethodPut, "/api/pools/"+name, "application/json", fmt.Appendf(nil, `{"slots": %d}`, slots))
	if err != nil || status != http.StatusOK {
		t.Fatalf("set the pool: %d %s %v", status, text, err)
	}
	if most := serve(t, s, name, "_pool: "+name, many); most > slots {
		t.Errorf("%d tasks ran at once, and the pool has %d slots", most, slots)
	}
	serve(t, s, name+"-free", "", many)
}

// serve runs attempts of one task that calls a till, and returns how many called at once.
func serve(t *testing.T, s *stack.Stack, project, key string, many int) int {
	t.Helper()
	l := newTill(t)
	p, err := s.Push(t.Context(), project, map[string]string{"main.dig": "zerodag: 1\n+a:\n  http>: " + l.url + "/${attempt_id}\n  " + key + "\n"})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var clients sync.WaitGroup
	sessions := make(chan int64)
	for range 4 {
		clients.Go(func() {
			for i := range sessions {
				if _, err := s.Start(t.Context(), p.Workflows["main"], time.Unix(i, 0)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range many {
		sessions <- int64(i)
	}
	close(sessions)
	clients.Wait()
	started := time.Since(began)
	if t.Failed() {
		t.FailNow()
	}
	allEnd(t, s, project, many)
	whole := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	t.Logf("%d attempts (%q): started within %v, all over after %v; at most %d tasks ran at once, %.1f on average", many, key,
		started.Round(time.Millisecond), whole.Round(time.Millisecond), l.most, float64(many)*served.Seconds()/whole.Seconds())
	if len(l.runs) != many {
		t.Errorf("tasks of %d attempts ran, want %d", len(l.runs), many)
	}
	for path, runs := range l.runs {
		if runs != 1 {
			t.Errorf("the task of attempt %s ran %d times", path, runs)
		}
	}
	return l.most
}
