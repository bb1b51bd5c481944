package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"zerodag/integration/localstack"
	"zerodag/integration/stack"
	"zerodag/operators"
)

// sandbox is a stack with the cluster of its machines.
type sandbox struct {
	*stack.Stack
	bed    localstack.ECS // injects faults; only on the test bed
	client *ecs.Client
}

// commands returns the stack, on the test bed or on an account.
func commands(t *testing.T) sandbox {
	t.Helper()
	s := stack.Deployed(t)
	if !s.Commands {
		t.Skip("NOT RUN: this stack runs no commands")
	}
	if s.Far() {
		c, err := awsconfig.LoadDefaultConfig(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return sandbox{s, localstack.ECS{}, ecs.NewFromConfig(c)}
	}
	return inBed(t, s)
}

// inBed returns a stack on the test bed.
func inBed(t *testing.T, s *stack.Stack) sandbox {
	t.Helper()
	return sandbox{s, localstack.ECS{Endpoint: localstack.Endpoint(), Cluster: cluster(s)}, ecs.NewFromConfig(localstack.Config(t))}
}

func cluster(s *stack.Stack) string { return "zerodag-" + s.Stage + "-commands" }

// within returns how long something may take: Fargate takes up to a minute to launch a machine, pulls its image, and
// stops it half a minute after the request.
func (s sandbox) within(limit time.Duration) time.Duration {
	if s.Far() {
		return limit + 4*time.Minute
	}
	return limit
}

// machines returns the tasks of an attempt in ECS, which shows stopped ones for an hour.
func (s sandbox) machines(t *testing.T, attempt string) []types.Task {
	t.Helper()
	name := cluster(s.Stack)
	var list []types.Task
	for _, desired := range []types.DesiredStatus{types.DesiredStatusRunning, types.DesiredStatusStopped} {
		for p := ecs.NewListTasksPaginator(s.client, &ecs.ListTasksInput{Cluster: &name, DesiredStatus: desired}); p.HasMorePages(); {
			page, err := p.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(page.TaskArns) == 0 {
				continue
			}
			out, err := s.client.DescribeTasks(t.Context(), &ecs.DescribeTasksInput{Cluster: &name, Tasks: page.TaskArns})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range out.Tasks {
				known := slices.ContainsFunc(list, func(y types.Task) bool { return *x.TaskArn == *y.TaskArn }) // it stopped between the two lists
				if strings.HasPrefix(aws.ToString(x.StartedBy), attempt+"-") && !known {
					list = append(list, x)
				}
			}
		}
	}
	return list
}

// lose removes a machine: on the test bed as the loss of its host would, with or without an event, and on an account by
// stopping it in ECS.
func (s sandbox) lose(t *testing.T, machine string, event bool) {
	t.Helper()
	if !s.Far() {
		s.bed.Lose(t, machine, event)
		return
	}
	if _, err := s.client.StopTask(t.Context(), &ecs.StopTaskInput{Cluster: aws.String(cluster(s.Stack)), Task: &machine}); err != nil {
		t.Fatal(err)
	}
}

// begin pushes a workflow and starts it.
func (s sandbox) begin(t *testing.T, dig string) stack.Attempt {
	t.Helper()
	return s.beginAt(t, dig, time.Now())
}

func (s sandbox) beginAt(t *testing.T, dig string, session time.Time) stack.Attempt {
	t.Helper()
	name := "sandbox-" + strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-")
	p, err := s.Push(t.Context(), name, map[string]string{"main.dig": dig})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Start(t.Context(), p.Workflows["main"], session)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// end waits for the end of an attempt.
func (s sandbox) end(t *testing.T, a stack.Attempt, limit time.Duration) stack.Attempt {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), s.within(limit))
	defer cancel()
	a, err := s.Wait(ctx, a.ID)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.log(t, a.ID))
	}
	return a
}

func (s sandbox) kill(t *testing.T, a stack.Attempt) {
	t.Helper()
	if status, text, err := s.Call(t.Context(), http.MethodPost, "/api/attempts/"+a.ID+"/kill", "application/json", []byte("{}")); err != nil || status/100 != 2 {
		t.Fatalf("kill: %d %s %v", status, text, err)
	}
}

