package localstack_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"zerodag/integration/localstack"
)

// TestClientToken checks that one task is started however often it is requested, even after it has stopped.
func TestClientToken(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	in := b.request(b.register(t, definition(shell("main", "exit 0"))))
	in.ClientToken = aws.String("token")
	var started sync.Map
	var side sync.WaitGroup
	for range 5 {
		side.Go(func() {
			out, err := b.client.RunTask(t.Context(), in)
			if err != nil || len(out.Tasks) != 1 {
				t.Errorf("RunTask: %+v %v", out, err)
				return
			}
			started.Store(*out.Tasks[0].TaskArn, true)
		})
	}
	side.Wait()
	arn := b.start(t, in)
	b.until(t, arn, "STOPPED")
	again, err := b.client.RunTask(t.Context(), in)
	if err != nil || len(again.Tasks) != 1 || *again.Tasks[0].TaskArn != arn || *again.Tasks[0].LastStatus != "STOPPED" {
		t.Errorf("after its end: %+v %v", again, err)
	}
	started.Range(func(k, _ any) bool {
		if k != arn {
			t.Errorf("one token has started %s and %s", k, arn)
		}
		return true
	})
	other := *in
	other.StartedBy = aws.String("somebody")
	_, err = b.client.RunTask(t.Context(), &other)
	var conflict *types.ConflictException
	if !errors.As(err, &conflict) || len(conflict.ResourceIds) != 1 || conflict.ResourceIds[0] != arn {
		t.Errorf("same token for another request: %v", err)
	}
	if list := b.Tasks(t); len(list) != 1 {
		t.Errorf("%d tasks were started", len(list))
	}
	elsewhere := newECS(t)
	other.Cluster = &elsewhere.Cluster
	if got := elsewhere.start(t, &other); got == arn {
		t.Error("a token is valid in another cluster")
	}
}

