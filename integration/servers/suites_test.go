package servers

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"zerodag/integration/server"
	"zerodag/operators/operatortest/postgres"
)

// database starts a PostgreSQL server and returns an environment that names it for the tests of one server.
func database(t *testing.T) (postgres.Server, []string) {
	t.Helper()
	required(t)
	s := postgres.StartKeeping(t)
	return s, append(os.Environ(), environment(s))
}

// required skips a test that takes minutes unless it was requested.
func required(t *testing.T) {
	t.Helper()
	if !strings.Contains(os.Getenv("REQUIRE"), "servers") {
		t.Skip("NOT RUN: it takes minutes; `make test-servers` runs it")
	}
}

// environment returns the variable that names a database for the tests of one server.
func environment(s postgres.Server) string {
	return fmt.Sprintf("%s=127.0.0.1:%d/%s/%s", server.Variable, s.Port, postgres.Database, postgres.User)
}

// suite runs tests of one server, which find the database in their environment.
func suite(t *testing.T, environment []string, arguments ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", append([]string{"test", "-count=1", "-timeout", "20m"}, arguments...)...)
	c.Env = environment
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out[max(0, len(out)-20000):])
		return
	}
	if strings.Contains(string(out), "no tests to run") || strings.Contains(string(out), "NOT RUN") {
		t.Errorf("nothing was run:\n%s", out)
	}
	t.Logf("%s", out)
}

// TestREST checks that every recorded request gets the same response, whichever of two servers handles it.
func TestREST(t *testing.T) {
	_, environment := database(t)
	suite(t, environment, "zerodag/integration/rest")
}

// TestJavaClient checks that Digdag's client library works with two servers as it does with one.
func TestJavaClient(t *testing.T) {
	_, environment := database(t)
	suite(t, environment, "zerodag/integration/client")
}

// TestCases checks that every recorded case has the same result on two servers as on a Digdag server.
func TestCases(t *testing.T) {
	_, environment := database(t)
	suite(t, environment, "-run", "^TestServer$", "zerodag/integration/conformance")
}

// TestGated checks that every project with zerodag's own keys has the same result on two servers.
func TestGated(t *testing.T) {
	_, environment := database(t)
	suite(t, environment, "-run", "^TestServer", "zerodag/integration/gated")
}

// restarts is how many times the database is killed while servers are killed.
const restarts = 5

// TestKills checks that nothing is lost, duplicated or out of order under load if servers are killed in turn twenty
// times, and the database five times.
func TestKills(t *testing.T) {
	s, environment := database(t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		suite(t, environment, "-v", "-run", "^TestKilledServers$", "zerodag/integration/durability")
	}()
	for range restarts {
		select {
		case <-over:
			t.Error("the load was over before the database was restarted often enough")
			return
		case <-time.After(3 * time.Second):
		}
		s.Restart(t)
	}
	<-over
}

// TestBench runs the benchmarks; `make bench` runs it.
func TestBench(t *testing.T) {
	program := os.Getenv("ZERODAG_BENCH")
	if program == "" {
		t.Skip("NOT RUN: `make bench` runs it")
	}
	s := postgres.StartKeeping(t)
	c := exec.CommandContext(t.Context(), "go", "run", "zerodag/integration/bench", "-zerodag", program, "-reference", "../conformance/bench_reference.json", "-only", "servers")
	c.Env = append(os.Environ(), environment(s))
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
}
