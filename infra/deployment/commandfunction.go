package deployment

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/settings"
)

//go:embed commandfunction/handler.py
var commandHandler []byte

// commandFunctionFolder is the folder, below the folder of built programs, with the contents of the command function:
// its handler and cmd/runner.
const commandFunctionFolder = "commandfunction"

// The resources of the function: a command may take a minute less (package sandbox), and the disk holds archives,
// workspaces and the output of commands.
const (
	commandFunctionTime = 10 * 60 // seconds
	commandFunctionDisk = 2048    // MiB
)

// buildCommandFunction assembles the command function.
func buildCommandFunction(s settings.Settings, assets string) error {
	folder := filepath.Join(assets, commandFunctionFolder)
	if err := build("zerodag/cmd/runner", filepath.Join(folder, "runner"), s.CommandArchitecture); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "handler.py"), commandHandler, 0o644); err != nil { // #nosec G306 -- it is part of a public image, and the function runs as another user
		return fmt.Errorf("write the command function: %w", err)
	}
	return nil
}

// createCommandFunction creates the function that runs commands, if it is enabled. The function may only write its log,
// and gets no settings, because users' programs run in it.
func (d *Deployment) createCommandFunction() {
	if !d.CommandFunction {
		return
	}
	logs := awslogs.NewLogGroup(d.scope, jsii.String("CommandFunctionLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/zerodag/" + d.Stage + "/commands"), Retention: d.retention(), EncryptionKey: d.key, RemovalPolicy: awscdk.RemovalPolicy_DESTROY})
	role := awsiam.NewRole(d.scope, jsii.String("CommandFunctionRole"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil)})
	logs.GrantWrite(role)
	architecture := awslambda.Architecture_X86_64()
	if d.CommandArchitecture == "arm64" {
		architecture = awslambda.Architecture_ARM_64()
	}
	d.callee = awslambda.NewFunction(d.scope, jsii.String("CommandFunction"), &awslambda.FunctionProps{
		FunctionName:         d.name("commands"),
		Runtime:              awslambda.Runtime_PYTHON_3_13(),
		Architecture:         architecture,
		Handler:              jsii.String("handler.handler"),
		Code:                 awslambda.Code_FromAsset(jsii.String(filepath.Join(d.assets, commandFunctionFolder)), nil),
		Timeout:              seconds(commandFunctionTime),
		MemorySize:           jsii.Number(d.CommandFunctionMemory),
		EphemeralStorageSize: awscdk.Size_Mebibytes(jsii.Number(commandFunctionDisk)),
		Role:                 role,
		LogGroup:             logs,
	})
}

// onCommandFunction returns the command function, or nothing if there is none.
func onCommandFunction(d *Deployment) []*string {
	if d.callee == nil {
		return nil
	}
	return []*string{d.callee.FunctionArn()}
}