// TestRunTaskRefuses checks that invalid requests are refused the way ECS refuses them.
func TestRunTaskRefuses(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	arn := b.register(t, definition(shell("main", "exit 0")))
	gone := b.register(t, definition(shell("main", "exit 0")))
	if _, err := b.client.DeregisterTaskDefinition(t.Context(), &ecs.DeregisterTaskDefinitionInput{TaskDefinition: &gone}); err != nil {
		t.Fatal(err)
	}
	closed, err := b.client.CreateCluster(t.Context(), &ecs.CreateClusterInput{ClusterName: aws.String(localstack.Name())})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.DeleteCluster(t.Context(), &ecs.DeleteClusterInput{Cluster: closed.Cluster.ClusterArn}); err != nil {
		t.Fatal(err)
	}
	over := func(o types.TaskOverride) func(*ecs.RunTaskInput) {
		return func(in *ecs.RunTaskInput) { in.Overrides = &o }
	}
	for name, c := range map[string]struct {
		change     func(*ecs.RunTaskInput)
		code, part string
	}{
		"cluster":       {func(in *ecs.RunTaskInput) { in.Cluster = aws.String("no-such") }, "ClusterNotFoundException", "Cluster not found."},
		"closed":        {func(in *ecs.RunTaskInput) { in.Cluster = closed.Cluster.ClusterArn }, "ClusterNotFoundException", "Cluster not found."},
		"no definition": {func(in *ecs.RunTaskInput) { in.TaskDefinition = aws.String("no-such") }, "ClientException", "Unable to describe task definition."},
		"revision":      {func(in *ecs.RunTaskInput) { in.TaskDefinition = aws.String(arn + "7") }, "ClientException", "not found"},
		"deregistered":  {func(in *ecs.RunTaskInput) { in.TaskDefinition = &gone }, "ClientException", "inactive"},
		"count":         {func(in *ecs.RunTaskInput) { in.Count = aws.Int32(11) }, "InvalidParameterException", "between 1 and 10"},
		"network":       {func(in *ecs.RunTaskInput) { in.NetworkConfiguration = nil }, "InvalidParameterException", "Network Configuration must be provided"},
		"nothing asked": {func(in *ecs.RunTaskInput) { in.LaunchType = "" }, "InvalidParameterException", "No Container Instances"},
		"EC2":           {func(in *ecs.RunTaskInput) { in.LaunchType = "EC2" }, "InvalidParameterException", "No Container Instances"},
		"both":          {func(in *ecs.RunTaskInput) { in.CapacityProviderStrategy = b.spot(arn).CapacityProviderStrategy }, "InvalidParameterException", "both a launch type and capacity provider"},
		"provider": {func(in *ecs.RunTaskInput) {
			*in = *b.spot(arn)
			in.CapacityProviderStrategy[0].CapacityProvider = aws.String("x")
		}, "InvalidParameterException", "not associated"},
		"startedBy":       {func(in *ecs.RunTaskInput) { in.StartedBy = aws.String(strings.Repeat("x", 129)) }, "InvalidParameterException", "128"},
		"token":           {func(in *ecs.RunTaskInput) { in.ClientToken = aws.String(strings.Repeat("x", 65)) }, "InvalidParameterException", "64"},
		"container":       {over(types.TaskOverride{ContainerOverrides: []types.ContainerOverride{{Name: aws.String("other")}}}), "InvalidParameterException", "not a container in the TaskDefinition"},
		"long overrides":  {over(types.TaskOverride{ContainerOverrides: []types.ContainerOverride{{Name: aws.String("main"), Command: []string{strings.Repeat("x", 8192)}}}}), "InvalidParameterException", "8192"},
		"overridden size": {over(types.TaskOverride{Cpu: aws.String("256"), Memory: aws.String("8192")}), "ClientException", "No Fargate configuration exists for given values"},
	} {
		in := b.request(arn)
		c.change(in)
		out, err := b.client.RunTask(t.Context(), in)
		if err == nil {
			t.Errorf("%s: was taken: %+v", name, out)
			continue
		}
		wantError(t, fmt.Errorf("%s: %w", name, err), c.code, c.part)
	}
	if list := b.Tasks(t); len(list) != 0 {
		t.Errorf("%d tasks were started by requests that were refused", len(list))
	}
}

// TestOverrides checks what a request may change, and that it may start several tasks.
func TestOverrides(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	main := shell("main", "exit 1")
	main.Environment = []types.KeyValuePair{{Name: aws.String("A"), Value: aws.String("1")}, {Name: aws.String("B"), Value: aws.String("1")}}
	in := b.request(b.register(t, definition(main)))
	in.Count, in.LaunchType = aws.Int32(3), ""
	in.CapacityProviderStrategy = b.spot("").CapacityProviderStrategy
	in.Overrides = &types.TaskOverride{Cpu: aws.String("1 vCPU"), Memory: aws.String("3 GB"), EphemeralStorage: &types.EphemeralStorage{SizeInGiB: 50},
		ContainerOverrides: []types.ContainerOverride{{Name: aws.String("main"), Command: []string{"sh", "-c", "exit $A$B"}, Environment: []types.KeyValuePair{{Name: aws.String("B"), Value: aws.String("7")}}}}}
	task := b.until(t, b.start(t, in), "STOPPED")
	wantOutcome(t, task, types.TaskStopCodeEssentialContainerExited, "main=17")
	if *task.Cpu != "1024" || *task.Memory != "3072" || task.EphemeralStorage.SizeInGiB != 50 || aws.ToString(task.CapacityProviderName) != "FARGATE_SPOT" || task.LaunchType != "FARGATE" {
		t.Errorf("task: %+v", task)
	}
	list := b.Tasks(t)
	if len(list) != 3 {
		t.Errorf("%d tasks, want 3", len(list))
	}
	for _, one := range list {
		b.until(t, one.ARN, "STOPPED")
	}
	stopped, err := b.client.ListTasks(t.Context(), &ecs.ListTasksInput{Cluster: &b.Cluster, DesiredStatus: "STOPPED", MaxResults: aws.Int32(2)})
	if err != nil || len(stopped.TaskArns) != 2 || stopped.NextToken == nil {
		t.Errorf("a page of tasks: %+v %v", stopped, err)
	}
	running, err := b.client.ListTasks(t.Context(), &ecs.ListTasksInput{Cluster: &b.Cluster})
	if err != nil || len(running.TaskArns) != 0 {
		t.Errorf("tasks that run: %+v %v", running, err)
	}
}