func (s sandbox) log(t *testing.T, attempt string, tasks ...string) string {
	t.Helper()
	text, err := s.Logs(context.WithoutCancel(t.Context()), attempt, tasks...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// until polls until a condition holds, and returns how long that took.
func until(t *testing.T, limit time.Duration, what string, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(max(50*time.Millisecond, limit/1000)) // a long limit is for Fargate, which must not be polled too often
	}
	return time.Since(began)
}

// stopped waits until an attempt no longer has any machines, so that none is left to be paid for.
func (s sandbox) stopped(t *testing.T, attempt string) {
	t.Helper()
	until(t, s.within(time.Minute), "the attempt's machines are stopped", func() bool {
		for _, x := range s.machines(t, attempt) {
			if aws.ToString(x.LastStatus) != "STOPPED" {
				return false
			}
		}
		return true
	})
}

// TestOneMachine checks that a workflow of twenty commands in one image starts one Fargate task, which ends with the
// attempt.
func TestOneMachine(t *testing.T) {
	t.Parallel()
	s := commands(t)
	a := s.begin(t, `
+some:
  for_range>: {from: 0, to: 10, step: 1}
  _do:
    sh>: printf 'one %s\n' by-one-${range.from}
+more:
  for_range>: {from: 0, to: 10, step: 1}
  _parallel: true
  _do:
    sh>: printf 'all %s\n' together-${range.from}
`)
	if a = s.end(t, a, 2*time.Minute); !a.Success {
		t.Errorf("it failed:\n%s", s.log(t, a.ID))
	}
	log := s.log(t, a.ID)
	if one, more := strings.Count(log, "one by-one-"), strings.Count(log, "all together-"); one != 10 || more != 10 {
		t.Errorf("%d and %d commands have run, want 10 and 10:\n%s", one, more, log)
	}
	if list := s.machines(t, a.ID); len(list) != 1 {
		t.Errorf("%d tasks were started, want 1", len(list))
	}
	s.stopped(t, a.ID)
}

// TestSizes checks that a command that requests a size has a machine of that size for itself, on Spot if requested, and
// is ended if it uses more than it requested.
func TestSizes(t *testing.T) {
	t.Parallel()
	s := commands(t)
	a := s.begin(t, `
+all:
  _parallel: true
  +large:
    sh>: printf 'it is %s\n' large
    sandbox: {cpu: 2, memory: 5g, disk: 40g, spot: true}
  +plain:
    sh>: printf 'it is %s\n' plain
  +greedy:
    sh>: head -c 20G /dev/zero | tail -c 250M >/dev/null
    sandbox: {memory: 128m}
  +slow:
    sh>: sleep 1000
    sandbox: {timeout: 2s}
`)
	if a = s.end(t, a, 3*time.Minute); a.Success {
		t.Error("it succeeded")
	}
	log := s.log(t, a.ID)
	for _, want := range []string{"it is large", "it is plain"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	var tasks json.RawMessage
	if err := s.Get(t.Context(), "/api/attempts/"+a.ID+"/tasks", &tasks); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{operators.OutOfMemory(128 << 20), operators.TooLong(2 * time.Second)} {
		if !strings.Contains(string(tasks), want) {
			t.Errorf("no task says %q:\n%s", want, tasks)
		}
	}
	sizes := map[string]int{}
	for _, x := range s.machines(t, a.ID) {
		sizes[aws.ToString(x.Cpu)+" "+aws.ToString(x.Memory)+" "+provider(x)]++
	}
	if sizes["2048 5120 FARGATE_SPOT"] != 1 || sizes["1024 2048 "] != 1 || sizes["256 512 "] != 1 || len(sizes) != 3 {
		t.Errorf("the machines are %v", sizes)
	}
	s.stopped(t, a.ID)
}

// provider returns Spot if a task was requested there, or "" for tasks without a provider or with the plain one.
func provider(x types.Task) string {
	if name := aws.ToString(x.CapacityProviderName); name != "FARGATE" {
		return name
	}
	return ""
}

// TestKillCommand checks that a kill ends a running command and its machine within 5 s, and that a command's output can
// be read within 2 s.
func TestKillCommand(t *testing.T) {
	t.Parallel()
	s := commands(t)
	a := s.begin(t, "+long:\n  sh>: printf 'it %s\\n' runs; sleep 5; date +said-%s; sleep 1000 & wait\n")
	until(t, s.within(time.Minute), "the command runs", func() bool { return strings.Contains(s.log(t, a.ID), "it runs") })
	var seen time.Duration
	until(t, 30*time.Second, "the second line is in the log", func() bool {
		_, after, found := strings.Cut(s.log(t, a.ID), "said-")
		var at int64
		if fmt.Sscan(after, &at); found && at > 0 {
			seen = time.Since(time.Unix(at, 0))
		}
		return found
	})
	t.Logf("a line was seen %v after it was written, counted from its whole second", seen)
	if seen > 15*time.Second { // it is polled every 2 s, and the machine is busy
		t.Errorf("a line was seen after %v", seen)
	}
	s.kill(t, a)
	took := until(t, s.within(20*time.Second), "the machine is stopped", func() bool {
		list := s.machines(t, a.ID)
		return len(list) > 0 && aws.ToString(list[0].LastStatus) == "STOPPED"
	})
	t.Logf("killed, and stopped after %v", took)
	if took > s.within(15*time.Second) {
		t.Errorf("it took %v to stop the command", took)
	}
	if a = s.end(t, a, 30*time.Second); a.Success {
		t.Error("a killed attempt is a success")
	}
}

// TestLostMachine checks that a command whose machine is lost while it runs soon runs once more on another machine,
// with and without an event about the loss.
func TestLostMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event  bool
		within time.Duration
	}{"told": {true, time.Minute}, "silent": {false, 75 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commands(t)
			if s.Far() && !c.event {
				t.Skip("NOT RUN on an account: ECS tells of every machine that it loses")
			}
			a := s.begin(t, "+work:\n  sh>: |\n    printf 'it %s\\n' begins\n    sleep 8\n    printf 'it %s\\n' ends\n")
			until(t, s.within(time.Minute), "the command runs", func() bool { return strings.Contains(s.log(t, a.ID), "it begins") })
			s.lose(t, *s.machines(t, a.ID)[0].TaskArn, c.event)
			took := until(t, s.within(c.within), "another machine was started", func() bool { return len(s.machines(t, a.ID)) > 1 })
			t.Logf("another machine after %v", took)
			if a = s.end(t, a, 2*time.Minute); !a.Success {
				t.Errorf("it failed:\n%s", s.log(t, a.ID))
			}
			if log := s.log(t, a.ID); strings.Count(log, "it begins") != 2 || strings.Count(log, "it ends") != 1 {
				t.Errorf("log:\n%s", log)
			}
			s.stopped(t, a.ID)
		})
	}
}

