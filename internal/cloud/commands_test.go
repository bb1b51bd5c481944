package cloud

import (
	"context"
	"errors"
	"strings"
	"testing"

	"zerodag/engine/param"
	"zerodag/operators"
)

// named are commands that end with their name.
type named string

func (n named) Run(context.Context, operators.Command) (operators.Exit, error) {
	return operators.Exit{Why: string(n)}, nil
}

func (n named) Stop(context.Context, *param.Map) error { return errors.New(string(n)) }

// TestPlaced proves that a command runs where its task says, else where the deployment has
// chosen, and that what is not to be had is one clear error.
func TestPlaced(t *testing.T) {
	t.Parallel()
	fargate, lambda := place{operators.OnFargate, named("fargate")}, place{operators.OnLambda, named("lambda")}
	for _, x := range []struct {
		placed         placed
		executor, want string
	}{
		{placed{fargate, lambda}, "", "fargate"},
		{placed{fargate, lambda}, "fargate", "fargate"},
		{placed{fargate, lambda}, "lambda", "lambda"},
		{placed{lambda}, "", "lambda"},
		{placed{lambda}, "fargate", "fargate is not to be had in this deployment: use lambda"},
		{placed{fargate}, "lambda", "deploy with -c commandFunction=true"},
		{placed{fargate, lambda}, "docker", "docker is not to be had in this deployment: use fargate, lambda"},
	} {
		exit, err := x.placed.Run(t.Context(), operators.Command{Sandbox: operators.Sandbox{Executor: x.executor}})
		if got := exit.Why; err == nil && got != x.want || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%d executors, %q: got %q, %v, want %q", len(x.placed), x.executor, got, err, x.want)
		}
	}
	if err := (placed{fargate, lambda}).Stop(t.Context(), nil); err == nil || err.Error() != "fargate" {
		t.Errorf("a command is stopped by %v, which does not know its machine", err)
	}
}
