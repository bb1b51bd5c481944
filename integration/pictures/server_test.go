package pictures

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"zerodag/integration/server"
)

// client is a user who works with a server: its projects have a failed, a running and an upcoming attempt.
type client struct {
	folder
	server string
}

const shop = `timezone: UTC

schedule:
  daily>: LATER

+extract:
  echo>: 1204 orders of ${session_date}

+load:
  _retry: {limit: 2, interval: 0}
  sh>: echo connecting to warehouse; echo 'connection refused by warehouse:5432' >&2; exit 2

+report:
  +draw: {echo>: drawn}
  +send: {echo>: sent}
`

func newClient(t *testing.T, workflow, text string) client {
	t.Helper()
	s := server.New(t, program)
	s.Start()
	c := client{newFolder(t, workflow, text), s.URL()}
	c.do(t, 0, "push", "shop", "--project", ".")
	return c
}

// command returns a command that runs the program with the address of the server in its user's configuration.
func (c client) command(args ...string) *exec.Cmd {
	command := c.folder.command(args...)
	command.Env = append(command.Env, "ZERODAG_ENDPOINT="+c.server)
	return command
}

// do runs a command without a terminal.
func (c client) do(t *testing.T, code int, args ...string) {
	t.Helper()
	command := c.command(args...)
	out, _ := command.CombinedOutput()
	if got := command.ProcessState.ExitCode(); got != code {
		t.Fatalf("%v: exit code %d\n%s", args, got, out)
	}
}

func (c client) run(t *testing.T, size Size, args ...string) *Screen {
	t.Helper()
	return Open(t, size, typed(args), c.command(args...), nil)
}

// TestServer checks that a server's data about a failed attempt fits on one screen: its log, the states of the attempt
// and its tasks, and what needs attention.
func TestServer(t *testing.T) {
	inBoth(t, func(t *testing.T, size Size) {
		later := time.Now().UTC().Add(12 * time.Hour).Format("15:04:05") // it does not run during the test
		c := newClient(t, "nightly", strings.ReplaceAll(shop, "LATER", later))
		c.do(t, 0, "start", "shop", "nightly", "--session", "2026-03-01")
		ends(t, c.run(t, size, "log", "1", "--follow"), "log-failed-"+size.String(), 1)
		ends(t, c.run(t, size, "attempt", "1"), "attempt-failed-"+size.String(), 0)
		ends(t, c.run(t, size, "tasks", "1"), "tasks-failed-"+size.String(), 0)
		for day := range 3 {
			c.do(t, 1, "start", "shop", "nightly", "--session", fmt.Sprintf("2026-03-%02d", 2+day), "--wait")
		}
		ends(t, c.run(t, size, "status"), "status-failed-"+size.String(), 0)
		ends(t, c.run(t, size, "attempts"), "attempts-"+size.String(), 0)
	})
}

// TestServerRuns checks the same for a running attempt: its log is shown while it is written, followed by the outcome.
func TestServerRuns(t *testing.T) {
	const name = "the_orders_of_every_region_with_their_returns_and_the_corrections_of_the_month_before"
	text := fmt.Sprintf("timezone: UTC\n\n+extract:\n  echo>: 1204 orders of ${session_date}\n\n+%s:\n  %s\n+report:\n  echo>: sent\n", name, held("writing 1198 rows"))
	inBoth(t, func(t *testing.T, size Size) {
		c := newClient(t, name, text)
		c.do(t, 0, "start", "shop", name, "--session", "2026-03-01")
		log := c.run(t, size, "log", "1", "--follow")
		matches(t, log, "log-running-"+size.String(), "writing 1198 rows")
		ends(t, c.run(t, size, "status"), "status-running-"+size.String(), 0)
		ends(t, c.run(t, size, "attempt", "1"), "attempt-running-"+size.String(), 0)
		c.release(t)
		ends(t, log, "log-success-"+size.String(), 0)
		ends(t, c.run(t, size, "attempt", "1"), "attempt-success-"+size.String(), 0)
	})
}

// TestServerMasses checks that the failure in an attempt of a thousand tasks is on the screen.
func TestServerMasses(t *testing.T) {
	inBoth(t, func(t *testing.T, size Size) {
		c := newClient(t, "nightly", strings.ReplaceAll(mass(980), "; sh wait.sh", ""))
		c.do(t, 1, "start", "shop", "nightly", "--session", "2026-03-01", "--wait")
		ends(t, c.run(t, size, "attempt", "1"), "attempt-thousand-"+size.String(), 0)
		ends(t, c.run(t, size, "status"), "status-thousand-"+size.String(), 0)
	})
}