// TestMissingImage checks that a missing image fails the task at once, with an error about it.
func TestMissingImage(t *testing.T) {
	t.Parallel()
	s := commands(t)
	a := s.begin(t, "+work:\n  sh>: echo never\n  docker: {image: \"registry.example/missing:1\"}\n  _retry: 0\n")
	if a = s.end(t, a, 90*time.Second); a.Success {
		t.Error("it succeeded")
	}
	var tasks struct {
		Tasks []struct {
			FullName string
			Error    map[string]any
		}
	}
	if err := s.Get(t.Context(), "/api/attempts/"+a.ID+"/tasks", &tasks); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(tasks)
	if !strings.Contains(text, "The image cannot be pulled") || !strings.Contains(text, "registry.example/missing:1") {
		t.Errorf("the error does not say why: %s", text)
	}
}

// TestBusyFargate checks that refused launches are retried, and that a thousand concurrent commands use at most ten
// machines per attempt, launched at the account's rate, and run once each. They are in two attempts because an attempt
// has at most a thousand tasks.
func TestBusyFargate(t *testing.T) {
	s := inBed(t, stack.Alone(t))
	s.bed.Faults(t, map[string]any{"capacity": 2, "throttle": 1})
	a := s.begin(t, "+some:\n  sh>: printf 'in the %s' end\n")
	if a = s.end(t, a, 3*time.Minute); !a.Success || !strings.Contains(s.log(t, a.ID), "in the end") {
		t.Errorf("without capacity at first it failed:\n%s", s.log(t, a.ID))
	}
	began := time.Now()
	const attempts, n = 2, 500
	s.bed.Faults(t, map[string]any{"launch_burst": 2, "launch_rate": 0.5})
	var list [attempts]stack.Attempt
	for i := range list {
		list[i] = s.beginAt(t, fmt.Sprintf("+many:\n  for_range>: {from: 0, to: %d, step: 1}\n  _parallel: true\n  _do:\n    sh>: printf 'number %%s.\\n' ${range.from}\n", n), began.Add(time.Duration(i)*time.Minute))
	}
	for _, a := range list {
		if a = s.end(t, a, 8*time.Minute); !a.Success {
			t.Errorf("attempt %s failed", a.ID)
			s.explain(t, a.ID, began)
		}
	}
	t.Logf("%d commands in %v", attempts*n, time.Since(began).Round(time.Second))
	for _, a := range list {
		machines := len(s.machines(t, a.ID))
		if t.Logf("%d machines", machines); machines > 10 {
			t.Errorf("attempt %s had %d machines", a.ID, machines)
		}
		log := s.log(t, a.ID)
		for i := range n {
			if times := strings.Count(log, fmt.Sprintf("number %d.\n", i)); times != 1 {
				t.Errorf("command %d of attempt %s has run %d times", i, a.ID, times)
			}
		}
		s.stopped(t, a.ID)
	}
}

