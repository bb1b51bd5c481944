package ecs_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/operators"
	ours "zerodag/operators/ecs"
	"zerodag/operators/operatortest"
)

// definition registers a task whose container runs a shell script, and makes a cluster.
func definition(t *testing.T, script string, more ...types.ContainerDefinition) (name string, client *ecs.Client) {
	t.Helper()
	client = ecs.NewFromConfig(localstack.Config(t))
	name = localstack.Name()
	if _, err := client.CreateCluster(t.Context(), &ecs.CreateClusterInput{ClusterName: &name}); err != nil {
		t.Fatal(err)
	}
	main := types.ContainerDefinition{Name: new("main"), Image: new("any"), EntryPoint: []string{"/bin/sh", "-c", script, "sh"}, StopTimeout: new(int32(2)),
		Environment: []types.KeyValuePair{{Name: new("OWN"), Value: new("its")}},
		LogConfiguration: &types.LogConfiguration{LogDriver: types.LogDriverAwslogs, Options: map[string]string{
			"awslogs-create-group": "true", "awslogs-group": "/ecs/" + name, "awslogs-stream-prefix": "run", "awslogs-region": localstack.Region}}}
	_, err := client.RegisterTaskDefinition(t.Context(), &ecs.RegisterTaskDefinitionInput{Family: &name, RequiresCompatibilities: []types.Compatibility{types.CompatibilityFargate},
		NetworkMode: types.NetworkModeAwsvpc, Cpu: new("256"), Memory: new("512"), ExecutionRoleArn: new("arn:aws:iam::000000000000:role/execution"), ContainerDefinitions: append([]types.ContainerDefinition{main}, more...)})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := client.DeregisterTaskDefinition(ctx, &ecs.DeregisterTaskDefinitionInput{TaskDefinition: new(name + ":1")})
		_, err2 := client.DeleteCluster(ctx, &ecs.DeleteClusterInput{Cluster: &name})
		return errors.Join(err, err2)
	})
	return name, client
}

func grant(_ *testing.T, w *operatortest.World) { maps.Copy(w.Vault, localstack.Secrets("ecs")) }

const place = `, "launch_type": "fargate", "subnets": ["subnet-1"], "security_groups": ["sg-1"], "assign_public_ip": true`

// world returns a task for a definition in the cluster with the same name, with an attempt that no other test uses.
func world(t *testing.T, name, more string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, `{"_command": "`+name+`", "cluster": "`+name+`"`+place+more+`}`)
	w.SessionUUID = name
	grant(t, w)
	return w
}

func look(t *testing.T, w *operatortest.World) *operators.Later {
	t.Helper()
	return operatortest.Look(t, ours.Operator(), w)
}

func untilDone(t *testing.T, w *operatortest.World) operatortest.Ended {
	t.Helper()
	return operatortest.UntilDone(t, ours.Operator(), w)
}

// tasks returns all tasks that ever ran in a cluster.
func tasks(t *testing.T, client *ecs.Client, cluster string) []string {
	t.Helper()
	var arns []string
	for _, status := range []types.DesiredStatus{types.DesiredStatusRunning, types.DesiredStatusStopped} {
		out, err := client.ListTasks(t.Context(), &ecs.ListTasksInput{Cluster: &cluster, DesiredStatus: status})
		if err != nil {
			t.Fatal(err)
		}
		arns = append(arns, out.TaskArns...)
	}
	return arns
}

// plain replaces the values that differ from run to run.
func plain(e operatortest.Ended, arn, name string) operatortest.Ended {
	for _, s := range []*string{&e.Error, &e.Store} {
		*s = strings.ReplaceAll(strings.ReplaceAll(*s, arn, "ARN"), arn[strings.LastIndex(arn, "/")+1:], "ID")
		*s = strings.ReplaceAll(*s, name, "NAME")
	}
	return e
}

