package localstack_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bus "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack"
)

// change holds the fields of a task state change event that the tests read.
type change struct {
	Source     string
	DetailType string `json:"detail-type"`
	Resources  []string
	Detail     struct {
		TaskArn, ClusterArn, TaskDefinitionArn, LastStatus, DesiredStatus, StartedBy, Group, StopCode, StoppedReason string
		LaunchType, CapacityProviderName, CreatedAt, StartedAt, StoppedAt                                            string
		Version                                                                                                      int
		Containers                                                                                                   []struct {
			Name, LastStatus, Reason string
			ExitCode                 *int
		}
		Overrides struct{ ContainerOverrides []struct{ Name string } }
	}
}

// listen sends the cluster's events to a queue; the returned function waits for an event with the status.
func (b ecsBed) listen(t *testing.T) func(status string) []change {
	t.Helper()
	ctx, cfg, name := t.Context(), localstack.Config(t), localstack.Name()
	queues, events := sqs.NewFromConfig(cfg), eventbridge.NewFromConfig(cfg)
	queue, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	pattern, err := json.Marshal(map[string]any{"source": []string{"aws.ecs"}, "detail-type": []string{"ECS Task State Change"}, "detail": map[string]any{"clusterArn": []string{b.arn}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events.PutRule(ctx, &eventbridge.PutRuleInput{Name: &name, EventPattern: aws.String(string(pattern))}); err != nil {
		t.Fatal(err)
	}
	target := bus.Target{Id: aws.String("queue"), Arn: aws.String("arn:aws:sqs:" + localstack.Region + ":000000000000:" + name)}
	if _, err := events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: &name, Targets: []bus.Target{target}}); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		if _, err := events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: &name, Ids: []string{"queue"}}); err != nil {
			return err
		}
		if _, err := events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &name}); err != nil {
			return err
		}
		_, err := queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: queue.QueueUrl})
		return err
	})
	var seen []change
	return func(status string) []change {
		t.Helper()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
			out, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range out.Messages {
				var c change
				if err := json.Unmarshal([]byte(*m.Body), &c); err != nil {
					t.Fatal(err)
				}
				seen = append(seen, c)
			}
			slices.SortFunc(seen, func(a, b change) int { return a.Detail.Version - b.Detail.Version })
			if slices.ContainsFunc(seen, func(c change) bool { return c.Detail.LastStatus == status }) {
				return seen
			}
		}
		t.Fatalf("no event of status %s among %+v", status, seen)
		return nil
	}
}

// gaps reports whether an event is missing between the first and the last known version of a task.
func gaps(seen []change) bool {
	for i, c := range seen {
		if c.Detail.Version != i+1 {
			return true
		}
	}
	return false
}

// TestTaskLives checks that a task goes through its states, in events and in the results of DescribeTasks.
func TestTaskLives(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	events := b.listen(t)
	in := b.request(b.register(t, definition(shell("main", "exit $CODE"))))
	in.StartedBy = aws.String("tester")
	in.Tags = []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}
	in.Overrides = &types.TaskOverride{ContainerOverrides: []types.ContainerOverride{{Name: aws.String("main"), Environment: []types.KeyValuePair{{Name: aws.String("CODE"), Value: aws.String("3")}}}}}
	arn := b.start(t, in)
	var path []string
	seen := events("STOPPED")
	for deadline := time.Now().Add(patience); gaps(seen) && time.Now().Before(deadline); {
		seen = events("STOPPED") // the bus keeps no order: an earlier state may arrive after the last one
	}
	for i, e := range seen {
		if len(path) == 0 || path[len(path)-1] != e.Detail.LastStatus {
			path = append(path, e.Detail.LastStatus)
		}
		if i > 0 && e.Detail.Version <= seen[i-1].Detail.Version {
			t.Errorf("version %d follows %d", e.Detail.Version, seen[i-1].Detail.Version)
		}
	}
	if diff := cmp.Diff([]string{"PROVISIONING", "PENDING", "RUNNING", "DEPROVISIONING", "STOPPED"}, path); diff != "" {
		t.Errorf("states: %s", diff)
	}
	task := b.until(t, arn, "STOPPED")
	wantOutcome(t, task, types.TaskStopCodeEssentialContainerExited, "main=3")
	last := seen[len(seen)-1]
	d := last.Detail
	if last.Source != "aws.ecs" || last.DetailType != "ECS Task State Change" || !slices.Equal(last.Resources, []string{arn}) ||
		d.TaskArn != arn || d.ClusterArn != b.arn || d.TaskDefinitionArn != *in.TaskDefinition || d.DesiredStatus != "STOPPED" || d.StartedBy != "tester" ||
		!strings.HasPrefix(d.Group, "family:") || d.StopCode != "EssentialContainerExited" || d.StoppedReason != "Essential container in task exited" || d.LaunchType != "FARGATE" ||
		len(d.Containers) != 1 || d.Containers[0].ExitCode == nil || *d.Containers[0].ExitCode != 3 || d.Containers[0].LastStatus != "STOPPED" ||
		len(d.Overrides.ContainerOverrides) != 1 || d.Version != int(task.Version) {
		t.Errorf("last event: %+v", last)
	}
	for _, at := range []string{d.CreatedAt, d.StartedAt, d.StoppedAt} {
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			t.Errorf("time in an event: %v", err)
		}
	}
	if len(task.Tags) != 1 || task.CreatedAt.After(*task.StartedAt) || task.StartedAt.After(*task.StoppedAt) || *task.DesiredStatus != "STOPPED" {
		t.Errorf("task: %+v", task)
	}
	report := b.Tasks(t)
	if len(report) != 1 || report[0].ARN != arn || report[0].Status != "STOPPED" || *report[0].Containers[0].ExitCode != 3 || !strings.Contains(string(report[0].Overrides), "CODE") || strings.Contains(string(report[0].Overrides), `"3"`) {
		t.Errorf("report of tasks: %+v", report)
	}
}

