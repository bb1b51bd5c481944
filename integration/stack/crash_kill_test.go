package stack_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"zerodag/integration/localstack"
)

// killer kills processes of functions.
type killer struct {
	stage  string
	random *rand.Rand
	done   []string // names of the functions
}

// process is a process that runs a function.
type process struct {
	pid      int
	function string
}

// processes lists the function processes of the stage on this LocalStack.
func processes(stage string) []process {
	u, err := url.Parse(localstack.Endpoint())
	if err != nil {
		return nil
	}
	var list []process
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range found {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended, or belongs to another user
		}
		of := map[string]string{}
		for pair := range strings.SplitSeq(string(text), "\x00") {
			name, value, _ := strings.Cut(pair, "=")
			of[name] = value
		}
		if of["ZERODAG_STAGE"] != stage || of["EDGE_PORT"] != u.Port() || of["AWS_LAMBDA_FUNCTION_NAME"] == "" {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil {
			list = append(list, process{pid, strings.TrimPrefix(of["AWS_LAMBDA_FUNCTION_NAME"], "zerodag-"+stage+"-")})
		}
	}
	return list
}

// work returns how much a process has read and written, which changes while it is working.
func (p process) work() string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.pid))
	return string(text)
}

// one waits for a random time, then kills a working process: in one of six cases a process of the API, which is polled
// all the time, otherwise one that advances attempts.
func (k *killer) one(t *testing.T) {
	t.Helper()
	time.Sleep(time.Duration(50+k.random.IntN(400)) * time.Millisecond)
	api := k.random.IntN(6) == 0
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		list := slices.DeleteFunc(processes(k.stage), func(p process) bool { return (p.function == "api") != api })
		before := make([]string, len(list))
		for i, p := range list {
			before[i] = p.work()
		}
		time.Sleep(time.Duration(1+k.random.IntN(20)) * time.Millisecond)
		var busy []process
		for i, p := range list {
			if now := p.work(); now != "" && now != before[i] {
				busy = append(busy, p)
			}
		}
		if len(busy) == 0 {
			continue
		}
		p := busy[k.random.IntN(len(busy))]
		if syscall.Kill(p.pid, syscall.SIGKILL) == nil {
			k.done = append(k.done, p.function)
			return
		}
	}
	t.Fatal("no function was at work for a minute: nothing could be killed")
}

// of returns how many processes of a function were killed.
func (k *killer) of(function string) int {
	n := 0
	for _, f := range k.done {
		if f == function {
			n++
		}
	}
	return n
}

func (k *killer) String() string {
	times := map[string]int{}
	for _, f := range k.done {
		times[f]++
	}
	var list []string
	for f, n := range times {
		list = append(list, fmt.Sprint(f, " ", n))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
