package cloud

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/engine/param"
	"zerodag/internal/egress"
	"zerodag/internal/sandbox"
	"zerodag/operators"
)

// named is an executor whose commands return the executor's name.
type named string

func (n named) Run(context.Context, operators.Command) (operators.Exit, error) {
	return operators.Exit{Why: string(n)}, nil
}

func (n named) Stop(context.Context, *param.Map) error { return errors.New(string(n)) }

// TestPlaced proves that a command runs in the executor that its task names, otherwise in the deployment's default, and
// that an executor that the deployment lacks causes a clear error.
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
		{with("fargate"), "microvm", "deploy with -c microvms=allowed"},
		{with("fargate", "microvm"), "microvm", "microvm"},
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

// TestRunnersEvent proves that the service for machines answers a machine's request that comes through API Gateway, and
// that a deployment without that service has no handler.
func TestRunnersEvent(t *testing.T) {
	t.Parallel()
	payload := called(t, "runners", nil)
	with := &Engine{Sandbox: sandbox.New(sandbox.Options{Keys: &sandbox.Keyring{Read: func(context.Context) (string, error) { return sandbox.NewKey(), nil }}})}
	for want, e := range map[int]*Engine{http.StatusGone: with, http.StatusNotFound: {}} {
		a, err := e.Runners()(t.Context(), payload)
		if response, ok := a.(events.APIGatewayV2HTTPResponse); err != nil || !ok || response.StatusCode != want {
			t.Errorf("%+v, %v, want %d", a, err, want)
		}
	}
}

// TestNetwork proves that a task on AWS can reach neither its function's machine nor a metadata service.
func TestNetwork(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	own := listener.Addr().String()
	elsewhere := "https://192.0.2.1:8000"
	for _, account := range []aws.Config{{}, {BaseEndpoint: &elsewhere}} {
		for _, address := range []string{own, strings.Replace(own, "127.0.0.1", "localhost", 1), "169.254.169.254:80", "169.254.170.2:80", "[fd00:ec2::254]:80"} {
			c, err := network(account).DialContext(t.Context(), "tcp", address)
			var refused *egress.Refused
			if !errors.As(err, &refused) {
				t.Errorf("%s: %v, %v", address, c, err)
			}
		}
	}
	for _, here := range []string{"http://127.0.0.1:4566", "http://localhost:4566"} {
		if n := network(aws.Config{BaseEndpoint: &here}); n != nil {
			t.Errorf("%s: %v", here, n)
		}
	}
}