// TestInitContainer checks that a program can be put on a shared volume, like the runner, checked, and run from a
// read-only mount, and that its log is visible while it runs.
func TestInitContainer(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	program := "#!/bin/sh\necho it runs\ntouch /runner/x 2>/dev/null && exit 4\nwhile :; do sleep 0.1; done\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, program) }))
	t.Cleanup(server.Close)
	group := "/" + localstack.Name()
	cloudWatch(t, "CreateLogGroup", map[string]string{"logGroupName": group}, nil)
	first := shell("init", fmt.Sprintf("set -e; wget -q -O /runner/run '%s/run?a=1&b=2'; echo '%x  /runner/run' | sha256sum -c; chmod 755 /runner/run", server.URL, sha256.Sum256([]byte(program))))
	first.Essential = aws.Bool(false)
	first.MountPoints = []types.MountPoint{{SourceVolume: aws.String("runner"), ContainerPath: aws.String("/runner")}}
	main := types.ContainerDefinition{Name: aws.String("main"), Image: aws.String("any/image:1"), EntryPoint: []string{"/runner/run"}, StopTimeout: aws.Int32(2),
		DependsOn:        []types.ContainerDependency{{ContainerName: aws.String("init"), Condition: types.ContainerConditionSuccess}},
		MountPoints:      []types.MountPoint{{SourceVolume: aws.String("runner"), ContainerPath: aws.String("/runner"), ReadOnly: aws.Bool(true)}},
		LogConfiguration: &types.LogConfiguration{LogDriver: types.LogDriverAwslogs, Options: map[string]string{"awslogs-group": group, "awslogs-stream-prefix": "run", "awslogs-region": localstack.Region}}}
	in := definition(first, main)
	in.ExecutionRoleArn = aws.String("arn:aws:iam::000000000000:role/x")
	in.Volumes = []types.Volume{{Name: aws.String("runner"), Host: &types.HostVolumeProperties{}}}
	arn := b.start(t, b.request(b.register(t, in)))
	b.until(t, arn, "RUNNING")
	var out struct{ Events []struct{ Message string } }
	for deadline := time.Now().Add(patience); len(out.Events) == 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no line of a running container reached CloudWatch Logs")
		}
		cloudWatch(t, "GetLogEvents", map[string]string{"logGroupName": group, "logStreamName": "run/main/" + arn[strings.LastIndex(arn, "/")+1:]}, &out)
	}
	if out.Events[0].Message != "it runs" {
		t.Errorf("log: %+v", out)
	}
	if _, err := b.client.StopTask(t.Context(), &ecs.StopTaskInput{Cluster: &b.Cluster, Task: &arn, Reason: aws.String("enough")}); err != nil {
		t.Fatal(err)
	}
	task := b.until(t, arn, "STOPPED")
	want := "init=0, main=137" // a shell as process 1 ignores SIGTERM
	if !b.Namespaces(t) {
		want = "init=0, main=143" // otherwise nothing is process 1 or read-only
		t.Log("NOT RUN: read-only mounts, for LocalStack is not root")
	}
	wantOutcome(t, task, types.TaskStopCodeUserInitiated, want)
	if *task.StoppedReason != "enough" {
		t.Errorf("stopped because %s", *task.StoppedReason)
	}
}