// TestDefinitionsRefused checks that task definitions that Fargate does not accept are refused.
func TestDefinitionsRefused(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	for name, c := range map[string]struct {
		change func(*ecs.RegisterTaskDefinitionInput)
		part   string
	}{
		"pair":    {func(in *ecs.RegisterTaskDefinitionInput) { in.Memory = aws.String("4096") }, "No Fargate configuration exists for given values: 256 CPU, 4096 memory"},
		"step":    {func(in *ecs.RegisterTaskDefinitionInput) { in.Cpu, in.Memory = aws.String("8192"), aws.String("17408") }, "No Fargate configuration"},
		"no cpu":  {func(in *ecs.RegisterTaskDefinitionInput) { in.Cpu = nil }, "Fargate requires that 'cpu' be defined"},
		"network": {func(in *ecs.RegisterTaskDefinitionInput) { in.NetworkMode = "bridge" }, "Fargate only supports network mode"},
		"family":  {func(in *ecs.RegisterTaskDefinitionInput) { in.Family = aws.String("a/b") }, "Family"},
		"long":    {func(in *ecs.RegisterTaskDefinitionInput) { in.Family = aws.String(strings.Repeat("x", 256)) }, "255"},
		"timeout": {func(in *ecs.RegisterTaskDefinitionInput) { in.ContainerDefinitions[0].StopTimeout = aws.Int32(121) }, "stopTimeout"},
		"log role": {func(in *ecs.RegisterTaskDefinitionInput) {
			in.ContainerDefinitions[0].LogConfiguration = &types.LogConfiguration{LogDriver: types.LogDriverAwslogs}
		}, "execution role"},
		"volume": {func(in *ecs.RegisterTaskDefinitionInput) {
			in.ContainerDefinitions[0].MountPoints = []types.MountPoint{{SourceVolume: aws.String("x"), ContainerPath: aws.String("/x")}}
		}, "Unknown volume"},
		"host path": {func(in *ecs.RegisterTaskDefinitionInput) {
			in.Volumes = []types.Volume{{Name: aws.String("x"), Host: &types.HostVolumeProperties{SourcePath: aws.String("/etc")}}}
		}, "sourcePath"},
		"storage": {func(in *ecs.RegisterTaskDefinitionInput) {
			in.EphemeralStorage = &types.EphemeralStorage{SizeInGiB: 20}
		}, "between 21 and 200"},
		"nobody": {func(in *ecs.RegisterTaskDefinitionInput) { in.ContainerDefinitions[0].Essential = aws.Bool(false) }, "must be essential"},
		"itself": {func(in *ecs.RegisterTaskDefinitionInput) {
			in.ContainerDefinitions[0].DependsOn = []types.ContainerDependency{{ContainerName: aws.String("main"), Condition: "START"}}
		}, "circle"},
		"essential": {func(in *ecs.RegisterTaskDefinitionInput) {
			second := shell("second", "exit 0")
			second.DependsOn = []types.ContainerDependency{{ContainerName: aws.String("main"), Condition: "SUCCESS"}}
			in.ContainerDefinitions = append(in.ContainerDefinitions, second)
		}, "cannot be an essential container"},
		"health": {func(in *ecs.RegisterTaskDefinitionInput) {
			second := shell("second", "exit 0")
			second.DependsOn = []types.ContainerDependency{{ContainerName: aws.String("main"), Condition: "HEALTHY"}}
			in.ContainerDefinitions = append(in.ContainerDefinitions, second)
		}, "health"},
	} {
		in := definition(shell("main", "exit 0"))
		c.change(in)
		out, err := b.client.RegisterTaskDefinition(t.Context(), in)
		if err == nil {
			t.Errorf("%s: was taken: %+v", name, out)
			continue
		}
		wantError(t, err, "ClientException", c.part)
	}
}

