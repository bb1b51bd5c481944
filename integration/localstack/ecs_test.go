package localstack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"

	"zerodag/integration/localstack"
)

const patience = 30 * time.Second

// ecsBed is a separate cluster with its own faults and limits.
type ecsBed struct {
	localstack.ECS
	arn    string
	client *ecs.Client
}

func newECS(t *testing.T) ecsBed {
	t.Helper()
	cfg := localstack.Config(t)
	cfg.RetryMaxAttempts = 1 // the test must see throttling
	return ecsAt(t, cfg)
}

func ecsAt(t *testing.T, cfg aws.Config) ecsBed {
	t.Helper()
	b := ecsBed{ECS: localstack.ECS{Endpoint: *cfg.BaseEndpoint, Cluster: localstack.Name()}, client: ecs.NewFromConfig(cfg)}
	made, err := b.client.CreateCluster(t.Context(), &ecs.CreateClusterInput{ClusterName: &b.Cluster, CapacityProviders: []string{"FARGATE", "FARGATE_SPOT"}})
	if err != nil {
		t.Fatal(err)
	}
	b.arn = *made.Cluster.ClusterArn
	b.Faults(t, map[string]any{})
	t.Cleanup(func() {
		for _, task := range b.list(t) {
			if task.Status != "STOPPED" {
				b.lose(t, task.ARN)
			}
		}
	})
	return b
}

// list and lose also work when the test's own context has ended.
func (b ecsBed) list(t *testing.T) []localstack.ECSTask {
	r, err := http.Get(b.Endpoint + "/_ecs/tasks?cluster=" + b.Cluster)
	if err != nil {
		return nil // its LocalStack has ended
	}
	defer r.Body.Close()
	var list []localstack.ECSTask
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
		t.Error(err)
	}
	return list
}

func (b ecsBed) lose(t *testing.T, task string) {
	r, err := http.Post(b.Endpoint+"/_ecs/tasks/"+task+"/lose", "application/json", nil)
	if err != nil {
		t.Error(err)
		return
	}
	r.Body.Close()
}

// definition returns a task definition with 0.25 vCPU and 512 MiB; a shell runs each container's script.
func definition(containers ...types.ContainerDefinition) *ecs.RegisterTaskDefinitionInput {
	return &ecs.RegisterTaskDefinitionInput{Family: aws.String(localstack.Name()), RequiresCompatibilities: []types.Compatibility{"FARGATE"}, NetworkMode: "awsvpc",
		Cpu: aws.String("256"), Memory: aws.String("512"), ContainerDefinitions: containers}
}

func shell(name, script string) types.ContainerDefinition {
	return types.ContainerDefinition{Name: &name, Image: aws.String("public.ecr.aws/docker/library/alpine:3.22"), Essential: aws.Bool(true), Command: []string{"sh", "-c", script}}
}

func (b ecsBed) register(t *testing.T, in *ecs.RegisterTaskDefinitionInput) string {
	t.Helper()
	out, err := b.client.RegisterTaskDefinition(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	arn := out.TaskDefinition.TaskDefinitionArn
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := b.client.DeregisterTaskDefinition(ctx, &ecs.DeregisterTaskDefinitionInput{TaskDefinition: arn})
		return err
	})
	return *arn
}

func (b ecsBed) request(definition string) *ecs.RunTaskInput {
	return &ecs.RunTaskInput{Cluster: &b.Cluster, TaskDefinition: &definition, LaunchType: types.LaunchTypeFargate,
		NetworkConfiguration: &types.NetworkConfiguration{AwsvpcConfiguration: &types.AwsVpcConfiguration{Subnets: []string{"subnet-1"}}}}
}

func (b ecsBed) spot(definition string) *ecs.RunTaskInput {
	in := b.request(definition)
	in.LaunchType, in.CapacityProviderStrategy = "", []types.CapacityProviderStrategyItem{{CapacityProvider: aws.String("FARGATE_SPOT"), Weight: 1}}
	return in
}

// start runs a task and returns its ARN.
func (b ecsBed) start(t *testing.T, in *ecs.RunTaskInput) string {
	t.Helper()
	out, err := b.client.RunTask(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Failures) > 0 || len(out.Tasks) != int(max(1, aws.ToInt32(in.Count))) {
		t.Fatalf("RunTask started %d tasks, failures %v", len(out.Tasks), out.Failures)
	}
	if got := *out.Tasks[0].LastStatus; got != "PROVISIONING" && in.ClientToken == nil {
		t.Fatalf("RunTask answers with status %s, want PROVISIONING", got)
	}
	return *out.Tasks[0].TaskArn
}

func (b ecsBed) describe(t *testing.T, arn string) types.Task {
	t.Helper()
	out, err := b.client.DescribeTasks(t.Context(), &ecs.DescribeTasksInput{Cluster: &b.Cluster, Tasks: []string{arn}, Include: []types.TaskField{"TAGS"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Tasks) != 1 {
		t.Fatalf("DescribeTasks of %s: %+v", arn, out.Failures)
	}
	return out.Tasks[0]
}

// until waits for a state of a task.
func (b ecsBed) until(t *testing.T, arn, status string) types.Task {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		task := b.describe(t, arn)
		if *task.LastStatus == status {
			return task
		}
		if *task.LastStatus == "STOPPED" || time.Now().After(deadline) {
			t.Fatalf("task is %s (%s, %s), want %s: %s", *task.LastStatus, task.StopCode, aws.ToString(task.StoppedReason), status, outcome(task))
		}
	}
}

// run runs a task to its end.
func (b ecsBed) run(t *testing.T, in *ecs.RegisterTaskDefinitionInput) types.Task {
	t.Helper()
	return b.until(t, b.start(t, b.request(b.register(t, in))), "STOPPED")
}

// outcome returns "name=exit code" for each container, with the reason if there is one.
func outcome(task types.Task) string {
	var list []string
	for _, c := range task.Containers {
		text := *c.Name + "="
		if c.ExitCode != nil {
			text += fmt.Sprint(*c.ExitCode)
		}
		if c.Reason != nil {
			text += " (" + *c.Reason + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func wantOutcome(t *testing.T, task types.Task, stop types.TaskStopCode, want string) {
	t.Helper()
	if got := outcome(task); task.StopCode != stop || got != want {
		t.Errorf("task ended with %s (%s): %s; want %s: %s", task.StopCode, aws.ToString(task.StoppedReason), got, stop, want)
	}
}

func wantError(t *testing.T, err error, code, part string) {
	t.Helper()
	var e smithy.APIError
	if !errors.As(err, &e) || e.ErrorCode() != code || !strings.Contains(e.ErrorMessage(), part) {
		t.Errorf("error %v, want %s with %q", err, code, part)
	}
}

// cloudWatch calls CloudWatch Logs directly, because these calls alone do not justify another SDK module.
func cloudWatch(t *testing.T, operation string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, localstack.Endpoint(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "Logs_20140328."+operation)
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/logs/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", operation, answer.Status, text, err)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			t.Fatal(err)
		}
	}
}
