package fargate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"zerodag/engine/param"
	"zerodag/internal/border"
	"zerodag/internal/sandbox"
)

// Options are the settings of a Launcher.
type Options struct {
	Stage          string
	Cluster        string // ARN or name
	Subnets        []string
	SecurityGroups []string
	PublicIP       bool
	ExecutionRole  string                                      // ARN: the role pulls images and writes runners' logs
	Allows         func(site int64, project, role string) bool // reports whether a project's commands may have the role; nil: never
	LogGroup       string
	Architecture   string // "x86_64" or "arm64"
	URL            string // the URL of the API
	SHA256         string // the digest of the runner program, in hex
	FetchImage     string // the image of the container that downloads the program, with sh, wget and sha256sum; "" means a public one
	Spot           bool   // the cluster has the capacity provider of Fargate Spot
	// Tags are added to every machine and task definition. Machines also get the site and project whose commands they
	// run.
	Tags map[string]string
}

// Launcher is a sandbox.Launcher. It is safe for concurrent use.
type Launcher struct {
	Options
	client *ecs.Client
	region string

	mu    sync.Mutex
	known map[string]string // ARNs of task definitions by family
}

// New returns a Launcher for an existing cluster.
func New(c aws.Config, o Options) *Launcher {
	client := ecs.NewFromConfig(border.Answered(c), func(e *ecs.Options) { e.Retryer = border.Retryer(3) }) // throttled calls are retried later
	if o.FetchImage == "" {
		o.FetchImage = fetchImage
	}
	return &Launcher{Options: o, client: client, region: c.Region, known: map[string]string{}}
}

// Check refuses a role that the task's project may not have, and Spot if the cluster has none. The error names no other
// role, because roles of other projects do not concern the caller.
func (l *Launcher) Check(class sandbox.Class, of sandbox.Owner) error {
	if class.Spot && !l.Spot {
		return param.Errorf("sandbox: spot: true is not possible in this deployment (set allowSpot: true in the file of the stage)")
	}
	if class.Role == "" || l.Allows != nil && l.Allows(of.Site, of.Project, class.Role) {
		return nil
	}
	return param.Errorf("sandbox: role %s is not allowed for project %s of site %d: this deployment does not list it for them (taskRoles in the file of the stage)", class.Role, of.Project, of.Site)
}

// Launch runs a task for a runner. A repeated call returns the same task.
func (l *Launcher) Launch(ctx context.Context, r sandbox.Runner, ticket string) (string, error) {
	definition, err := l.definition(ctx, r.Of)
	if err != nil {
		return "", err
	}
	in := l.task(r, definition, ticket)
	out, err := l.client.RunTask(ctx, in)
	if err != nil {
		return "", refusal(r, err)
	}
	for _, f := range out.Failures {
		return "", fmt.Errorf("%w: %s", sandbox.ErrBusy, strings.TrimSpace(aws.ToString(f.Reason)+" "+aws.ToString(f.Detail)))
	}
	if len(out.Tasks) == 0 {
		return "", fmt.Errorf("%w: ECS returned no task", sandbox.ErrBusy)
	}
	return aws.ToString(out.Tasks[0].TaskArn), nil
}