// asks is a command that prints when it begins and when it is asked to end.
const asks = `trap 'echo asked to end at $(date +%s); exit 1' TERM; echo it begins; sleep 600 & wait`

// askedAt returns when the command in asks was asked to end, or false if it has never begun.
func askedAt(t *testing.T, log string) (int64, bool) {
	t.Helper()
	if !strings.Contains(log, "\nit begins\n") {
		return 0, false
	}
	_, rest, found := strings.Cut(log, "\nasked to end at ")
	text, _, _ := strings.Cut(rest, "\n")
	at, err := strconv.ParseInt(text, 10, 64)
	if !found || err != nil {
		t.Errorf("it was not asked to end:\n%s", log)
	}
	return at, true
}

// TestTimeOverBeside checks that a command that times out, even at once, or whose group fails fast, ends without ending
// its machine, on which another task's command continues, and that the other command does not run twice.
func TestTimeOverBeside(t *testing.T) {
	t.Parallel()
	s := commands(t)
	a := s.begin(t, `zerodag: 1
+warm:
  sh>: echo warm
+beside:
  _parallel: true
  +early:
    _timeout: 2s
    _ignore_error: true
    sh>: `+asks+`
  +late:
    _timeout: 45s
    _ignore_error: true
    sh>: `+asks+`
  +fast:
    _fail_fast: true
    _parallel: true
    _ignore_error: true
    +fails:
      sh>: sleep 2; exit 1
    +canceled:
      sh>: `+asks+`
  +other:
    sh>: echo begin; sleep 65; echo end at $(date +%s)
`)
	if a = s.end(t, a, 5*time.Minute); !a.Success {
		t.Errorf("it failed:\n%s", s.log(t, a.ID))
	}
	log := s.log(t, a.ID, "+main+beside+other")
	_, text, _ := strings.Cut(log, "\nbegin\nend at ")
	end, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || strings.Count(log, "\nbegin\n") != 1 {
		t.Errorf("the other command said:\n%s", log)
	}
	for _, name := range []string{"+main+beside+early", "+main+beside+late", "+main+beside+fast+canceled"} {
		at, begun := askedAt(t, s.log(t, a.ID, name))
		if begun && at >= end || !begun && strings.HasSuffix(name, "+late") {
			t.Errorf("%s: begun %v, asked to end at %d, the other one ended at %d", name, begun, at, end)
		}
	}
	if log := s.log(t, a.ID); strings.Contains(log, "lost") {
		t.Errorf("something was lost:\n%s", log)
	}
	s.stopped(t, a.ID)
}

// TestTimeOverOnFunction is TestTimeOverBeside on the function for short commands.
func TestTimeOverOnFunction(t *testing.T) {
	t.Parallel()
	s := commands(t)
	began := time.Now()
	a := s.begin(t, `zerodag: 1
_export:
  sandbox: {executor: lambda}
+late:
  _timeout: 40s
  _ignore_error: true
  sh>: `+asks+`
+fast:
  _fail_fast: true
  _parallel: true
  _ignore_error: true
  +fails:
    sh>: sleep 5; exit 1
  +canceled:
    sh>: `+asks+`
`)
	if a = s.end(t, a, 3*time.Minute); !a.Success {
		t.Errorf("it failed:\n%s", s.log(t, a.ID))
	}
	t.Logf("it took %v", time.Since(began).Round(time.Second))
	if _, begun := askedAt(t, s.log(t, a.ID, "+main+late")); !begun {
		t.Error("the late one has not begun")
	}
	if _, begun := askedAt(t, s.log(t, a.ID, "+main+fast+canceled")); !begun {
		t.Error("the canceled one has not begun")
	}
}

