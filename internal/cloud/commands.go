package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/env"
	"zerodag/internal/fargate"
	"zerodag/internal/host"
	"zerodag/internal/lambda"
	"zerodag/internal/s3"
	"zerodag/internal/sandbox"
	"zerodag/operators"
)

// sandbox makes what runs commands, if the deployment has a place for them.
func (e *Engine) sandbox(account aws.Config, c env.Commands, links s3.Links, secrets host.Secrets) *sandbox.Service {
	if c.Cluster == "" {
		return nil
	}
	return sandbox.New(sandbox.Options{
		Commands: e.DB.Commands(), Runners: e.DB, Links: links, Secrets: secrets.ProjectSecrets, Logger: e.Logger,
		Launcher: fargate.New(account, fargate.Options{Stage: e.Config.Stage, Cluster: c.Cluster, Subnets: c.Subnets, SecurityGroups: c.SecurityGroups,
			PublicIP: c.PublicIP, ExecutionRole: c.ExecutionRole, Roles: c.Roles, LogGroup: c.LogGroup, Architecture: c.Architecture, URL: c.URL, SHA256: c.Program.SHA256}),
		Default: sandbox.Class{Image: c.Image, CPU: c.CPU, Memory: c.Memory, Spot: c.Spot},
		Program: func(ctx context.Context) (string, error) { return links.Object(ctx, c.Program.Bucket, c.Program.Key) },
		Attempt: e.DB.Attempt,
		Wake:    e.Wake,
	})
}

// function makes what runs commands on a function, if the deployment has one.
func (e *Engine) function(account aws.Config, c env.Function, links s3.Links) *sandbox.Function {
	if c.Name == "" {
		return nil
	}
	service := sandbox.New(sandbox.Options{Commands: e.DB.Commands(), Links: links, Logger: e.Logger, Attempt: e.DB.Attempt, Wake: e.Wake})
	return &sandbox.Function{Service: service, Caller: lambda.New(account, c.Name), Memory: c.Memory}
}

// commands runs the commands of one run of a task.
func (e *Engine) commands(id operators.Identity, archive string) operators.Commands {
	p := placed{}
	if e.Sandbox != nil {
		p = append(p, place{operators.OnFargate, e.Sandbox.For(id, archive)})
	}
	if e.Function != nil {
		p = append(p, place{operators.OnLambda, e.Function.For(id, archive)})
	}
	if len(p) == 0 {
		return noCommands{}
	}
	return p
}

// prepare launches a machine for a command that is near.
func (e *Engine) prepare(ctx context.Context, id operators.Identity, s operators.Sandbox) {
	if e.Sandbox != nil {
		e.Sandbox.Prepare(ctx, id, s)
	}
}

// placed are the executors that the deployment has; commands that name none have the first.
type placed []place

type place struct {
	name string
	operators.Commands
}

func (p placed) Run(ctx context.Context, c operators.Command) (operators.Exit, error) {
	var names []string
	for _, x := range p {
		if c.Sandbox.Executor == x.name || c.Sandbox.Executor == "" {
			return x.Run(ctx, c)
		}
		names = append(names, x.name)
	}
	if c.Sandbox.Executor == operators.OnLambda {
		return operators.Exit{}, param.Errorf("sandbox: the executor lambda is not to be had in this deployment: use %s, or deploy with -c commandFunction=true", strings.Join(names, ", "))
	}
	return operators.Exit{}, param.Errorf("sandbox: the executor %s is not to be had in this deployment: use %s", c.Sandbox.Executor, strings.Join(names, ", "))
}

// Stop ends a command wherever it is: the first one finds its row, and what belongs to it.
func (p placed) Stop(ctx context.Context, status *param.Map) error { return p[0].Stop(ctx, status) }

// noCommands refuses commands: there is no shell in a function.
type noCommands struct{}

func (noCommands) Run(context.Context, operators.Command) (operators.Exit, error) {
	return operators.Exit{}, operators.Failf("commands (sh>, py>, rb>) have no place to run in this deployment: deploy with -c commands=fargate or -c commandFunction=true")
}

func (noCommands) Stop(context.Context, *param.Map) error { return nil }

// machineEnded tells the sandbox of a machine that has ended, as ECS says; false when the
// event is about something else.
func (e *Engine) machineEnded(ctx context.Context, payload json.RawMessage) (bool, error) {
	var call struct {
		Source string          `json:"source"`
		Detail json.RawMessage `json:"detail"`
	}
	if err := json.Unmarshal(payload, &call); err != nil || call.Source != "aws.ecs" {
		return false, nil //nolint:nilerr // whoever reads the payload next says what is wrong with it
	}
	s, ended, err := fargate.ParseEvent(call.Detail)
	if err != nil || !ended || e.Sandbox == nil {
		return true, err
	}
	return true, e.Sandbox.Stopped(ctx, s.Runner, s.Why, s.Ending)
}

// machinesMessage begins the ids of messages that have an agent look after the machines of
// commands between two ticks: one that is silent is to be noticed within a minute.
const machinesMessage = "machines/"

// checkMachines looks after the machines of commands, and has it done again before the next tick
// while there are some.
func (e *Engine) checkMachines(ctx context.Context) error {
	n, err := e.lookAfterMachines(ctx)
	if err != nil || n == 0 {
		return err
	}
	var list []host.Message
	for _, after := range []time.Duration{20 * time.Second, 40 * time.Second} {
		due := time.Now().Add(after)
		list = append(list, host.Message{ID: fmt.Sprint(machinesMessage, due.Unix()), Body: events.EncodeTask(events.Task{}), Due: due})
	}
	if err := e.Tasks.Send(ctx, list...); err != nil {
		return fmt.Errorf("have machines looked after: %w", err)
	}
	return nil
}

// lookAfterMachines does so once, and says how many there were.
func (e *Engine) lookAfterMachines(ctx context.Context) (n int, err error) {
	if e.Sandbox == nil {
		return 0, nil
	}
	if n, err = e.Sandbox.Check(ctx); err != nil {
		return n, fmt.Errorf("look after machines: %w", err)
	}
	return n, nil
}
