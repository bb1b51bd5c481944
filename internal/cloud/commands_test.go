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
// chosen, and that what the deployment lacks is one clear error.
func TestPlaced(t *testing.T) {
	t.Parallel()
	with := func(names ...string) operators.Commands {
		p := newPlaced()
		for _, name := range names {
			p.add(name, named(name))
		}
		return p
	}
	for _, x := range []struct {
		placed         operators.Commands
		executor, want string
	}{
		{with("fargate", "lambda"), "", "fargate"},
		{with("fargate", "lambda"), "fargate", "fargate"},
		{with("fargate", "lambda"), "lambda", "lambda"},
		{with("lambda"), "", "lambda"},
		{with("lambda"), "fargate", "executor fargate is not in this deployment: it has lambda (deploy with -c commands=fargate)"},
		{with("fargate"), "lambda", "deploy with -c commandFunction=true"},
		{with("fargate", "lambda"), "docker", "executor docker is not in this deployment: it has fargate and lambda"},
	} {
		exit, err := x.placed.Run(t.Context(), operators.Command{Sandbox: operators.Sandbox{Executor: x.executor}})
		if got := exit.Why; err == nil && got != x.want || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: got %q, %v, want %q", x.executor, got, err, x.want)
		}
	}
	if err := with("fargate", "lambda").Stop(t.Context(), nil); err == nil || err.Error() != "fargate" {
		t.Errorf("a command is stopped by %v, which does not know its machine", err)
	}
}