// TestCancelOnMachines checks that commands of `_cancel`, which run after a kill, run once, while the commands that
// were killed lose their machines.
func TestCancelOnMachines(t *testing.T) {
	t.Parallel()
	s := commands(t)
	names := []string{"a", "b", "c"}
	dig := "zerodag: 1\n+beside:\n  _parallel: true\n"
	for _, name := range names {
		dig += "  +" + name + ":\n    sh>: " + asks + "\n    _cancel:\n      sh>: echo cleaning; sleep 5; echo clean\n"
	}
	a := s.begin(t, dig)
	until(t, s.within(2*time.Minute), "all commands run", func() bool { return strings.Count(s.log(t, a.ID), "\nit begins\n") == len(names) })
	s.kill(t, a)
	if a = s.end(t, a, 3*time.Minute); a.Success {
		t.Error("a killed attempt is a success")
	}
	for _, name := range names {
		if _, begun := askedAt(t, s.log(t, a.ID, "+main+beside+"+name)); !begun {
			t.Errorf("%s has not begun", name)
		}
		if log := s.log(t, a.ID, "+main+beside+"+name+"^cancel"); strings.Count(log, "\ncleaning\n") != 1 || !strings.Contains(log, "\nclean\n") {
			t.Errorf("`_cancel` of %s said:\n%s", name, log)
		}
	}
	s.stopped(t, a.ID)
}

// explain prints what is known about the failed tasks of an attempt: their errors, entries and logs, and the functions'
// complaints since a time.
func (s sandbox) explain(t *testing.T, attempt string, since time.Time) {
	t.Helper()
	var tree struct {
		Tasks []struct {
			ID              int64 `json:",string"`
			FullName, State string
			Error           json.RawMessage
		}
	}
	if err := s.Get(t.Context(), "/api/attempts/"+attempt+"/tasks", &tree); err != nil {
		t.Error(err)
	}
	failed := map[int64]bool{}
	for _, x := range tree.Tasks {
		if x.State == "error" {
			failed[x.ID] = true
			t.Logf("task %d %s: %s, log:\n%s", x.ID, x.FullName, x.Error, s.log(t, attempt, x.FullName))
		}
	}
	eachEvent(t, s.Stack, attempt, func(seq int64, text json.RawMessage) {
		var e struct{ Run *struct{ Task int64 } }
		if err := json.Unmarshal(text, &e); err == nil && e.Run != nil && failed[e.Run.Task] {
			t.Logf("entry %d: %s", seq, text)
		}
	})
	said(t, s.Stack, since, nil)
}

// TestEarlyLaunch checks that a machine comes up while the task before its command runs.
func TestEarlyLaunch(t *testing.T) {
	t.Parallel()
	s := commands(t)
	began := time.Now()
	a := s.begin(t, "+first:\n  wait>: 6s\n  blocking: true\n+then:\n  sh>: date +then-%s\n")
	until(t, s.within(5*time.Second), "a machine is started before the command is due", func() bool { return len(s.machines(t, a.ID)) == 1 })
	t.Logf("a machine after %v", time.Since(began))
	if a = s.end(t, a, time.Minute); !a.Success {
		t.Errorf("it failed:\n%s", s.log(t, a.ID))
	}
	if n := len(s.machines(t, a.ID)); n != 1 {
		t.Errorf("%d machines, want 1", n)
	}
}

// TestLogsOfPacks checks that tasks that end at the same time keep their short logs.
func TestLogsOfPacks(t *testing.T) {
	t.Parallel()
	s := stack.Deployed(t)
	a := (sandbox{Stack: s}).begin(t, "+many:\n  _parallel: true\n  +a:\n    wait>: 1s\n    blocking: true\n  +b:\n    wait>: 1s\n    blocking: true\n  +c:\n    wait>: 2s\n    blocking: true\n")
	if a = (sandbox{Stack: s}).end(t, a, time.Minute); !a.Success {
		t.Fatal("it failed")
	}
	var list struct{ Files []struct{ TaskName string } }
	until(t, 10*time.Second, "each task has its log", func() bool {
		if err := s.Get(t.Context(), "/api/logs/"+a.ID+"/files", &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Files) == 3
	})
}
