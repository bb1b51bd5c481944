package fargate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"zerodag/integration/localstack"
	"zerodag/internal/fargate"
	"zerodag/internal/sandbox"
)

// cluster makes a launcher over a cluster of its own.
func cluster(t *testing.T, roles ...string) (*fargate.Launcher, localstack.ECS) {
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
		ExecutionRole: "arn:aws:iam::000000000000:role/x", Roles: roles, LogGroup: "/x", Architecture: "x86_64", URL: "http://127.0.0.1:1", SHA256: "0"}), localstack.ECS{Endpoint: localstack.Endpoint(), Cluster: name}
}

func runner(slot int, of sandbox.Class) sandbox.Runner {
	return sandbox.Runner{Attempt: 5, Class: of.Key(), Slot: slot, ID: "abc", Of: of, Secret: "s"}
}

func class(image string) sandbox.Class { return sandbox.Class{Image: image, CPU: 256, Memory: 512} }

// TestLaunch proves that a runner is launched once, however often that is asked for, and that
// a class has one task definition.
func TestLaunch(t *testing.T) {
	t.Parallel()
	l, bed := cluster(t)
	first, err := l.Launch(t.Context(), runner(0, class("i")))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := l.Launch(t.Context(), runner(0, class("i"))); err != nil || again != first {
		t.Errorf("launched again: %s instead of %s, %v", again, first, err)
	}
	if other, err := l.Launch(t.Context(), runner(1, class("i"))); err != nil || other == first {
		t.Errorf("another one: %s, %v", other, err)
	}
	spot := class("i")
	spot.Spot = true
	if _, err := l.Launch(t.Context(), runner(0, spot)); err != nil {
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
	for range 2 {
		if err := l.Stop(t.Context(), first, strings.Repeat("because ", 100)); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	if err := l.Stop(t.Context(), first[:len(first)-4]+"0000", "x"); err != nil {
		t.Errorf("stop of one that ECS has forgotten: %v", err)
	}
}

// TestRefused proves what is to be tried later, and what is told to the user.
func TestRefused(t *testing.T) {
	t.Parallel()
	l, bed := cluster(t)
	for _, faults := range []map[string]any{{"capacity": 1, "capacity_kind": "capacity"}, {"capacity": 1, "capacity_kind": "eni"}, {"capacity": 1, "capacity_kind": "exception"}, {"throttle": 9}} {
		bed.Faults(t, faults)
		if _, err := l.Launch(t.Context(), runner(0, class("i"))); !errors.Is(err, sandbox.ErrBusy) {
			t.Errorf("%v: %v", faults, err)
		}
	}
	bed.Faults(t, map[string]any{"capacity": 0, "throttle": 0})
	if _, err := l.Launch(t.Context(), runner(0, sandbox.Class{Image: "i", CPU: 300, Memory: 1})); err == nil || errors.Is(err, sandbox.ErrBusy) || !strings.Contains(err.Error(), "image i") {
		t.Errorf("a size that there is not: %v", err)
	}
	role := class("i")
	role.Role = "arn:aws:iam::000000000000:role/mine"
	if err := l.Check(role); err == nil || !strings.Contains(err.Error(), "taskRoles") {
		t.Errorf("a role that is not allowed: %v", err)
	}
	allowed, _ := cluster(t, role.Role)
	if err := allowed.Check(role); err != nil {
		t.Errorf("a role that is allowed: %v", err)
	}
	if err := allowed.Check(class("i")); err != nil {
		t.Error(err)
	}
}