// task returns the request, which is always the same for a runner because its client token requires that. Anyone who
// may describe tasks or who receives their events can read its content: it therefore contains a ticket that is valid
// for one exchange, and no machine token.
func (l *Launcher) task(r sandbox.Runner, definition, ticket string) *ecs.RunTaskInput {
	token := sha256.Sum256([]byte(r.Name()))
	public := types.AssignPublicIpDisabled
	if l.PublicIP {
		public = types.AssignPublicIpEnabled
	}
	in := &ecs.RunTaskInput{
		Cluster: &l.Cluster, TaskDefinition: &definition, Count: aws.Int32(1),
		ClientToken: aws.String(hex.EncodeToString(token[:16])), StartedBy: aws.String(r.Name()), Group: aws.String("zerodag-" + l.Stage),
		NetworkConfiguration: &types.NetworkConfiguration{AwsvpcConfiguration: &types.AwsVpcConfiguration{
			Subnets: l.Subnets, SecurityGroups: l.SecurityGroups, AssignPublicIp: public}},
		Tags: l.tags(siteTag, strconv.FormatInt(r.Site, 10), projectTag, strconv.FormatInt(r.Project, 10)), EnableECSManagedTags: true,
		Overrides: &types.TaskOverride{ContainerOverrides: []types.ContainerOverride{
			{Name: aws.String(fetcher), Environment: variables("PROGRAM", l.URL+sandbox.HandlerPath+"program?token="+ticket)},
			{Name: aws.String(command), Environment: variables("ZERODAG_URL", l.URL, "ZERODAG_TICKET", ticket,
				"ZERODAG_SLOTS", strconv.Itoa(r.Of.Slots()), "ZERODAG_IMAGE", r.Of.Image)},
		}},
	}
	if r.Of.Spot {
		in.CapacityProviderStrategy = []types.CapacityProviderStrategyItem{{CapacityProvider: aws.String("FARGATE_SPOT"), Weight: 1}}
	} else {
		in.LaunchType = types.LaunchTypeFargate
	}
	return in
}

// These tags split the bill for machines by stage, site and project.
const (
	stageTag   = "zerodag-stage"
	siteTag    = "zerodag-site"
	projectTag = "zerodag-project"
)

// tags returns the tags of the stage and the given pairs of name and value. They are sorted, because a retried request
// must be identical.
func (l *Launcher) tags(pairs ...string) []types.Tag {
	all := map[string]string{stageTag: l.Stage}
	maps.Copy(all, l.Tags)
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	var list []types.Tag
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, types.Tag{Key: aws.String(name), Value: aws.String(all[name])})
	}
	return list
}

func variables(pairs ...string) []types.KeyValuePair {
	var list []types.KeyValuePair
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, types.KeyValuePair{Name: &pairs[i], Value: &pairs[i+1]})
	}
	return list
}

// refusal returns an error that shows whether a launch should be retried later, or why it can never succeed.
func refusal(r sandbox.Runner, err error) error {
	err = busy(border.Translate("launch a machine", err, "ThrottlingException", "LimitExceededException", "UpdateInProgressException", "ConflictException"))
	if !errors.Is(err, sandbox.ErrBusy) && isMistake(err) {
		return param.Errorf("Fargate cannot run the image %s: %v", r.Of.Image, err)
	}
	return err
}

// busy marks an error as temporary if a later request may succeed.
func busy(err error) error {
	if isRefusal(err.Error()) {
		return fmt.Errorf("%w: %w", sandbox.ErrBusy, err)
	}
	return err
}

// isMistake reports whether ECS considers the request invalid. It also does so for some temporary conditions: see
// isRefusal.
func isMistake(err error) bool {
	code := border.Code(err)
	return code == "ClientException" || code == "InvalidParameterException"
}

// isRefusal reports whether a reason is temporary: no capacity, an account limit, or a conflicting request from another
// caller.
func isRefusal(reason string) bool {
	return slices.ContainsFunc([]string{"ThrottlingException", "LimitExceeded", "UpdateInProgress", "ConflictException", "apacity", "imit on the number", "oncurrent"},
		func(word string) bool { return strings.Contains(reason, word) })
}

// Stop asks a runner's task to stop.
func (l *Launcher) Stop(ctx context.Context, r sandbox.Runner, why string) error {
	task, err := l.taskOf(ctx, r)
	if err != nil || task == "" {
		return err
	}
	_, err = l.client.StopTask(ctx, &ecs.StopTaskInput{Cluster: &l.Cluster, Task: &task, Reason: aws.String(why[:min(len(why), 255)])})
	if border.Code(err) == "InvalidParameterException" { // ECS has forgotten it
		return nil
	}
	return border.Translate("stop machine "+task, err)
}