func TestExercise(t *testing.T) {
	t.Parallel()
	name, _ := definition(t, "true")
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ours.Operator(),
		Good: `{"_command": "` + name + `", "cluster": "` + name + `"` + place + `, "platform_version": "LATEST", "container": "main", "command": ["a"], "env": {"A": 1},
			"cpu": 512, "memory": 1024, "tags": {"team": "data"}}`,
		Wrong: []string{`{}`, `{"_command": ""}`, `{"_command": "t", "launch_type": "MOON"}`, `{"_command": "t", "launch_type": "EC2", "capacity_provider": "FARGATE_SPOT"}`,
			`{"_command": "t", "capacity_provider": [{"weight": 1}]}`, `{"_command": "t", "capacity_provider": 1}`, `{"_command": "t", "security_groups": ["sg"]}`,
			`{"_command": "t", "command": "ls"}`, `{"_command": "t", "env": []}`, `{"_command": "t", "cpu": "x"}`, `{"_command": "t", "memory": "x"}`, `{"_command": "t", "tags": 1}`,
			`{"_command": "t", "subnets": "s"}`, `{"_command": "t", "assign_public_ip": "x"}`, `{"_command": "t", "region": "Mars"}`},
		Prepare: func(t *testing.T, w *operatortest.World) {
			grant(t, w)
			if w.Local.Has("region") {
				delete(w.Vault, "aws.region")
			}
		},
	})
}

func TestSucceeds(t *testing.T) {
	t.Parallel()
	out := filepath.Join(localstack.Shared(t), "out")
	name, client := definition(t, `echo "$OWN $A $B $1 $2" > `+out)
	w := world(t, name, `, "command": ["x y", "z"], "env": {"A": 1, "B": {"c": "ü"}}`)
	got := untilDone(t, w)
	arns := tasks(t, client, name)
	if len(arns) != 1 {
		t.Fatalf("there are %d tasks, want 1: %+v", len(arns), got)
	}
	want := operatortest.Ended{Store: `{"ecs":{"last_task":{"arn":"ARN","container":"main","exit_code":0}}}`}
	if diff := cmp.Diff(want, plain(got, arns[0], name)); diff != "" {
		t.Error(diff)
	}
	said, err := os.ReadFile(out)
	if diff := cmp.Diff("its 1 {\"c\":\"ü\"} x y z\n", string(said)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if !strings.Contains(w.Output.String(), "Its output is in /ecs/"+name+" run/main/") {
		t.Errorf("the log does not say where the output is: %s", w.Output)
	}
}

// TestFails checks that the error describes how the task ended, and that another try of the task starts another ECS
// task.
func TestFails(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "exit 3")
	w := world(t, name, "")
	got := untilDone(t, w)
	arns := tasks(t, client, name)
	want := operatortest.Ended{Error: "ecs>: container main of task ARN failed with code 3; its output is in /ecs/NAME run/main/ID"}
	if diff := cmp.Diff(want, plain(got, arns[0], name)); diff != "" {
		t.Error(diff)
	}
	w.State = param.New("retry_count", int64(1)) // as `_retry` leaves it
	untilDone(t, w)
	if n := len(tasks(t, client, name)); n != 2 {
		t.Errorf("there were %d tasks, want one for each try", n)
	}
}

// TestWhichContainer checks which container's exit code counts.
func TestWhichContainer(t *testing.T) {
	t.Parallel()
	side := types.ContainerDefinition{Name: new("side"), Image: new("any"), EntryPoint: []string{"/bin/sh", "-c", "exit 7"}, Essential: new(false)}
	name, _ := definition(t, "sleep 0.5", side)
	if got := untilDone(t, world(t, name, "")); got.Error != "" {
		t.Errorf("the essential container ended well: %+v", got)
	}
	w := world(t, name, `, "container": "side"`)
	w.TaskID++
	if got := untilDone(t, w); !strings.Contains(got.Error, "container side of task") || !strings.Contains(got.Error, "failed with code 7") {
		t.Errorf("the named container failed: %+v", got)
	}
	got := operatortest.RunOnce(t, ours.Operator(), world(t, name, `, "container": "nosuch"`))
	if diff := cmp.Diff(operatortest.Ended{Error: "ecs>: " + name + " has no container nosuch: its containers are main, side"}, got); diff != "" {
		t.Error(diff)
	}
	side.Essential = new(true)
	name, _ = definition(t, "true", side)
	got = operatortest.RunOnce(t, ours.Operator(), world(t, name, ""))
	if diff := cmp.Diff(operatortest.Ended{Error: "ecs>: " + name + " has 2 essential containers: write in 'container' which one decides the outcome: main, side"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestStartsOnce checks that one task runs even if the first run is delivered several times.
func TestStartsOnce(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "true")
	first := look(t, world(t, name, ""))
	w := world(t, name, "")
	w.State = first.State
	untilDone(t, w)
	again := look(t, world(t, name, ""))
	if diff := cmp.Diff(param.Text(first.State), param.Text(again.State)); diff != "" {
		t.Error(diff)
	}
	if n := len(tasks(t, client, name)); n != 1 {
		t.Errorf("there were %d tasks, want 1", n)
	}
}

// TestTrouble checks that one task runs, and its end is noticed, when calls are throttled, fail or lose their
// responses, even if the state of a run is also lost.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		name, client := definition(t, "true")
		p := proxy.Start(t, "")
		p.Trouble(seed, proxy.Faults{Throttle: 0.1, Before: 0.1, After: 0.2})
		w := world(t, name, "")
		w.Vault["aws.ecs.endpoint"] = p.URL
		look(t, w) // its state is lost
		if got := untilDone(t, w); got.Error != "" {
			t.Errorf("seed %d: %+v", seed, got)
		}
		if n := len(tasks(t, client, name)); n != 1 {
			t.Errorf("seed %d: there were %d tasks, want 1", seed, n)
		}
	}
}

