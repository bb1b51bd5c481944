package fargate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"zerodag/integration/localstack"
	"zerodag/internal/fargate"
	"zerodag/internal/sandbox"
)

// cluster returns a launcher for a separate cluster.
func cluster(t *testing.T) (*fargate.Launcher, localstack.ECS) {
	t.Helper()
	c := localstack.Config(t)
	name := localstack.Name()
	client := ecs.NewFromConfig(c)
	if _, err := client.CreateCluster(t.Context(), &ecs.CreateClusterInput{ClusterName: &name, CapacityProviders: []string{"FARGATE", "FARGATE_SPOT"}}); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := client.DeleteCluster(ctx, &ecs.DeleteClusterInput{Cluster: &name})
		return err
	})
	return fargate.New(c, fargate.Options{Stage: name, Cluster: name, Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"}, PublicIP: true,
		ExecutionRole: "arn:aws:iam::000000000000:role/x", LogGroup: "/x", Architecture: "x86_64", URL: "http://127.0.0.1:1", SHA256: "0"}), localstack.ECS{Endpoint: localstack.Endpoint(), Cluster: name}
}

func runner(slot int, of sandbox.Class) sandbox.Runner {
	return sandbox.Runner{Attempt: 5, Class: of.Key(), Slot: slot, ID: "abc", Of: of}
}

func class(image string) sandbox.Class { return sandbox.Class{Image: image, CPU: 256, Memory: 512} }

// TestLaunch proves that a runner is launched once, however often that is requested, and that a class has one task
// definition.
func TestLaunch(t *testing.T) {
	t.Parallel()
	l, bed := cluster(t)
	first, err := l.Launch(t.Context(), runner(0, class("i")), "ticket")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := l.Launch(t.Context(), runner(0, class("i")), "ticket"); err != nil || again != first {
		t.Errorf("launched again: %s instead of %s, %v", again, first, err)
	}
	if other, err := l.Launch(t.Context(), runner(1, class("i")), "ticket"); err != nil || other == first {
		t.Errorf("another one: %s, %v", other, err)
	}
	spot := class("i")
	spot.Spot = true
	if _, err := l.Launch(t.Context(), runner(0, spot), "ticket"); err != nil {
		t.Errorf("Spot: %v", err)
	}
	list := bed.Tasks(t)
	definitions := map[string]bool{}
	for _, x := range list {
		definitions[x.Definition] = true
	}
	if len(list) != 3 || len(definitions) != 1 || list[0].StartedBy != runner(0, class("i")).Name() || list[2].Provider != "FARGATE_SPOT" {
		t.Errorf("%d tasks of %d definitions: %+v", len(list), len(definitions), list)
	}
	known, cutOff, gone, never := runner(0, class("i")), runner(1, class("i")), runner(2, class("i")), runner(3, class("i"))
	known.Task, gone.Task = first, first[:len(first)-4]+"0000"
	if over, err := l.Ended(t.Context(), []sandbox.Runner{known, cutOff, gone, never}); err != nil || over[gone.Name()] == "" || over[never.Name()] == "" {
		t.Errorf("those that are not there: %v, %v", over, err)
	}
	for range 2 {
		for _, r := range []sandbox.Runner{known, cutOff, gone, never} {
			if err := l.Stop(t.Context(), r, strings.Repeat("because ", 100)); err != nil {
				t.Errorf("stop of %s: %v", r.Name(), err)
			}
		}
	}
	for len(bed.Tasks(t)) > 0 && slices.ContainsFunc(bed.Tasks(t), func(x localstack.ECSTask) bool { return x.Provider != "FARGATE_SPOT" && x.Status != "STOPPED" }) {
		if t.Context().Err() != nil {
			t.Fatal("they do not end")
		}
	}
	if over, err := l.Ended(t.Context(), []sandbox.Runner{known, cutOff}); err != nil || over[known.Name()] == "" || over[cutOff.Name()] != over[known.Name()] {
		t.Errorf("when they have ended: %v, %v", over, err)
	}
}

// TestRefused checks which errors are retried later, and which are reported to the user.
func TestRefused(t *testing.T) {
	t.Parallel()
	l, bed := cluster(t)
	for _, faults := range []map[string]any{{"capacity": 1, "capacity_kind": "capacity"}, {"capacity": 1, "capacity_kind": "eni"}, {"capacity": 1, "capacity_kind": "exception"}, {"throttle": 9}} {
		bed.Faults(t, faults)
		if _, err := l.Launch(t.Context(), runner(0, class("i")), "ticket"); !errors.Is(err, sandbox.ErrBusy) {
			t.Errorf("%v: %v", faults, err)
		}
	}
	bed.Faults(t, map[string]any{"capacity": 0, "throttle": 0})
	if _, err := l.Launch(t.Context(), runner(0, sandbox.Class{Image: "i", CPU: 300, Memory: 1}), "ticket"); err == nil || errors.Is(err, sandbox.ErrBusy) || !strings.Contains(err.Error(), "image i") {
		t.Errorf("a size that there is not: %v", err)
	}
}

