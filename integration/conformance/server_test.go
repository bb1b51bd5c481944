package conformance

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/integration/localstack"
	"zerodag/integration/server"
	"zerodag/integration/stack"
)

// atOnce is how many cases a server carries out concurrently: most of them wait.
const atOnce = 8

// TestServer checks that every recorded case has the same result on a server, through its REST API, as in Digdag: on
// one that is started here, or on a deployed stack (package stack). ZERODAG_CASES names another folder of cases;
// ZERODAG_NO_COMMANDS skips cases that need a shell, Python or Ruby.
func TestServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("NOT RUN: short")
	}
	cases, err := LoadCases(cmp.Or(os.Getenv("ZERODAG_CASES"), "cases"))
	if err != nil {
		t.Fatal(err)
	}
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	place, deployed := stack.Find()
	remote := Remote{URL: place.URL, Temp: temp, Token: place.Token}
	log := func() string { return "see that of its functions" }
	if !deployed {
		srv := server.New(t, server.Build(t), "-X", "tmpdir="+temp, "-X", "task-log.format=digdag")
		srv.Start()
		remote.URL, log = srv.URL(), srv.Log
	}
	surroundings := NewSurroundings(t)
	// The longest cases come first because they determine the total time.
	order := slices.Clone(cases)
	slices.SortStableFunc(order, func(a, b Case) int { return cmp.Compare(len(b.Steps), len(a.Steps)) })
	queue, results := make(chan Case), sync.Map{}
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for c := range queue {
				results.Store(c.Name, carryOut(t, c, place, remote, surroundings))
			}
		})
	}
	begin := time.Now()
	for _, c := range order {
		queue <- c
	}
	close(queue)
	workers.Wait()
	t.Logf("%d cases in %v", len(cases), time.Since(begin).Round(time.Millisecond))
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			r, _ := results.Load(c.Name)
			r.(outcome).report(t, c)
		})
	}
	if t.Failed() {
		text := log()
		t.Logf("the end of the server's log:\n%s", text[max(0, len(text)-3000):])
	}
}

// farOtherwise lists cases that cannot run on an account as recorded, and what they lack there.
var farOtherwise = map[string]string{"i90-rb-basics": "Ruby, which the image of an account's machines, python:3.13-slim, does not have"}

// launchTime is how much longer a case with commands may take on a deployed stack: a machine is launched
// for each of its attempts, which takes Fargate up to a minute.
const launchTime = 5 * time.Minute

// outcome is the outcome of a case.
type outcome struct {
	differences Differences
	err         error
	missing     string // the missing requirement
}

func carryOut(t *testing.T, c Case, place *stack.Stack, server Remote, s *Surroundings) outcome {
	if what := missing(c); what != "" {
		return outcome{missing: what}
	}
	if !place.Commands && c.runsCommands() {
		return outcome{missing: "commands, which this server does not run"}
	}
	if why := farOtherwise[c.Name]; place.Far() && why != "" {
		return outcome{missing: why}
	}
	if place.Far() && c.needsSurroundings() {
		return outcome{missing: "a web server, mail server or database on this machine, which the functions of an account cannot reach"}
	}
	if place.URL != "" && c.runsCommands() {
		c.TimeLimit += launchTime.Seconds()
	}
	out := filepath.Join(server.Temp, "out", c.Name)
	if shared := localstack.SharedFolder(); shared != "" && place.URL != "" { // visible to the test bed's containers
		out = filepath.Join(shared, filepath.Base(server.Temp), c.Name)
		defer os.RemoveAll(out)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return outcome{err: err}
	}
	if err := open(out); err != nil {
		return outcome{err: err}
	}
	got, err := c.RunOn(t.Context(), server, s, out)
	for again := 1; errors.Is(err, errFired) && again < 20; again++ {
		got, err = c.RunOn(t.Context(), server, s, out)
	}
	if err != nil {
		return outcome{err: err}
	}
	return outcome{differences: Compare(c.Expected, got)}
}

func (o outcome) report(t *testing.T, c Case) {
	if o.missing != "" {
		if len(c.Needs) > 0 && strings.Contains(os.Getenv("REQUIRE"), strings.ReplaceAll(c.Needs[0], "pg", "peers")) {
			t.Fatalf("needs %s", o.missing)
		}
		t.Skipf("NOT RUN: needs %s", o.missing)
	}
	if o.err != nil {
		t.Fatal(o.err)
	}
	for _, line := range o.differences[Errors] {
		t.Log("text of an error: " + line)
	}
	why, allowed := allowedDifferences[c.Name]
	for _, line := range o.differences.Required() {
		if allowed {
			t.Logf("allowed (%s): %s", why, line)
		} else {
			t.Error(line)
		}
	}
}