// TestDefinitionsLive checks that task definitions can be registered, reused, deregistered and deleted.
func TestDefinitionsLive(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	ctx, in := t.Context(), definition(shell("main", "exit 0"))
	b.register(t, in)
	second := b.register(t, in)
	newest := func() (int32, error) {
		out, err := b.client.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{TaskDefinition: in.Family})
		if err != nil {
			return 0, err
		}
		return out.TaskDefinition.Revision, nil
	}
	if n, err := newest(); err != nil || n != 2 {
		t.Errorf("newest revision %d, %v; want 2", n, err)
	}
	if _, err := b.client.DeregisterTaskDefinition(ctx, &ecs.DeregisterTaskDefinitionInput{TaskDefinition: &second}); err != nil {
		t.Fatal(err)
	}
	if n, err := newest(); err != nil || n != 1 {
		t.Errorf("newest active revision %d, %v; want 1", n, err)
	}
	list, err := b.client.ListTaskDefinitions(ctx, &ecs.ListTaskDefinitionsInput{FamilyPrefix: in.Family})
	if err != nil || len(list.TaskDefinitionArns) != 1 {
		t.Errorf("active: %+v %v", list, err)
	}
	gone, err := b.client.DeleteTaskDefinitions(ctx, &ecs.DeleteTaskDefinitionsInput{TaskDefinitions: []string{second, strings.TrimSuffix(second, "2") + "1"}})
	if err != nil || len(gone.TaskDefinitions) != 1 || gone.TaskDefinitions[0].Status != "DELETE_IN_PROGRESS" || len(gone.Failures) != 1 {
		t.Errorf("delete one that is inactive and one that is not: %+v %v", gone, err)
	}
	if third := b.register(t, in); !strings.HasSuffix(third, ":3") {
		t.Errorf("%s: a revision came again", third)
	}
}

// TestNoCapacity checks the errors for each kind of missing capacity, for throttling, and for a broken registry.
func TestNoCapacity(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	arn := b.register(t, definition(shell("main", "exit 0")))
	b.Faults(t, map[string]any{"throttle": 1, "capacity": 3, "pull_errors": 1})
	_, err := b.client.RunTask(t.Context(), b.request(arn))
	wantError(t, err, "ThrottlingException", "Rate exceeded.")
	in := b.request(arn)
	in.ClientToken = aws.String("one")
	for _, want := range []string{"Capacity is unavailable at this time. Please try again later or in a different availability zone", "RESOURCE:ENI"} {
		out, err := b.client.RunTask(t.Context(), in)
		if err != nil || len(out.Tasks) != 0 || len(out.Failures) != 1 || *out.Failures[0].Reason != want {
			t.Errorf("RunTask: %+v %v, want failure %s", out, err, want)
		}
	}
	_, err = b.client.RunTask(t.Context(), in)
	wantError(t, err, "ClientException", "Capacity is unavailable")
	task := b.until(t, b.start(t, in), "STOPPED")
	if task.StopCode != types.TaskStopCodeTaskFailedToStart || !strings.HasPrefix(*task.StoppedReason, "CannotPullContainerError") {
		t.Errorf("task: %s %s", task.StopCode, *task.StoppedReason)
	}
	wantOutcome(t, b.until(t, b.start(t, b.request(arn)), "STOPPED"), types.TaskStopCodeEssentialContainerExited, "main=0")
	b.Faults(t, map[string]any{"spot": 1})
	b.start(t, b.request(arn))
	out, err := b.client.RunTask(t.Context(), b.spot(arn))
	if err != nil || len(out.Failures) != 1 {
		t.Errorf("Spot without capacity: %+v %v", out, err)
	}
	b.start(t, b.spot(arn))
}

