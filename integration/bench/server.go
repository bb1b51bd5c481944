package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"zerodag/integration/server"
)

// running is a `zerodag server` with the data that its attempts need.
type running struct {
	cmd       *exec.Cmd
	url       string
	beside    []*running // servers with the same data, which get requests in turn
	turn      atomic.Int64
	folder    string
	workflows map[string]string // ids
	mu        sync.Mutex
	session   int
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}}

// serve starts a server on a folder, waits for its first response, and returns how long that took.
func (b *bench) serve(folder string, options ...string) (*running, time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	s := &running{url: fmt.Sprintf("http://127.0.0.1:%d", port), folder: folder, workflows: map[string]string{}}
	log, err := os.Create(folder + ".log")
	if err != nil {
		return nil, 0, err
	}
	defer log.Close()
	if len(options) == 0 || !slices.Contains(options, "database.type=postgresql") {
		options = append([]string{"-o", folder}, options...)
	}
	s.cmd = exec.Command(b.program, append([]string{"server", "-n", strconv.Itoa(port), "-X", "executor.attempt_max_run=1000000"}, options...)...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.Env = append(os.Environ(), "ZERODAG_CONFIG_HOME="+b.dir)
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, 0, err
	}
	for {
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			c.Close()
			err = s.call(http.MethodGet, "/api/version", "", nil, nil)
			return s, time.Since(began), err
		}
		if time.Since(began) > 30*time.Second {
			return nil, 0, fmt.Errorf("the server did not start: see %s.log", folder)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

func (s *running) stop() {
	for _, other := range s.beside {
		other.stop()
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.cmd.Wait()
}

// memory returns the resident memory of the server in MiB.
func (s *running) memory() int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib / 1024
		}
	}
	return 0
}