func TestLooks(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "exec sleep 300")
	w := world(t, name, "")
	defer func() {
		if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
			t.Error(err)
		}
	}()
	operatortest.Waits(t, ours.Operator(), w, 2, 4, 8, 16, 30, 30)
	if n := len(tasks(t, client, name)); n != 1 {
		t.Errorf("there were %d tasks, want 1", n)
	}
}

// TestKill checks that a task is stopped, even by a run that has no record of its start, and that a kill without a task
// succeeds.
func TestKill(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "exec sleep 300")
	w := world(t, name, "")
	known := operatortest.Stops(t, ours.Operator(), w)
	w.State = known
	if got := untilDone(t, w); !strings.Contains(got.Error, "UserInitiated: attempt 5 of project was killed") {
		t.Errorf("got %+v", got)
	}
	if n := len(tasks(t, client, name)); n != 1 {
		t.Errorf("there were %d tasks, want 1", n)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	name, _ := definition(t, "true")
	for params, want := range map[string]string{
		`{"_command": "nobody-made-this", "cluster": "` + name + `"}`: "ecs>: can't look up nobody-made-this: ",
		`{"_command": "` + name + `", "cluster": "nobody-made-this"}`: "ecs>: can't run " + name + ": ClusterNotFoundException: Cluster not found.",
		`{"_command": "` + name + `", "launch_type": "FARGATE"}`: "ecs>: can't run " + name +
			": InvalidParameterException: Network Configuration must be provided when networkMode 'awsvpc' is specified.",
	} {
		w := operatortest.New(t, params)
		grant(t, w)
		if got := operatortest.RunOnce(t, ours.Operator(), w); !strings.HasPrefix(got.Error, want) || got.Kind != "" {
			t.Errorf("%s: got %+v, want %s", params, got, want)
		}
	}
}

// behind returns the address of a LocalStack in which the responses of some operations are replaced, one after the
// other. The new responses are ones that Amazon ECS documents but the tests' ECS never returns.
func behind(t *testing.T, answers map[string][]string) (string, func(operation string) []map[string]any) {
	t.Helper()
	var mu sync.Mutex
	asked := map[string][]map[string]any{}
	s := httptest.NewServer(localstack.Judged(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		body, _ := io.ReadAll(r.Body)
		var in map[string]any
		json.Unmarshal(body, &in)
		mu.Lock()
		asked[operation] = append(asked[operation], in)
		list := answers[operation]
		if len(list) > 0 {
			answers[operation] = list[1:]
		}
		mu.Unlock()
		if len(list) > 0 {
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			if strings.Contains(list[0], `"__type"`) {
				w.WriteHeader(http.StatusBadRequest)
			}
			io.WriteString(w, list[0])
			return
		}
		out, err := http.NewRequestWithContext(r.Context(), r.Method, localstack.Endpoint(), strings.NewReader(string(body)))
		if err != nil {
			panic(err)
		}
		out.Header = r.Header
		answer, err := http.DefaultClient.Do(out)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer answer.Body.Close()
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		io.Copy(w, answer.Body)
	})))
	t.Cleanup(s.Close)
	return s.URL, func(operation string) []map[string]any {
		mu.Lock()
		defer mu.Unlock()
		return asked[operation]
	}
}

