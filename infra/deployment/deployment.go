package deployment

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/settings"
)

// Deployment is one deployment. Each create method is in the file for its concern.
type Deployment struct {
	settings.Settings

	scope          constructs.Construct
	stack          awscdk.Stack
	assets         string      // folder of the built programs
	key            awskms.IKey // encrypts everything the stage stores; nil: AWS's own keys
	table          awsdynamodb.Table
	archives, logs awss3.IBucket
	ownArchives    awss3.Bucket
	events, tasks  queue
	starts         awssqs.Queue // events and schedules that could not be delivered to the tick
	bus            awsevents.EventBus
	topic          awssns.Topic
	functions      map[string]awslambda.Function
	minute         awslambda.IFunction // the tick in the form that is called each minute
	releases       []*release          // empty: a deploy changes everything at once
	latest         map[string]bool     // paths of resources that call $LATEST even if deploys are gradual
	scheduler      awsiam.Role         // of schedules that start workflows
	api            gateway
	commands       *commands          // nil: there are none
	callee         awslambda.Function // runs commands; nil: there is none
	microvm        awscdk.CfnResource // the image of MicroVMs; nil: there is none
	people         *people            // nil: users sign in elsewhere or only with tokens
}

// queue is a queue and its dead-letter queue.
type queue struct{ live, dead awssqs.Queue }

// New adds a deployment to a scope: a separate stack, or a construct in one of your stacks. The programs of the
// functions are in the folder assets, where Build puts them. Invalid settings cause an error.
func New(scope constructs.Construct, s settings.Settings, assets string) (*Deployment, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	d := &Deployment{Settings: s, scope: scope, stack: awscdk.Stack_Of(scope), assets: assets, functions: map[string]awslambda.Function{}, latest: map[string]bool{}}
	if s.VPC == settings.DefaultVPC && *awscdk.Token_IsUnresolved(d.stack.Region()) {
		return nil, errors.New("vpc: default is looked up in the account: the stack needs an environment (run the cdk command with credentials)")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tags)) {
		awscdk.Tags_Of(scope).Add(jsii.String(name), jsii.String(s.Tags[name]), nil)
	}
	if s.KMSKey != "" {
		d.key = awskms.Key_FromKeyArn(scope, jsii.String("Key"), jsii.String(s.KMSKey))
	}
	if s.Boundary != "" {
		awsiam.PermissionsBoundary_Of(scope).Apply(awsiam.ManagedPolicy_FromManagedPolicyName(scope, jsii.String("Boundary"), &s.Boundary))
	}
	d.createTable()
	d.createBuckets()
	d.createQueues()
	d.createBus()
	d.createNetwork()
	d.createEndpoint()
	d.createPeople()
	if err := d.createCommands(); err != nil {
		return nil, err
	}
	d.createCommandFunction()
	d.createMicrovms()
	if err := d.createFunctions(); err != nil {
		return nil, err
	}
	d.createTriggers()
	d.createUploadTrigger()
	d.createAPI()
	d.createReleases()
	d.createAlarms()
	d.createDashboard()
	d.createOutputs()
	return d, nil
}

// The parts of a deployment that the rest of an app uses.

// URL returns the address of the REST API.
func (d *Deployment) URL() *string {
	if at := d.api.address(); at != nil {
		return at
	}
	return jsii.String("https://" + d.Domain)
}

// Bus returns the bus on which events with the source zerodag.start start workflows and the progress of attempts is
// announced.
func (d *Deployment) Bus() awsevents.EventBus { return d.bus }

// Notices returns the topic of notices and alarms.
func (d *Deployment) Notices() awssns.Topic { return d.topic }

// StartsDead returns the queue for events that a rule or schedule could not deliver to StartFunction.
func (d *Deployment) StartsDead() awssqs.Queue { return d.starts }

// SchedulerRole returns the role for schedules of EventBridge Scheduler whose target is StartFunction.
func (d *Deployment) SchedulerRole() awsiam.Role { return d.scheduler }

// name returns the name of a resource that users search for.
func (d *Deployment) name(what string) *string { return jsii.String(resourceName(d.Stage, what)) }

func resourceName(stage, what string) string { return fmt.Sprintf("zerodag-%s-%s", stage, what) }

// keyARN returns the ARN of the stage's key, or nil if it has none.
func (d *Deployment) keyARN() *string {
	if d.key == nil {
		return nil
	}
	return d.key.KeyArn()
}