// TestOrder checks the effects of dependsOn and essential.
func TestOrder(t *testing.T) {
	t.Parallel()
	after := func(c types.ContainerDefinition, on string, how types.ContainerCondition) types.ContainerDefinition {
		c.DependsOn = []types.ContainerDependency{{ContainerName: &on, Condition: how}}
		return c
	}
	aside := func(c types.ContainerDefinition) types.ContainerDefinition {
		c.Essential, c.StopTimeout = aws.Bool(false), aws.Int32(2)
		return c
	}
	const never = "CannotStartContainerError: dependency graph: failed to resolve container ordering dependency [init (STOPPED->RUNNING) - Exit: 5] for target [main (NONE->RUNNING)]"
	for name, c := range map[string]struct {
		containers []types.ContainerDefinition
		stop       types.TaskStopCode
		want       string
	}{
		"success":      {[]types.ContainerDefinition{after(shell("main", "exit 2"), "init", "SUCCESS"), aside(shell("init", "exit 0"))}, "EssentialContainerExited", "main=2, init=0"},
		"no success":   {[]types.ContainerDefinition{after(shell("main", "exit 2"), "init", "SUCCESS"), aside(shell("init", "exit 5"))}, "TaskFailedToStart", "main=143 (" + never + "), init=5"},
		"complete":     {[]types.ContainerDefinition{after(shell("main", "exit 2"), "init", "COMPLETE"), aside(shell("init", "exit 5"))}, "EssentialContainerExited", "main=2, init=5"},
		"start":        {[]types.ContainerDefinition{after(shell("main", "exit 2"), "side", "START"), aside(shell("side", "trap 'exit 9' TERM; sleep 60 & wait"))}, "EssentialContainerExited", "main=2, side=9"},
		"side may end": {[]types.ContainerDefinition{shell("main", "sleep 0.5; exit 2"), aside(shell("side", "exit 1"))}, "EssentialContainerExited", "main=2, side=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newECS(t)
			wantOutcome(t, b.run(t, definition(c.containers...)), c.stop, c.want)
		})
	}
}

// TestDoesNotStart checks the errors for a wrong image, command, log group or user.
func TestDoesNotStart(t *testing.T) {
	t.Parallel()
	const cannot = "CannotStartContainerError: ResourceInitializationError: failed to create new container runtime task: failed to create shim task: " +
		"OCI runtime create failed: runc create failed: unable to start container process: "
	for name, c := range map[string]struct {
		change func(*types.ContainerDefinition)
		reason string
	}{
		"image":   {func(c *types.ContainerDefinition) { c.Image = aws.String("registry.example/missing:1") }, "CannotPullContainerError: pull image manifest has been retried 1 time(s): failed to resolve ref registry.example/missing:1: registry.example/missing:1: not found"},
		"path":    {func(c *types.ContainerDefinition) { c.Command = []string{"/no/such"} }, cannot + `exec: "/no/such": stat /no/such: no such file or directory: unknown`},
		"command": {func(c *types.ContainerDefinition) { c.Command = []string{"no-such"} }, cannot + `exec: "no-such": executable file not found in $PATH: unknown`},
		"none":    {func(c *types.ContainerDefinition) { c.Command = nil }, cannot + "no command specified: unknown"},
		"user":    {func(c *types.ContainerDefinition) { c.User = aws.String("no-such") }, cannot + "unable to find user no-such: no matching entries in passwd file: unknown"},
		"log group": {func(c *types.ContainerDefinition) {
			c.LogConfiguration = &types.LogConfiguration{LogDriver: types.LogDriverAwslogs, Options: map[string]string{"awslogs-group": "/no/such", "awslogs-stream-prefix": "x"}}
		}, "ResourceInitializationError: failed to validate logger args: create stream has been retried 1 times: failed to create Cloudwatch log stream: ResourceNotFoundException: The specified log group does not exist. : exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newECS(t)
			main := shell("main", "exit 0")
			c.change(&main)
			in := definition(main)
			in.ExecutionRoleArn = aws.String("arn:aws:iam::000000000000:role/x")
			task := b.run(t, in)
			if task.StopCode != types.TaskStopCodeTaskFailedToStart || *task.StoppedReason != c.reason || task.StartedAt != nil || task.Containers[0].ExitCode != nil {
				t.Errorf("%s %s, started %v, %s", task.StopCode, *task.StoppedReason, task.StartedAt, outcome(task))
			}
		})
	}
}