// TestLaunchRate checks that a burst of launches is accepted up to the limit, and then only as fast as its tokens are
// refilled.
func TestLaunchRate(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	b.Faults(t, map[string]any{"launch_burst": 4, "launch_rate": 2, "start_delay": 60})
	arn := b.register(t, definition(shell("main", "exit 0")))
	two := func() error { // a request keeps the token that the SDK gives it, so each call makes a new one
		in := b.request(arn)
		in.Count = aws.Int32(2)
		_, err := b.client.RunTask(t.Context(), in)
		return err
	}
	began := time.Now()
	refused := 0
	for taken := 0; taken < 4; {
		if err := two(); err != nil {
			wantError(t, err, "ThrottlingException", "Rate exceeded.")
			refused++
			time.Sleep(100 * time.Millisecond)
		} else {
			taken++
		}
	}
	if took := time.Since(began); took < 1900*time.Millisecond || refused == 0 { // 8 tasks, 4 at once, 2 per second
		t.Errorf("took %v with %d refused", took, refused)
	}
	b.Faults(t, map[string]any{"call_burst": 1, "call_rate": 0.01})
	b.start(t, b.request(arn))
	wantError(t, two(), "ThrottlingException", "Rate exceeded.")
}

// TestStartDelay checks that a task stays in PROVISIONING for the requested time.
func TestStartDelay(t *testing.T) {
	t.Parallel()
	b := newECS(t)
	b.Faults(t, map[string]any{"start_delay": 1.5})
	arn := b.start(t, b.request(b.register(t, definition(shell("main", "exit 0")))))
	task := b.until(t, arn, "STOPPED")
	if took := task.StartedAt.Sub(*task.CreatedAt); took < 1500*time.Millisecond {
		t.Errorf("started after %v", took)
	}
}

// TestSpotInterruption checks that an interrupted task is warned and then ended, and that others are unaffected.
func TestSpotInterruption(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ trap, want string }{
		"goes":  {"trap 'exit 5' TERM;", "main=5"},
		"stays": {"trap '' TERM;", "main=137"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newECS(t)
			events := b.listen(t)
			script, ready := waits(c.trap)
			arn := b.start(t, b.spot(b.register(t, definition(shell("main", script)))))
			ready(t)
			b.until(t, arn, "RUNNING")
			b.Interrupt(t, arn, time.Second)
			wantOutcome(t, b.until(t, arn, "STOPPED"), types.TaskStopCodeSpotInterruption, c.want)
			warned := false
			for _, e := range events("STOPPED") {
				warned = warned || e.Detail.LastStatus == "RUNNING" && e.Detail.StopCode == "SpotInterruption" && e.Detail.StoppedReason == "Your Spot Task was interrupted." && e.Detail.CapacityProviderName == "FARGATE_SPOT"
			}
			if !warned {
				t.Error("no event has warned of the interruption")
			}
		})
	}
}

// TestLostTask checks that a lost task ends without exit codes, with or without an event.
func TestLostTask(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprintf("event %v", told), func(t *testing.T) {
			t.Parallel()
			b := newECS(t)
			events := b.listen(t)
			task := b.start(t, b.request(b.register(t, definition(shell("main", "sleep 300")))))
			b.until(t, task, "RUNNING")
			events("RUNNING")
			b.Lose(t, task, told)
			ended := b.until(t, task, "STOPPED")
			if got := outcome(ended); got != "main=" || !strings.HasPrefix(*ended.StoppedReason, "Host EC2") {
				t.Errorf("ended: %s %s", got, *ended.StoppedReason)
			}
			if !told {
				b.start(t, b.request(b.register(t, definition(shell("main", "exit 0"))))) // the event of its end comes later
			}
			spoke := false
			for _, e := range events("STOPPED") {
				spoke = spoke || e.Detail.TaskArn == task && e.Detail.LastStatus == "STOPPED"
			}
			if spoke != told {
				t.Errorf("an event of its end came: %v, want %v", spoke, told)
			}
		})
	}
}
