// Command example is a user's own CDK app, into whose stack a deployment of zerodag is embedded along with other
// resources: a bucket whose new objects start a workflow.
//
// In your own module, `go get` zerodag, or name a checkout of it in a replace line of go.mod, run `make assets` in it
// once, and write {"app": "go run ."} into cdk.json.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/deployment"
	"zerodag/infra/settings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

func run() error {
	defer jsii.Close()
	const assets = "bin/functions"
	s := flows()
	if err := deployment.Build(s, assets); err != nil {
		return err
	}
	app := awscdk.NewApp(nil)
	// An account and a region make the names of the stores literal, so that CloudFormation can import them.
	env := &awscdk.Environment{Account: text("CDK_DEFAULT_ACCOUNT"), Region: text("CDK_DEFAULT_REGION")}
	if err := addWarehouse(app, env, s, assets); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}

func text(variable string) *string {
	if value := os.Getenv(variable); value != "" {
		return &value
	}
	return nil
}

// flows returns the settings of the deployment: the defaults with a few changes.
func flows() settings.Settings {
	s := settings.Default("warehouse")
	s.Agents, s.AlarmEmail = 20, "data@example.com"
	return s
}

// addWarehouse creates the stack: a bucket, the deployment, and the rule between them.
func addWarehouse(app awscdk.App, env *awscdk.Environment, s settings.Settings, assets string) error {
	stack := awscdk.NewStack(app, jsii.String("Warehouse"), &awscdk.StackProps{Env: env})
	incoming := awss3.NewBucket(stack, jsii.String("Incoming"), &awss3.BucketProps{EventBridgeEnabled: jsii.Bool(true), EnforceSSL: jsii.Bool(true)})

	d, err := deployment.New(constructs.NewConstruct(stack, jsii.String("Flows")), s, assets)
	if err != nil {
		return err
	}

	start := awsevents.RuleTargetInput_FromObject(map[string]any{
		"id": awsevents.EventField_EventId(), "time": awsevents.EventField_Time(), "project": "sales", "workflow": "load",
		"params": map[string]any{"key": awsevents.EventField_FromPath(jsii.String("$.detail.object.key"))}})
	awsevents.NewRule(stack, jsii.String("Load"), &awsevents.RuleProps{
		EventPattern: &awsevents.EventPattern{Source: jsii.Strings("aws.s3"), DetailType: jsii.Strings("Object Created"),
			Detail: &map[string]any{"bucket": map[string]any{"name": []*string{incoming.BucketName()}}}},
		Targets: &[]awsevents.IRuleTarget{awseventstargets.NewLambdaFunction(d.StartFunction(), &awseventstargets.LambdaFunctionProps{Event: start, DeadLetterQueue: d.StartsDead()})}})
	return nil
}
