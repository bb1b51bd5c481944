package cloud

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/engine/param"
	"zerodag/internal/env"
	"zerodag/internal/fargate"
	"zerodag/internal/host"
	"zerodag/internal/lambda"
	"zerodag/internal/microvm"
	"zerodag/internal/notice"
	"zerodag/internal/placement"
	"zerodag/internal/s3"
	"zerodag/internal/sandbox"
	"zerodag/internal/sns"
	"zerodag/internal/ssm"
	"zerodag/operators"
)

// sandbox creates the service that runs commands, if the deployment has a place for them.
func (e *Engine) sandbox(account aws.Config, c env.Commands, links s3.Links, secrets host.Secrets) *sandbox.Service {
	if c.Cluster == "" {
		return nil
	}
	keys := ssm.NewParameter(account, c.Keys, e.Config.Key)
	places := sandbox.Places{"": fargate.New(account, fargate.Options{Stage: e.Config.Stage, Cluster: c.Cluster, Subnets: c.Subnets, SecurityGroups: c.SecurityGroups,
		PublicIP: c.PublicIP, ExecutionRole: c.ExecutionRole, Allows: c.Allows, LogGroup: c.LogGroup, Architecture: c.Architecture, URL: c.URL, SHA256: c.Program.SHA256,
		FetchImage: c.FetchImage, Tags: c.Tags, Spot: c.Spot || c.AllowSpot})}
	if c.Microvms.Image != "" {
		places[operators.OnMicrovm] = microvm.New(account, microvm.Options{Image: c.Microvms.Image, Connector: c.Microvms.Connector, URL: c.URL})
	}
	return sandbox.New(sandbox.Options{
		Commands: e.DB.Commands(), Work: e.DB.Commands(), Runners: e.DB.Runners(), Liveness: e.DB.Runners(), Fences: e.DB.Runners(), Links: links, Secrets: secrets.ProjectSecrets, Logger: e.Logger,
		Launcher: places, Microvm: microvmClass(c.Microvms.Memory),
		Keys: &sandbox.Keyring{Read: keys.Read, Make: keys.Make}, Alarm: e.alarm(account),
		Default: sandbox.Class{Image: c.Image, CPU: c.CPU, Memory: c.Memory, Spot: c.Spot},
		Program: func(ctx context.Context) (string, error) { return links.Object(ctx, c.Program.Bucket, c.Program.Key) },
		Attempt: e.DB.Attempt,
		Wake:    e.Wake,
	})
}

// microvmClass returns the class of commands in MicroVMs with a given memory baseline in MiB: Lambda lets them use four
// times as much, with a vCPU for every 2 GiB (docs/adr/0055-lambda-microvms.md).
func microvmClass(baseline int) sandbox.Class {
	most := 4 * baseline
	return sandbox.Class{Image: "microvm", CPU: most / 2, Memory: most, On: operators.OnMicrovm}
}

// alarm returns a function that notifies users through the notice topic; nil if there is no topic.
func (e *Engine) alarm(account aws.Config) func(context.Context, string) error {
	if e.Config.Topic == "" {
		return nil
	}
	topic := sns.New(account, sns.Options{ARN: e.Config.Topic, Stage: e.Config.Stage})
	return func(ctx context.Context, text string) error {
		_, err := topic.Send(ctx, notice.Fields(host.Notice{Message: text}, time.Now()))
		return err
	}
}

// Runners returns the handler of the function that serves the machines that run commands.
func (e *Engine) Runners() func(context.Context, json.RawMessage) (any, error) {
	handler := http.NotFoundHandler()
	if e.Sandbox != nil {
		handler = e.Sandbox.Handler()
	}
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		defer e.measure("runners")()
		c, err := readCall(ctx, payload)
		if err != nil {
			return nil, err
		}
		return e.answer(handler, c, c.request), nil
	}
}

// function creates the service that runs commands on a function, if the deployment has one.
func (e *Engine) function(account aws.Config, c env.Function, links s3.Links) *sandbox.Function {
	if c.Name == "" {
		return nil
	}
	service := sandbox.New(sandbox.Options{Commands: e.DB.Commands(), Links: links, Logger: e.Logger, Attempt: e.DB.Attempt, Wake: e.Wake})
	return &sandbox.Function{Service: service, Caller: lambda.New(account, c.Name), Memory: c.Memory}
}