// TestCapacity checks that a task waits for capacity without holding any resource, and then starts with another token,
// because the first token may be tied to the refusal.
func TestCapacity(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "true")
	url, asked := behind(t, map[string][]string{"RunTask": {
		`{"failures":[{"arn":"a","reason":"RESOURCE:MEMORY","detail":"no machine has 8 GB"}],"tasks":[]}`,
		`{"__type":"ClientException","message":"Capacity is unavailable at this time. Please try again later or in a different availability zone"}`,
		`{"__type":"ClientException","message":"You've reached the limit on the number of tasks you can run concurrently"}`,
	}})
	w := world(t, name, "")
	w.Vault["aws.ecs.endpoint"] = url
	for i, want := range []time.Duration{5, 10, 20} {
		later := look(t, w)
		if later.After != want*time.Second {
			t.Errorf("try %d asks for another after %v, want %v", i+1, later.After, want*time.Second)
		}
		w.State = later.State
	}
	if got := untilDone(t, w); got.Error != "" {
		t.Error(got)
	}
	tokens := map[any]bool{}
	for _, in := range asked("RunTask") {
		tokens[in["clientToken"]] = true
		if n := len(in["clientToken"].(string)); n > 64 {
			t.Errorf("the token has %d characters, ECS takes 64", n)
		}
	}
	if len(tokens) != 4 || len(tasks(t, client, name)) != 1 {
		t.Errorf("%d tokens, want 4; %d tasks, want 1", len(tokens), len(tasks(t, client, name)))
	}
	if !strings.Contains(w.Output.String(), "No capacity for the task (RESOURCE:MEMORY: no machine has 8 GB): retrying in 5 seconds") {
		t.Errorf("the log does not say why it waits: %s", w.Output)
	}
}

// TestEnds checks the messages about endings that the tests' ECS never produces.
func TestEnds(t *testing.T) {
	t.Parallel()
	name, _ := definition(t, "true")
	const arn = "arn:aws:ecs:us-east-1:0:task/c/1dc5c17a-422b-4dc4-b493-371970c6c4d6" // no name has such an id by chance
	for answer, want := range map[string]string{
		`"stopCode":"TaskFailedToStart","stoppedReason":"CannotPullContainerError: pull image manifest has been retried 1 time(s): not found","containers":[{"name":"main"}]`: "container main of task ARN did not run: " +
			"TaskFailedToStart: CannotPullContainerError: pull image manifest has been retried 1 time(s): not found; its output is in /ecs/NAME run/main/ID",
		`"stopCode":"EssentialContainerExited","stoppedReason":"Essential container in task exited","containers":[{"name":"main","exitCode":137,"reason":"OutOfMemoryError: Container killed due to memory usage"}]`: "container main of task ARN " +
			"failed with code 137: OutOfMemoryError: Container killed due to memory usage; its output is in /ecs/NAME run/main/ID",
		`"stopCode":"SpotInterruption","stoppedReason":"Your Spot Task was interrupted.","containers":[{"name":"main","exitCode":143}]`: "container main of task ARN " +
			"failed with code 143: SpotInterruption: Your Spot Task was interrupted.; its output is in /ecs/NAME run/main/ID",
	} {
		url, _ := behind(t, map[string][]string{
			"RunTask":       {`{"tasks":[{"taskArn":"` + arn + `"}]}`},
			"DescribeTasks": {`{"failures":[{"arn":"x","reason":"MISSING"}],"tasks":[]}`, `{"tasks":[{"taskArn":"x","lastStatus":"STOPPED",` + answer + `}]}`}})
		w := world(t, name, "")
		w.Vault["aws.ecs.endpoint"] = url
		if diff := cmp.Diff("ecs>: "+want, plain(untilDone(t, w), arn, name).Error); diff != "" {
			t.Error(diff)
		}
	}
}