// TestContainerIsShutIn checks that a container is isolated; each failed check has its own exit code.
func TestContainerIsShutIn(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	if !b.Namespaces(t) {
		t.Skip("NOT RUN: containers have no namespaces, for LocalStack is not root")
	}
	outside := filepath.Join(t.TempDir(), "outside") // t.TempDir is below the machine's own /tmp
	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	mark := "/" + localstack.Name()
	volume := func(c *types.ContainerDefinition) {
		c.MountPoints = []types.MountPoint{{SourceVolume: aws.String("v"), ContainerPath: aws.String("/v")}}
	}
	for name, c := range map[string]struct {
		script string
		change func(*types.ContainerDefinition)
		code   string
	}{
		"alone":      {`[ $$ = 1 ] || exit 2; [ "$(ls /proc | grep -c '^[0-9]')" -le 4 ] || exit 3`, func(*types.ContainerDefinition) {}, "0"},
		"tmp":        {"[ ! -e " + outside + " ] || exit 2; [ -z \"$(ls -A /tmp)\" ] || exit 3; touch /tmp/x", func(*types.ContainerDefinition) {}, "0"},
		"root":       {"[ $(id -u) = 0 ] || exit 2; touch " + mark + " || exit 3; mount -t tmpfs x /mnt 2>/dev/null && exit 4; echo 1 2>/dev/null >/proc/sys/vm/overcommit_memory && exit 5; exit 0", func(*types.ContainerDefinition) {}, "0"},
		"user":       {"[ \"$(id -u):$(id -g)\" = 4321:0 ] || exit 2; touch " + mark + " 2>/dev/null && exit 3; exit 0", func(c *types.ContainerDefinition) { c.User = aws.String("4321") }, "0"},
		"group":      {"[ \"$(id -u):$(id -g):$(id -G)\" = 4321:77:77 ]", func(c *types.ContainerDefinition) { c.User = aws.String("4321:77") }, "0"},
		"named user": {"[ \"$(id -un)\" = nobody ]", func(c *types.ContainerDefinition) { c.User = aws.String("nobody") }, "0"},
		"read-only": {"touch " + mark + " 2>/dev/null && exit 2; touch /tmp/x 2>/dev/null && exit 3; touch /v/x || exit 4; echo x >/dev/null", func(c *types.ContainerDefinition) {
			volume(c)
			c.ReadonlyRootFilesystem = aws.Bool(true)
		}, "0"},
		"directory": {"[ \"$(pwd)\" = /made/here ]", func(c *types.ContainerDefinition) { c.WorkingDirectory = aws.String("/made/here") }, "0"},
		"limits": {"[ $(ulimit -n) = 512 ] || exit 2", func(c *types.ContainerDefinition) {
			c.Ulimits = []types.Ulimit{{Name: "nofile", SoftLimit: 512, HardLimit: 1024}, {Name: "nproc", SoftLimit: 500, HardLimit: 500}}
		}, "0"},
		"init": {"[ $$ != 1 ] || exit 2; kill -TERM $$", func(c *types.ContainerDefinition) {
			c.LinuxParameters = &types.LinuxParameters{InitProcessEnabled: aws.Bool(true)}
		}, "143"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newECS(t)
			main := shell("main", c.script)
			c.change(&main)
			in := definition(main)
			in.Volumes = []types.Volume{{Name: aws.String("v"), Host: &types.HostVolumeProperties{}}}
			wantOutcome(t, b.run(t, in), types.TaskStopCodeEssentialContainerExited, "main="+c.code)
			if _, err := os.Stat(mark); err == nil {
				t.Errorf("%s was made outside of the container", mark)
			}
		})
	}
}

// TestNothingOutlivesItsContainer checks that processes that a container leaves behind are ended, even in a separate
// session.
func TestNothingOutlivesItsContainer(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	if !b.Namespaces(t) {
		t.Skip("NOT RUN: containers have no namespaces, for LocalStack is not root")
	}
	mark := localstack.Name()
	wantOutcome(t, b.run(t, definition(shell("main", "setsid sh -c 'sleep 300; : "+mark+"' & sh -c 'sleep 300; : "+mark+"' & exit 0"))), types.TaskStopCodeEssentialContainerExited, "main=0")
	if left := processes(t, mark); len(left) > 0 {
		t.Errorf("processes %v outlived their container", left)
	}
}

// processes returns the local processes whose command line contains the mark.
func processes(t *testing.T, mark string) []string {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range list {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), mark) {
			found = append(found, path)
		}
	}
	return found
}

