package main

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
)

//go:embed commandfunction/handler.py
var commandHandler []byte

// commandFunctionFolder is what the function of commands consists of, below the folder of
// built programs: its handler, and cmd/runner.
const commandFunctionFolder = "commandfunction"

// What the function has: a command may take a minute less (package sandbox), and the disk
// holds archives, workspaces and what commands write.
const (
	commandFunctionTime = 10 * 60 // seconds
	commandFunctionDisk = 2048    // MiB
)

// buildCommandFunction puts the function of commands together.
func buildCommandFunction(s settings) error {
	if !s.CommandFunction {
		return nil
	}
	folder := filepath.Join(s.Assets, commandFunctionFolder)
	if err := build("./cmd/runner", filepath.Join(folder, "runner"), goArchitecture(s.CommandArchitecture)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "handler.py"), commandHandler, 0o644); err != nil { // #nosec G306 -- it is part of a public image, and the function runs as another user
		return fmt.Errorf("write the function of commands: %w", err)
	}
	return nil
}

// createCommandFunction makes the function that runs commands, if there is to be one. It may
// write its log and nothing else, and is told nothing: users' programs run in it.
func (z *stack) createCommandFunction() {
	if !z.CommandFunction {
		return
	}
	logs := awslogs.NewLogGroup(z.Stack, jsii.String("CommandFunctionLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/zerodag/" + z.Stage + "/commands"), Retention: awslogs.RetentionDays_ONE_MONTH, RemovalPolicy: awscdk.RemovalPolicy_DESTROY})
	role := awsiam.NewRole(z.Stack, jsii.String("CommandFunctionRole"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil)})
	logs.GrantWrite(role)
	architecture := awslambda.Architecture_X86_64()
	if z.CommandArchitecture == "arm64" {
		architecture = awslambda.Architecture_ARM_64()
	}
	z.callee = awslambda.NewFunction(z.Stack, jsii.String("CommandFunction"), &awslambda.FunctionProps{
		FunctionName:         z.name("commands"),
		Runtime:              awslambda.Runtime_PYTHON_3_13(),
		Architecture:         architecture,
		Handler:              jsii.String("handler.handler"),
		Code:                 awslambda.Code_FromAsset(jsii.String(filepath.Join(z.Assets, commandFunctionFolder)), nil),
		Timeout:              seconds(commandFunctionTime),
		MemorySize:           jsii.Number(z.FunctionMemory),
		EphemeralStorageSize: awscdk.Size_Mebibytes(jsii.Number(commandFunctionDisk)),
		Role:                 role,
		LogGroup:             logs,
	})
}

// onCommandFunction is the function of commands; nothing when there is none.
func onCommandFunction(z *stack) []*string {
	if z.callee == nil {
		return nil
	}
	return []*string{z.callee.FunctionArn()}
}