// TestRegisteredAtOnce proves that a launch is retried later if another process registers its task definition at the
// same moment, although ECS reports this as an invalid request.
func TestRegisteredAtOnce(t *testing.T) {
	t.Parallel()
	c := aws.Config{Region: "eu-central-1", Credentials: aws.AnonymousCredentials{}, APIOptions: []func(*middleware.Stack) error{func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("answer", func(context.Context, middleware.InitializeInput, middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			return middleware.InitializeOutput{}, middleware.Metadata{}, &smithy.GenericAPIError{Code: "ClientException", Message: "Too many concurrent attempts to create a new revision of the specified family."}
		}), middleware.Before)
	}}}
	if _, err := fargate.New(c, fargate.Options{Stage: "s", Cluster: "c"}).Launch(t.Context(), runner(0, class("i")), "ticket"); !errors.Is(err, sandbox.ErrBusy) {
		t.Error(err)
	}
}

// TestDefinition proves that the definition of a class checks the program before it is started, does not name a runner,
// and sends logs to the account's region.
func TestDefinition(t *testing.T) {
	t.Parallel()
	var asked *ecs.RegisterTaskDefinitionInput
	var started *ecs.RunTaskInput
	c := aws.Config{Region: "eu-central-1", Credentials: aws.AnonymousCredentials{}, APIOptions: []func(*middleware.Stack) error{func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("answer", func(_ context.Context, in middleware.InitializeInput, _ middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			switch p := in.Parameters.(type) {
			case *ecs.RegisterTaskDefinitionInput:
				asked = p
				return middleware.InitializeOutput{Result: &ecs.RegisterTaskDefinitionOutput{TaskDefinition: &types.TaskDefinition{TaskDefinitionArn: aws.String("d")}}}, middleware.Metadata{}, nil
			case *ecs.RunTaskInput:
				started = p
				return middleware.InitializeOutput{Result: &ecs.RunTaskOutput{Tasks: []types.Task{{TaskArn: aws.String("t")}}}}, middleware.Metadata{}, nil
			}
			return middleware.InitializeOutput{}, middleware.Metadata{}, &smithy.GenericAPIError{Code: "ClientException"}
		}), middleware.Before)
	}}}
	l := fargate.New(c, fargate.Options{Stage: "s", Cluster: "c", ExecutionRole: "arn:aws:iam::1:role/x", LogGroup: "/g", Architecture: "arm64", URL: "https://api", SHA256: "abc"})
	of := sandbox.Class{Image: "i", CPU: 1024, Memory: 2048, Disk: 40, Role: "r"}
	if task, err := l.Launch(t.Context(), runner(0, of), "ticket"); err != nil || task != "t" {
		t.Fatal(task, err)
	}
	if text := fmt.Sprint(*started.Overrides.ContainerOverrides[1].Environment[1].Name, *started.Overrides.ContainerOverrides[1].Environment[1].Value); text != "ZERODAG_TICKETticket" {
		t.Errorf("it shows %s", text)
	}
	fetch, command := asked.ContainerDefinitions[0], asked.ContainerDefinitions[1]
	if *fetch.Essential || !strings.Contains(fetch.Command[0], "sha256sum -c") || *fetch.Environment[0].Value != "abc" {
		t.Errorf("the program: %+v", fetch)
	}
	if *command.Image != "i" || command.EntryPoint[0] != "/zerodag/runner" || *command.User != "0" || command.DependsOn[0].Condition != types.ContainerConditionSuccess || command.Environment != nil {
		t.Errorf("the image: %+v", command)
	}
	if o := command.LogConfiguration.Options; o["awslogs-region"] != "eu-central-1" || o["awslogs-group"] != "/g" {
		t.Errorf("its log: %v", o)
	}
	if *asked.TaskRoleArn != "r" || asked.EphemeralStorage.SizeInGiB != 40 || asked.RuntimePlatform.CpuArchitecture != types.CPUArchitectureArm64 || !strings.HasPrefix(*asked.Family, "zerodag-s-") {
		t.Errorf("registered: %+v", asked)
	}
}