// TestStop checks the order of SIGTERM, stopTimeout and SIGKILL.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trap string
		init bool
		late bool
		want string
	}{
		"obeys":           {"trap 'exit 7' TERM;", false, false, "main=7"},
		"ignores":         {"trap '' TERM;", false, false, "main=137"},
		"init passes on":  {"", true, false, "main=143"},
		"early, no start": {"", false, true, "main="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newECS(t)
			script, ready := waits(c.trap)
			main := shell("main", script)
			main.StopTimeout = aws.Int32(2)
			main.LinuxParameters = &types.LinuxParameters{InitProcessEnabled: &c.init}
			if c.late {
				b.Faults(t, map[string]any{"start_delay": 60})
			}
			arn := b.start(t, b.request(b.register(t, definition(main))))
			if !c.late {
				ready(t)
			}
			out, err := b.client.StopTask(t.Context(), &ecs.StopTaskInput{Cluster: &b.Cluster, Task: &arn})
			if err != nil || *out.Task.DesiredStatus != "STOPPED" {
				t.Fatalf("StopTask: %+v %v", out, err)
			}
			wantOutcome(t, b.until(t, arn, "STOPPED"), types.TaskStopCodeUserInitiated, c.want)
		})
	}
}

// waits returns a script that waits for a signal, and a function that waits until the script does so.
func waits(trap string) (string, func(*testing.T)) {
	n := 1_000_000_000 + rand.IntN(1_000_000_000)
	return fmt.Sprintf("%s sleep $((%d+1)) & wait", trap, n), func(t *testing.T) {
		t.Helper()
		for deadline := time.Now().Add(patience); len(processes(t, fmt.Sprint(n+1))) == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the container does not come to wait")
			}
		}
	}
}

// TestMemory checks that a container is ended if it uses more memory than its own limit, or than its task's limit.
func TestMemory(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int32{"container": 64, "task": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newECS(t)
			b.Faults(t, map[string]any{"memory": true})
			main := shell("main", "head -c 700000000 /dev/zero | tail | sleep 60")
			if memory > 0 {
				main.Memory = &memory
			}
			wantOutcome(t, b.run(t, definition(main)), types.TaskStopCodeEssentialContainerExited, "main=137 (OutOfMemoryError: Container killed due to memory usage)")
		})
	}
}

// TestEnvironment checks which variables and metadata of its task and of AWS a container gets.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	const common = `[ "$AWS_REGION:$AWS_EXECUTION_ENV:$A" = us-east-1:AWS_ECS_FARGATE:b ] || exit 2
curl -sf $ECS_CONTAINER_METADATA_URI_V4/task | grep -q "\"TaskARN\": \"arn:aws:ecs:.*\"Family\": \"zerodag-test-" || exit 3
curl -sf $ECS_CONTAINER_METADATA_URI_V4 | grep -q '"Name": "main"' || exit 4
[ -z "$AWS_ACCESS_KEY_ID$AWS_SECRET_ACCESS_KEY$AWS_SESSION_TOKEN" ] || exit 5
`
	for role, script := range map[string]string{
		"":                                 `[ -z "$AWS_CONTAINER_CREDENTIALS_FULL_URI$AWS_ENDPOINT_URL" ] || exit 6`,
		"arn:aws:iam::000000000000:role/x": `curl -sf $AWS_CONTAINER_CREDENTIALS_FULL_URI | grep -q '"RoleArn": "arn:aws:iam::000000000000:role/x", "AccessKeyId": "test"' || exit 6; [ -n "$AWS_ENDPOINT_URL" ] || exit 7`,
	} {
		t.Run("role "+role, func(t *testing.T) {
			t.Parallel()
			b := newECS(t)
			main := shell("main", common+script)
			main.Environment = []types.KeyValuePair{{Name: aws.String("A"), Value: aws.String("b")}}
			in := definition(main)
			if role != "" {
				in.TaskRoleArn = &role
			}
			wantOutcome(t, b.run(t, in), types.TaskStopCodeEssentialContainerExited, "main=0")
		})
	}
}

// TestWget tests the substitute for Alpine's wget on machines without wget.
func TestWget(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/it" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "it")
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "file")
	if out, err := exec.Command("plugin/lsproc/ecs/bin/wget", "-q", "-O", file, server.URL+"/it?x=1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "it" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := exec.Command("plugin/lsproc/ecs/bin/wget", "-q", "-O", file, server.URL+"/other").Run(); err == nil {
		t.Error("a file that is not there was fetched")
	}
}