// TestCapacityAfterTheStart checks that a task for which Fargate had no capacity is tried again, and that the operator
// does not wait forever for a task that ECS has forgotten.
func TestCapacityAfterTheStart(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "true")
	url, _ := behind(t, map[string][]string{
		"RunTask":       {`{"tasks":[{"taskArn":"arn:aws:ecs:us-east-1:0:task/c/77"}]}`},
		"DescribeTasks": {`{"tasks":[{"taskArn":"x","lastStatus":"STOPPED","stopCode":"TaskFailedToStart","stoppedReason":"Capacity is unavailable at this time. Please try again later","containers":[]}]}`}})
	w := world(t, name, "")
	w.Vault["aws.ecs.endpoint"] = url
	if got := untilDone(t, w); got.Error != "" || len(tasks(t, client, name)) != 1 {
		t.Errorf("%d tasks: %+v", len(tasks(t, client, name)), got)
	}
	missing := `{"failures":[{"arn":"x","reason":"MISSING"}],"tasks":[]}`
	url, _ = behind(t, map[string][]string{"DescribeTasks": {missing, missing, missing, missing, missing, missing}})
	w = world(t, name, "")
	w.Vault["aws.ecs.endpoint"] = url
	if got := untilDone(t, w); !strings.Contains(got.Error, "no longer knows task arn:") {
		t.Errorf("got %+v", got)
	}
}

// TestConflict checks that a run whose parameters differ from the first start's continues with the first start's task.
func TestConflict(t *testing.T) {
	t.Parallel()
	name, _ := definition(t, "true")
	url, _ := behind(t, map[string][]string{"RunTask": {`{"__type":"ConflictException","message":"in use","resourceIds":["arn:aws:ecs:us-east-1:0:task/c/77"]}`}})
	w := world(t, name, "")
	w.Vault["aws.ecs.endpoint"] = url
	if task, _ := look(t, w).State.Map("commandStatus").Get("task"); task != "arn:aws:ecs:us-east-1:0:task/c/77" {
		t.Errorf("the run goes on with %v", task)
	}
}

// TestWhatIsAsked compares the request with the parameters.
func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	name, _ := definition(t, "true")
	for params, want := range map[string]string{
		`, "capacity_provider": "FARGATE_SPOT"`: `{"capacityProviderStrategy":[{"capacityProvider":"FARGATE_SPOT","weight":1}],"overrides":{}}`,
		`, "capacity_provider": [{"name": "FARGATE", "base": 1}, {"name": "FARGATE_SPOT", "weight": 3}], "platform_version": "1.4.0"`: `{"capacityProviderStrategy":[` +
			`{"base":1,"capacityProvider":"FARGATE","weight":1},{"capacityProvider":"FARGATE_SPOT","weight":3}],"overrides":{},"platformVersion":"1.4.0"}`,
		`, "launch_type": "ec2", "cpu": 1024, "memory": 2048, "tags": {"team": "data"}`: `{"launchType":"EC2","overrides":{"cpu":"1024","memory":"2048"},"tags":[{"key":"team","value":"data"}]}`,
		place + `, "env": {"A": "b"}, "command": ["c"]`: `{"launchType":"FARGATE","networkConfiguration":{"awsvpcConfiguration":{"assignPublicIp":"ENABLED","securityGroups":["sg-1"],"subnets":["subnet-1"]}},` +
			`"overrides":{"containerOverrides":[{"command":["c"],"environment":[{"name":"A","value":"b"}],"name":"main"}]}}`,
	} {
		url, asked := behind(t, map[string][]string{"RunTask": {`{"tasks":[{"taskArn":"arn:aws:ecs:us-east-1:0:task/c/77"}]}`}})
		w := operatortest.New(t, `{"_command": "`+name+`", "cluster": "`+name+`"`+params+`}`)
		grant(t, w)
		w.Vault["aws.ecs.endpoint"] = url
		look(t, w)
		in := asked("RunTask")[0]
		if in["startedBy"] == "" || in["clientToken"] == "" || in["count"] != 1.0 || in["cluster"] != name || in["taskDefinition"] != name {
			t.Errorf("%s: asked for %v", params, in)
		}
		for _, key := range []string{"startedBy", "clientToken", "count", "cluster", "taskDefinition"} {
			delete(in, key)
		}
		got, err := json.Marshal(in)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %s", params, diff)
		}
	}
}
