package load_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"zerodag/integration/load"
	"zerodag/integration/server"
)

// clients is the number of concurrent clients.
const clients = 200

// TestLoad checks that many concurrent clients get their responses without a single error, and that they leave nothing
// behind: after a second round, there are no more goroutines, file handles and memory than after the first.
func TestLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("NOT RUN: short")
	}
	d, err := time.ParseDuration(cmp.Or(os.Getenv("ZERODAG_LOAD"), "10s"))
	if err != nil {
		t.Fatal(err)
	}
	srv := server.New(t, server.Build(t), "-X", "executor.attempt_max_run=1000000")
	srv.Start()
	c, err := load.NewClients(t.Context(), srv.URL(), clients)
	if err != nil {
		t.Fatal(err)
	}
	c.Run(t.Context(), clients, d/2)
	first := settled(t, srv, c)
	c.Run(t.Context(), clients, d/2)
	second := settled(t, srv, c)
	t.Logf("%d clients for %v\n%safter the first half:  %v\nafter the second half: %v", clients, d, c.Report(d), first, second)
	failures := c.Failures()
	for _, f := range failures[:min(len(failures), 10)] {
		t.Error(f)
	}
	if len(failures) > 10 {
		t.Errorf("and %d more", len(failures)-10)
	}
	if second.goroutines > first.goroutines+20 || second.handles > first.handles+20 || second.memory > first.memory*3/2+32<<20 {
		t.Errorf("something is left behind: %v, then %v", first, second)
	}
}

// left holds the resources that an idle server uses.
type left struct {
	goroutines, handles int
	memory              int64 // resident bytes; 0 if the system does not report them
}

func (l left) String() string {
	return fmt.Sprintf("%d goroutines, %d file handles, %d MB", l.goroutines, l.handles, l.memory>>20)
}

// settled waits until all attempts have ended and the connections are closed.
func settled(t *testing.T, srv *server.Server, c *load.Clients) left {
	t.Helper()
	c.Close()
	before := left{}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		metrics := page(t, srv)
		now := left{goroutines: value(t, metrics, "goroutines"), handles: handles(srv), memory: resident(srv)}
		over := value(t, metrics, "attempts_started_total") == ended(t, metrics, "")
		if over && now.goroutines == before.goroutines && now.handles == before.handles {
			return now
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not settle: %v\n%s", now, metrics)
		}
		before = now
	}
}

func page(t *testing.T, srv *server.Server) string {
	t.Helper()
	status, text, err := srv.Call(http.MethodGet, "/api/metrics", "", nil)
	if err != nil || status != http.StatusOK {
		t.Fatalf("metrics: %d %v", status, err)
	}
	return string(text)
}

// ended returns how many attempts ended with a result; "" means any.
func ended(t *testing.T, metrics, result string) (n int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^zerodag_attempts_ended_total\{.*result="(\w+)"\} (\d+)$`).FindAllStringSubmatch(metrics, -1) {
		if result == "" || m[1] == result {
			one, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			n += one
		}
	}
	return n
}

func value(t *testing.T, metrics, name string) int {
	t.Helper()
	m := regexp.MustCompile(`(?m)^zerodag_` + name + ` (\S+)$`).FindStringSubmatch(metrics)
	if m == nil {
		t.Fatalf("no metric %s in\n%s", name, metrics)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// handles counts open files if the system reports them, otherwise it returns 0.
func handles(srv *server.Server) int {
	list, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(srv.Process().Pid), "fd"))
	return len(list)
}

func resident(srv *server.Server) int64 {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(srv.Process().Pid), "status"))
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return n << 10
}
