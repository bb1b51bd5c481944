package fargate_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/env"
	"zerodag/internal/fargate"
	"zerodag/internal/sandbox"
)

// TestSpot proves that a command that requests Spot is refused if the cluster has no Spot capacity, with an error that
// names the setting.
func TestSpot(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		l := fargate.New(aws.Config{}, fargate.Options{Spot: there})
		if err := l.Check(sandbox.Class{}, sandbox.Owner{}); err != nil {
			t.Error(err)
		}
		err := l.Check(sandbox.Class{Spot: true}, sandbox.Owner{})
		if (err == nil) != there || err != nil && !strings.Contains(err.Error(), "allowSpot: true") {
			t.Errorf("Spot is there: %t: %v", there, err)
		}
	}
}

// TestForeign proves that machines of another cluster, region or account count as ended without a query to ECS, which
// would otherwise refuse the query for all machines.
func TestForeign(t *testing.T) {
	t.Parallel()
	const cluster = "arn:aws:ecs:eu-west-1:111111111111:cluster/zerodag-main-commands"
	for _, task := range []string{
		"arn:aws:ecs:us-east-1:111111111111:task/zerodag-main-commands/a",
		"arn:aws:ecs:eu-west-1:222222222222:task/zerodag-main-commands/a",
		"arn:aws:ecs:eu-west-1:111111111111:task/zerodag-other-commands/a",
	} {
		l := fargate.New(aws.Config{}, fargate.Options{Cluster: cluster})
		r := sandbox.Runner{Task: task}
		if over, err := l.Ended(t.Context(), []sandbox.Runner{r}); err != nil || over[r.Name()] != sandbox.Gone {
			t.Errorf("%s: %v, %v", task, over, err)
		}
	}
	for _, name := range []string{cluster, "zerodag-main-commands"} {
		l := fargate.New(aws.Config{Region: "eu-west-1"}, fargate.Options{Cluster: name})
		r := sandbox.Runner{Task: "arn:aws:ecs:eu-west-1:111111111111:task/zerodag-main-commands/a"}
		if over, err := l.Ended(t.Context(), []sandbox.Runner{r}); err == nil || len(over) != 0 {
			t.Errorf("its own machine is not asked for: %v, %v", over, err)
		}
	}
}

// TestRoleOfAnotherProject proves that a project's commands may use only the roles that are listed for it, and that a
// refusal does not reveal the roles of other projects.
func TestRoleOfAnotherProject(t *testing.T) {
	t.Parallel()
	const sales, other = "arn:aws:iam::111111111111:role/sales", "arn:aws:iam::111111111111:role/other"
	l := fargate.New(aws.Config{}, fargate.Options{Allows: env.Commands{Roles: []string{"0/sales=" + sales, "0/other=" + other}}.Allows})
	none := fargate.New(aws.Config{}, fargate.Options{})
	for _, x := range []struct {
		launcher      *fargate.Launcher
		project, role string
		site          int64
		allowed       bool
	}{{l, "sales", sales, 0, true}, {l, "sales", other, 0, false}, {l, "sales", sales, 1, false}, {l, "sales", "", 1, true}, {none, "sales", sales, 0, false}, {none, "sales", "", 0, true}} {
		err := x.launcher.Check(sandbox.Class{Role: x.role}, sandbox.Owner{Site: x.site, Project: x.project})
		if (err == nil) != x.allowed {
			t.Errorf("role %q for %s of site %d: %v", x.role, x.project, x.site, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "taskRoles") || x.role == sales && strings.Contains(err.Error(), other)) {
			t.Errorf("the refusal: %v", err)
		}
	}
}
