package stack_test

import (
	"strings"
	"testing"
	"time"

	"zerodag/integration/localstack"
	"zerodag/integration/stack"
)

// onFunction returns a command line with a project whose commands run on the deployment's function, which is for site
// 0.
func onFunction(t *testing.T) (commandLine, string) {
	t.Helper()
	deployed := stack.Deployed(t)
	if !deployed.Commands {
		t.Skip("NOT RUN: this stack runs no commands")
	}
	c := newCommandLine(t, deployed, deployed.Token)
	c.write("tasks/__init__.py", "")
	c.write("tasks/my.py", "import digdag\ndef go(who):\n    print('hello', who)\n    digdag.env.store({'answer': 42})\n")
	c.write("data.txt", "some data\n")
	const head = "_export:\n  sandbox: {executor: lambda}\n"
	for name, text := range map[string]string{
		"all": "+sh:\n  sh>: cat data.txt; env | cut -d= -f1\n  _env: {WHO: me}\n+py:\n  py>: tasks.my.go\n  who: you\n" +
			"+stored:\n  sh>: echo the answer is ${answer}; head -c 100000 /dev/zero | tr '\\0' x\n+slow:\n  sh>: echo first; sleep 2; echo last\n",
		"fails":  "+x:\n  sh>: echo so far; exit 7\n",
		"late":   "+x:\n  sh>: sleep 60\n  sandbox: {executor: lambda, timeout: 1s}\n",
		"image":  "+x:\n  sh>: 'true'\n  docker: {image: alpine}\n",
		"killed": "+x:\n  sh>: trap 'echo it ends by itself; exit 1' TERM; echo it runs; sleep 100 & wait\n",
		"twenty": "+x:\n  loop>: 20\n  _do:\n    +y:\n      sh>: 'true'\n",
	} {
		c.write(name+".dig", head+text)
	}
	project := localstack.Name()
	c.must("push", project, "-r", "r1")
	return c, project
}

// until waits for the end of an attempt and returns it.
func (c commandLine) until(attempt string, within time.Duration) map[string]any {
	c.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if a := c.object("attempt", attempt); a["done"] == true {
			return a
		}
	}
	c.t.Fatalf("attempt %s did not end within %v", attempt, within)
	return nil
}

// TestCommandFunction checks that commands of a real project run on the function: with the project's files, its
// parameters and its log, and without anything that belongs to the function.
func TestCommandFunction(t *testing.T) {
	t.Parallel()
	c, project := onFunction(t)
	attempt := c.start(project, "all")
	a := c.until(attempt, time.Minute)
	log := c.must("log", attempt)
	if a["success"] != true {
		t.Fatalf("%v\n%s", a, log)
	}
	for _, want := range []string{"\nsome data\n", "\nWHO\n", "\nHOME\n", "hello you\n", "the answer is 42\n", strings.Repeat("x", 100000), "first\nlast\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %.40q:\n%.3000s", want, log)
		}
	}
	for _, name := range []string{"\nAWS_ACCESS_KEY_ID\n", "\nAWS_SECRET_ACCESS_KEY\n", "\nAWS_SESSION_TOKEN\n", "\nAWS_LAMBDA_RUNTIME_API\n", "\nLAMBDA_TASK_ROOT\n", "\n_HANDLER\n"} {
		if strings.Contains(log, name) {
			t.Errorf("the environment of commands has %s", strings.TrimSpace(name))
		}
	}
	for line := range strings.Lines(log) { // variables that describe the run also have Digdag's name; variables of the function do not
		if name, ours := strings.CutPrefix(line, "ZERODAG_"); ours && !strings.Contains(log, "\nDIGDAG_"+name) {
			t.Errorf("the environment of commands has %s", strings.TrimSpace(line))
		}
	}
}

// TestCommandFunctionEnds checks that the kinds of failure are distinguished, and that a kill ends the command instead
// of waiting for it.
func TestCommandFunctionEnds(t *testing.T) {
	t.Parallel()
	c, project := onFunction(t)
	for workflow, want := range map[string]string{
		"fails": "Command failed with code 7",
		"late":  "took longer than 1s",
		"image": "the executor lambda cannot run images",
	} {
		attempt := c.start(project, workflow)
		a := c.until(attempt, time.Minute)
		if log := c.must("log", attempt); a["success"] != false || !strings.Contains(log, want) {
			t.Errorf("%s: %v, want %s\n%s", workflow, a, want, log)
		}
	}
	var attempt string
	for tries := 1; ; tries++ { // a task runs before its command does: a kill may arrive in between
		attempt = c.start(project, "killed")
		until(t, 30*time.Second, "the command is started", func() bool { return strings.Contains(c.must("tasks", attempt), "running") })
		time.Sleep(time.Duration(tries) * time.Second)
		c.must("kill", attempt)
		c.until(attempt, 20*time.Second)
		if c.must("log", attempt) != "" || tries == 5 {
			break
		}
	}
	until(t, 20*time.Second, "the kill reaches the command", func() bool { return strings.Contains(c.must("log", attempt), "\nit ends by itself\n") })
	other := stack.Deployed(t)
	d := newCommandLine(t, other, other.SiteToken(t, stack.FreshSite(), "admin"))
	d.write("wf.dig", "+x:\n  sh>: 'true'\n  sandbox: {executor: lambda}\n")
	d.must("push", "elsewhere", "-r", "r1")
	attempt = d.start("elsewhere", "wf")
	d.until(attempt, time.Minute)
	if log := d.must("log", attempt); !strings.Contains(log, "only for site 0") {
		t.Errorf("another site uses the function:\n%s", log)
	}
}

// TestCommandFunctionTime prints how long sequential commands take, and checks that none of them waits for a machine or
// a poll.
func TestCommandFunctionTime(t *testing.T) {
	t.Parallel()
	c, project := onFunction(t)
	began := time.Now()
	if a := c.until(c.start(project, "twenty"), time.Minute); a["success"] != true {
		t.Fatal(a)
	}
	took := time.Since(began)
	t.Logf("20 commands one after the other took %v", took)
	if took > 30*time.Second {
		t.Errorf("20 commands took %v: they waited for something", took)
	}
}