func (s *running) call(method, path, contentType string, body []byte, into any) error {
	to := s
	if n := len(s.beside) + 1; n > 1 {
		if i := int(s.turn.Add(1)) % n; i > 0 {
			to = s.beside[i-1]
		}
	}
	r, err := http.NewRequest(method, to.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", contentType)
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (s *running) push(project string, workflows map[string]string) error {
	files := map[string]string{}
	for name, text := range workflows {
		files[name+".dig"] = text
	}
	var p struct{ ID string }
	if err := s.call(http.MethodPut, fmt.Sprintf("/api/projects?revision=%d&project=%s", s.session+1, project), "application/gzip", server.Pack(files), &p); err != nil {
		return err
	}
	var list struct{ Workflows []struct{ ID, Name string } }
	err := s.call(http.MethodGet, "/api/projects/"+p.ID+"/workflows", "", nil, &list)
	for _, w := range list.Workflows {
		s.workflows[w.Name] = w.ID
	}
	return err
}

func (s *running) start(workflow string) (string, error) {
	s.mu.Lock()
	s.session++
	session := time.Unix(int64(s.session), 0).UTC().Format(time.RFC3339)
	s.mu.Unlock()
	var a struct{ ID string }
	body := fmt.Sprintf(`{"workflowId":%q,"sessionTime":%q,"params":{}}`, s.workflows[workflow], session)
	err := s.call(http.MethodPut, "/api/attempts", "application/json", []byte(body), &a)
	return a.ID, err
}

// wait polls until an attempt is done, less often the longer it takes: responses must not be part of the measurement,
// but take up a third of a server's work if it is polled as fast as it can respond.
func (s *running) wait(id string) error {
	for began := time.Now(); ; time.Sleep(max(500*time.Microsecond, time.Since(began)/50)) {
		var a struct{ Done, Success bool }
		if err := s.call(http.MethodGet, "/api/attempts/"+id, "", nil, &a); err != nil {
			return err
		}
		if a.Done {
			if !a.Success {
				return fmt.Errorf("attempt %s failed", id)
			}
			return nil
		}
	}
}

// many starts n attempts with concurrent clients, and waits for all.
func (s *running) many(n, clients int, workflow string) error {
	jobs, failed := make(chan int), make(chan error, clients)
	for range clients {
		go func() {
			var ids []string
			var err error
			for range jobs {
				id, e := s.start(workflow)
				ids, err = append(ids, id), cmp.Or(err, e)
			}
			for _, id := range ids {
				if err == nil {
					err = s.wait(id)
				}
			}
			failed <- err
		}()
	}
	for i := range n {
		jobs <- i
	}
	close(jobs)
	var err error
	for range clients {
		err = cmp.Or(err, <-failed)
	}
	return err
}

// repeated returns a workflow of n tasks with the same text, sequential or parallel.
func repeated(n int, text string, parallel bool) string {
	var b strings.Builder
	if parallel {
		b.WriteString("_parallel: true\n")
	}
	for i := range n {
		fmt.Fprintf(&b, "+t%d:\n  %s\n", i, text)
	}
	return b.String()
}

func median(runs int, f func() error) (time.Duration, error) {
	var all []time.Duration
	for range runs {
		began := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// server takes the measurements that the issue about the server names.
func (b *bench) server() error {
	fmt.Printf("\n%-46s %12s %10s %12s %10s  %s\n", "the server, from request to done, medians", "here", "memory", "original", "Dagu", "goal")
	var starts []time.Duration
	for i := range 5 {
		s, took, err := b.serve(filepath.Join(b.dir, fmt.Sprint("start", i)))
		if err != nil {
			return err
		}
		starts = append(starts, took)
		s.stop()
	}
	slices.Sort(starts)
	s, _, err := b.serve(filepath.Join(b.dir, "data"))
	if err != nil {
		return err
	}
	defer s.stop()
	time.Sleep(time.Second)
	b.row("start to first answer; idle memory", figure{starts[2], s.memory()}, [2]string{"server_start_to_first_answer", "server_start_to_first_answer"}, "")
	empty, err := b.python()
	if err != nil {
		return err
	}
	ratio("start to first answer", starts[2], empty.took, 3)
	return b.workloads(s)
}

func (b *bench) workloads(s *running) error {
	err := s.push("bench", map[string]string{"one": repeated(1, "echo>: hi", false), "chain50": repeated(50, "echo>: hi", false),
		"wide500": repeated(500, "echo>: hi", true), "chain20": repeated(20, "echo>: hi", false), "set50": repeated(50, "param_set>:\n  a: b", false),
		"js20": repeated(20, "echo>: ${1+1}", false), "sh20": repeated(20, "sh>: 'true'", false), "loop500": "+l:\n  loop>: 500\n  _do:\n    echo>: ${i}\n"})
	if err != nil {
		return err
	}
	one := func(workflow string) func() error {
		return func() error {
			id, err := s.start(workflow)
			return cmp.Or(err, s.wait(id))
		}
	}
	for _, w := range []struct {
		what string
		runs int
		f    func() error
		keys [2]string
		goal string
	}{
		{"one echo>", 21, one("one"), [2]string{"", "one_step"}, ""},
		{"chain of 50 echo>", 11, one("chain50"), [2]string{"chain_50_echo", "chain_50"}, "under 60 ms"},
		{"500 echo> in parallel", 7, one("wide500"), [2]string{"fanout_500_echo", "fanout_500_unlimited"}, "under 150 ms"},
		{"20 attempts x 20 chained echo>", 5, func() error { return s.many(20, 20, "chain20") }, [2]string{"concurrent_20x20_echo", "queue_20x20_chain"}, "under 300 ms"},
		{"1,000 attempts of one echo>", 3, func() error { return s.many(1000, 20, "one") }, [2]string{}, "under 3 s"},
		{"loop> of 500 echo>", 5, one("loop500"), [2]string{"loop_500_dynamic", ""}, ""},
		{"chain of 20 sh>: true", 5, one("sh20"), [2]string{"chain_20_sh_true", ""}, ""},
		{"chain of 20 echo> with JavaScript", 5, one("js20"), [2]string{"chain_20_echo_with_js", ""}, ""},
	} {
		took, err := median(w.runs, w.f)
		if err != nil {
			return fmt.Errorf("%s: %w", w.what, err)
		}
		b.row(w.what, figure{took, s.memory()}, w.keys, w.goal)
	}
	took, err := median(11, one("set50"))
	if err != nil {
		return err
	}
	b.row("between two chained tasks (param_set>), mean", figure{took / 50, s.memory()}, [2]string{}, "under 1 ms; memory under 150 MB")
	return nil
}

// commands compares the throughput of sh> with a program that does nothing else.
func (b *bench) commands() error {
	const n = 400
	s, _, err := b.serve(filepath.Join(b.dir, "commands"), "--max-task-threads", "2")
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.push("bench", map[string]string{"sh": repeated(n, "sh>: 'true'", true)}); err != nil {
		return err
	}
	took, err := median(3, func() error { return s.many(1, 1, "sh") })
	if err != nil {
		return err
	}
	bare, err := median(3, func() error {
		var two sync.WaitGroup
		for range 2 {
			two.Go(func() {
				for range n / 2 {
					exec.Command("/bin/sh", "-c", "true").Run()
				}
			})
		}
		two.Wait()
		return nil
	})
	b.row(fmt.Sprintf("%d sh>: true, two at a time", n), figure{took, s.memory()}, [2]string{}, "")
	b.row(fmt.Sprintf("  a bare loop of %d fork and exec, two workers", n), figure{bare, 0}, [2]string{}, "")
	fmt.Printf("%-46s %9.0f %%  %42s  60 %%\n", "  throughput against the bare loop", 100*float64(bare)/float64(took), "")
	return err
}