// commands returns the executor for the commands of one task run.
func (e *Engine) commands(id operators.Identity, archive string) operators.Commands {
	if p := e.placed(id, archive); len(p.in) > 0 {
		return p
	}
	return noCommands{}
}

// placed returns the executors for one run of a task.
func (e *Engine) placed(id operators.Identity, archive string) *placed {
	p := newPlaced()
	if e.Sandbox != nil {
		p.add(operators.OnFargate, e.Sandbox.For(id, archive))
	}
	if e.Function != nil {
		p.add(operators.OnLambda, e.Function.For(id, archive))
	}
	if vms := e.Config.Commands.Microvms; e.Sandbox != nil && vms.Image != "" {
		p.add(operators.OnMicrovm, e.Sandbox.Microvms(id, archive))
		if vms.Default {
			p.table.Default, p.table.Machines = operators.OnMicrovm, operators.OnFargate
		}
	}
	return p
}

// prewarm launches a machine for a command that will run soon. MicroVMs start too fast to need that.
func (e *Engine) prewarm(ctx context.Context, id operators.Identity, s operators.Sandbox) {
	if name, err := e.placed(id, "").table.Choose(s); e.Sandbox != nil && err == nil && name == operators.OnFargate {
		e.Sandbox.Prepare(ctx, id, s)
	}
}

// placed holds the deployment's executors; a command that names none uses the first.
type placed struct {
	table placement.Table
	in    map[string]operators.Commands
}

func newPlaced() *placed {
	return &placed{in: map[string]operators.Commands{}, table: placement.Table{Place: "in this deployment",
		Hints: map[string]string{operators.OnLambda: "deploy with -c commandFunction=true", operators.OnFargate: "deploy with -c commands=fargate",
			operators.OnMicrovm: "deploy with -c microvms=allowed"}}}
}

func (p *placed) add(name string, c operators.Commands) {
	if p.table.Default == "" {
		p.table.Default = name
	}
	p.table.Known = append(p.table.Known, name)
	p.table.Allowed = p.table.Known
	p.in[name] = c
}

// Run implements operators.Commands.
func (p *placed) Run(ctx context.Context, c operators.Command) (operators.Exit, error) {
	name, err := p.table.Choose(c.Sandbox)
	if err != nil {
		return operators.Exit{}, err
	}
	return p.in[name].Run(ctx, c)
}

// Stop ends a command wherever it runs: the first executor finds its row and everything that goes with it.
func (p *placed) Stop(ctx context.Context, status *param.Map) error {
	return p.in[p.table.Default].Stop(ctx, status)
}

// noCommands refuses commands, because a function has no shell.
type noCommands struct{}

func (noCommands) Run(context.Context, operators.Command) (operators.Exit, error) {
	return operators.Exit{}, operators.Failf("this deployment cannot run commands (sh>, py>, rb>): deploy with -c commands=fargate or -c commandFunction=true")
}

func (noCommands) Stop(context.Context, *param.Map) error { return nil }

// machineEnded notifies the sandbox that, according to ECS, a machine has ended; it returns false if the event is about
// something else.
func (e *Engine) machineEnded(ctx context.Context, payload json.RawMessage) (bool, error) {
	var call struct {
		Source string          `json:"source"`
		Detail json.RawMessage `json:"detail"`
	}
	if err := json.Unmarshal(payload, &call); err != nil || call.Source != "aws.ecs" {
		return false, nil //nolint:nilerr // the next reader of the payload reports what is wrong with it
	}
	s, ended, err := fargate.ParseEvent(call.Detail)
	if err != nil || !ended || e.Sandbox == nil {
		return true, err
	}
	return true, e.Sandbox.Stopped(ctx, s.Runner, s.Why, s.Ending)
}

// lookAfterMachines checks the machines once.
func (e *Engine) lookAfterMachines(ctx context.Context) error {
	if e.Sandbox == nil {
		return nil
	}
	_, err := e.Sandbox.Check(ctx)
	return err
}
