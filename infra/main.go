// Command infra is the CDK app: one stack with one deployment. `cdk synth`, `cdk diff` and `cdk deploy` run it; it
// first builds the functions' programs, and the files that they embed if these are missing.
//
// The context parameter stage names the stage, main by default, and stages/STAGE.yaml has the settings that differ from
// the defaults. Any setting may be overridden by a context parameter of its name. The resources of the deployment are
// in package deployment.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/deployment"
	"zerodag/infra/settings"
)

// stages is the folder of the settings files, and assets the folder in which programs are built.
const (
	stages = "stages"
	assets = "bin/functions"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		os.Exit(1)
	}
}

func run() error {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	s, err := settings.ReadContext(stages, given(app.Node()))
	if err != nil {
		return err
	}
	programs, done, err := build(app.Node(), s)
	if err != nil {
		return err
	}
	defer done()
	if _, err := newStack(app, s, programs); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}

// build builds the programs, and before that the files that they embed if these are missing. It returns the folder, and
// a function to call when the app is synthesized. For CDK commands that deploy nothing, it only puts placeholders
// there, so that a bootstrap or a removal does not have to wait minutes for programs.
func build(node constructs.Node, s settings.Settings) (folder string, done func(), err error) {
	if deploys(node) {
		err := deployment.Build(s, assets)
		if errors.Is(err, deployment.ErrNoAssets) {
			if err := makeAssets(); err != nil {
				return "", nil, err
			}
			err = deployment.Build(s, assets)
		}
		return assets, func() {}, err
	}
	if folder, err = os.MkdirTemp("", "zerodag-infra-"); err != nil {
		return "", nil, fmt.Errorf("create a folder for placeholders of programs: %w", err)
	}
	return folder, func() { os.RemoveAll(folder) }, deployment.Placeholders(folder)
}

// deploys reports whether the CDK command that runs this app uses its assets. The CDK's command line lists the stacks
// whose assets it needs: none for bootstrap, destroy and list.
func deploys(node constructs.Node) bool {
	stacks, ok := node.TryGetContext(jsii.String("aws:cdk:bundling-stacks")).([]any)
	return !ok || len(stacks) > 0
}

// makeAssets fetches and builds the files that the programs embed. It needs make and npm.
func makeAssets() error {
	fmt.Fprintln(os.Stderr, "infra: moment.js or the web console is not built yet: make assets")
	c := exec.Command("make", "--no-print-directory", "assets")
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%w: %w", deployment.ErrNoAssets, err)
	}
	return nil
}

// newStack creates the stack of a stage in the account and region of the cdk command.
func newStack(app awscdk.App, s settings.Settings, assets string) (awscdk.Stack, error) {
	props := awscdk.StackProps{StackName: jsii.String("zerodag-" + s.Stage), Description: jsii.String("zerodag: a workflow engine for the Digdag language"), Env: environment()}
	if s.Qualifier != settings.CDKQualifier { // otherwise the CDK's own ways to set a qualifier apply
		props.Synthesizer = awscdk.NewDefaultStackSynthesizer(&awscdk.DefaultStackSynthesizerProps{Qualifier: &s.Qualifier})
	}
	stack := awscdk.NewStack(app, jsii.String("Zerodag-"+s.Stage), &props)
	_, err := deployment.New(stack, s, assets)
	return stack, err
}

// environment returns the account and region of the credentials, or nil if there are none, for example for synth: then
// CloudFormation computes the names of buckets and cannot import them.
func environment() *awscdk.Environment {
	account, region := os.Getenv("CDK_DEFAULT_ACCOUNT"), os.Getenv("CDK_DEFAULT_REGION")
	if account == "" || region == "" {
		return nil
	}
	return &awscdk.Environment{Account: &account, Region: &region}
}

// given returns the context parameters of the cdk command, except flags and look-ups of the CDK itself, whose names
// contain a @ or a colon.
func given(node constructs.Node) map[string]string {
	all, _ := node.GetAllContext(nil).(map[string]any)
	parameters := map[string]string{}
	for name, value := range all {
		if settings.IsContext(name) {
			parameters[name] = fmt.Sprint(value)
		}
	}
	return parameters
}
