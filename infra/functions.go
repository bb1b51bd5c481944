package main

import (
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"zerodag/internal/env"
)

// function is one of the programs in functions/, and what it may do.
type function struct {
	name      string
	timeout   int // seconds
	memory    int // MiB; 0 is the deployment's choice
	disk      int // MiB; 0 is Lambda's least
	loop      bool
	operators bool // runs some: it is in the VPC when there is one
	may       []right
}

// right is a set of actions on resources of the stack.
type right struct {
	actions []string
	on      func(*stack) []*string
}

// The things that rights are about.
func onTable(z *stack) []*string {
	return []*string{z.table.TableArn(), awscdk.Fn_Join(jsii.String(""), &[]*string{z.table.TableArn(), jsii.String("/index/*")})}
}
func onArchives(z *stack) []*string { return []*string{z.archives.ArnForObjects(jsii.String("*"))} }
func onKeys(prefixes ...string) func(*stack) []*string {
	return func(z *stack) []*string {
		var list []*string
		for _, p := range prefixes {
			list = append(list, z.archives.ArnForObjects(jsii.String(p+"*")))
		}
		return list
	}
}
func onArchiveList(z *stack) []*string {
	return []*string{z.archives.BucketArn()}
}
func onLogs(z *stack) []*string    { return []*string{z.logs.ArnForObjects(jsii.String("*"))} }
func onLogList(z *stack) []*string { return []*string{z.logs.BucketArn()} }
func onEvents(z *stack) []*string  { return []*string{z.events.live.QueueArn()} }
func onTasks(z *stack) []*string   { return []*string{z.tasks.live.QueueArn()} }
func onDead(z *stack) []*string    { return []*string{z.events.dead.QueueArn(), z.tasks.dead.QueueArn()} }
func onBus(z *stack) []*string     { return []*string{z.bus.EventBusArn()} }
func onTopic(z *stack) []*string   { return []*string{z.topic.TopicArn()} }
func onRunnerKeys(z *stack) []*string {
	return z.ofCommands(func(*commands) []*string {
		return []*string{z.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ssm"), Resource: jsii.String("parameter"), ResourceName: jsii.String(z.runnerKeys()[1:])})}
	})
}
func onSecrets(z *stack) []*string {
	return []*string{z.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ssm"), Resource: jsii.String("parameter"), ResourceName: jsii.String("zerodag/" + z.Stage + "/*")})}
}

// Sets of actions, each for one way of using a resource.
var (
	readTable   = []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"}
	writeTable  = []string{"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem", "dynamodb:ConditionCheckItem"}
	sendQueue   = []string{"sqs:SendMessage"}
	workQueue   = []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}
	readDead    = []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"}
	readSecrets = []string{"ssm:GetParametersByPath", "ssm:GetParameter"}
)

// unpackDisk is what a function has that unpacks archives: the largest has a gigabyte.
const unpackDisk = 2048

// functions are all programs. A function has the rights that its part of the work needs
// and no others: the API begins attempts and moves none on, so it neither receives messages nor
// writes logs.
func functions() []function {
	table := right{slices.Concat(readTable, writeTable), onTable}
	told := []right{{[]string{"events:PutEvents"}, onBus}, {[]string{"sns:Publish"}, onTopic}}
	redrive := []right{{readDead, onDead}, {sendQueue, onTasks}, {sendQueue, onEvents}}
	attempt := slices.Concat(told, []right{table,
		{[]string{"s3:GetObject", "s3:PutObject"}, onArchives}, {[]string{"s3:ListBucket"}, onArchiveList},
		{sendQueue, onTasks}, {sendQueue, onEvents},
		{[]string{"s3:PutObject"}, onLogs},
		{readSecrets, onSecrets}})
	return []function{
		{name: "api", timeout: 29, memory: 512, may: slices.Concat(redrive, []right{table,
			{[]string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"}, onArchives}, {[]string{"s3:ListBucket"}, onArchiveList},
			{[]string{"s3:GetObject", "s3:PutObject"}, onLogs}, {[]string{"s3:ListBucket"}, onLogList}, {[]string{"s3:GetObject"}, onProgram},
			{[]string{"ssm:PutParameter", "ssm:DeleteParameter", "ssm:DeleteParameters", "ssm:GetParameter", "ssm:GetParametersByPath"}, onSecrets}})},
		{name: "runners", timeout: 20, memory: 512, may: []right{table, {sendQueue, onEvents}, {[]string{"sns:Publish"}, onTopic},
			{[]string{"s3:GetObject"}, onKeys("archives/", "log/", "state/")}, {[]string{"s3:PutObject"}, onKeys("log/")}, {[]string{"s3:ListBucket"}, onArchiveList},
			{[]string{"s3:PutObject"}, onLogs}, {[]string{"s3:GetObject"}, onProgram}, {readSecrets, onSecrets}, {[]string{"ssm:GetParameter"}, onRunnerKeys}}},
		{name: "upload", timeout: 5 * 60, disk: unpackDisk, may: []right{table, {sendQueue, onTasks}, {[]string{"s3:ListBucket"}, onArchiveList},
			{[]string{"s3:GetObject"}, onKeys("slots/", "uploads/", "results/", "definitions/")},
			{[]string{"s3:PutObject"}, onKeys("archives/", "results/", "definitions/")}, {[]string{"s3:AbortMultipartUpload"}, onKeys("archives/")}}},
		{name: "tick", timeout: 55, memory: 512, may: slices.Concat(told, redrive, launch(), []right{table,
			{[]string{"s3:GetObject"}, onArchives}, {[]string{"s3:ListBucket"}, onArchiveList}})},
		{name: "executor", timeout: 30, loop: true, operators: true, may: slices.Concat(attempt, []right{{workQueue, onEvents}})},
		{name: "agent", timeout: 15 * 60, disk: unpackDisk, loop: true, operators: true, may: slices.Concat(attempt, launch(), []right{{workQueue, onTasks}, {[]string{"lambda:InvokeFunction"}, onCommandFunction}})},
	}
}

func (z *stack) createFunctions() {
	for _, f := range functions() {
		z.functions[f.name] = z.function(f)
	}
}

func (z *stack) function(f function) awslambda.Function {
	logs := awslogs.NewLogGroup(z.Stack, jsii.String(f.name+"Log"), &awslogs.LogGroupProps{
		LogGroupName:  jsii.String("/zerodag/" + z.Stage + "/" + f.name),
		Retention:     awslogs.RetentionDays_ONE_MONTH,
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	role := awsiam.NewRole(z.Stack, jsii.String(f.name+"Role"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil)})
	logs.GrantWrite(role)
	for _, r := range f.may {
		resources := r.on(z)
		if len(resources) == 0 {
			continue // there is no such thing in this deployment
		}
		p := &awsiam.PolicyStatementProps{Actions: jsii.Strings(r.actions...), Resources: &resources}
		if slices.Contains(r.actions, "iam:PassRole") {
			p.Conditions = &map[string]any{"StringEquals": map[string]any{"iam:PassedToService": "ecs-tasks.amazonaws.com"}} // #nosec G101 -- it names a condition of IAM, not a credential
		}
		if slices.Contains(r.actions, listTasks) {
			p.Conditions = &map[string]any{"ArnEquals": map[string]any{"ecs:cluster": z.commands.cluster.AttrArn()}}
		}
		role.AddToPolicy(awsiam.NewPolicyStatement(p))
	}
	inside := f.operators && z.VPC != ""
	if inside {
		z.allowNetwork(role, z.name(f.name))
	}
	architecture := awslambda.Architecture_ARM_64()
	if z.Architecture == "x86_64" {
		architecture = awslambda.Architecture_X86_64()
	}
	memory := f.memory
	if memory == 0 {
		memory = z.Memory
	}
	loop := awslambda.RecursiveLoop_TERMINATE
	if f.loop { // Lambda would end every attempt of more than 16 hops; our limits are the guard
		loop = awslambda.RecursiveLoop_ALLOW
	}
	var disk awscdk.Size
	if f.disk != 0 {
		disk = awscdk.Size_Mebibytes(jsii.Number(f.disk))
	}
	made := awslambda.NewFunction(z.Stack, jsii.String(f.name), &awslambda.FunctionProps{
		FunctionName:         z.name(f.name),
		Runtime:              awslambda.Runtime_PROVIDED_AL2023(),
		Architecture:         architecture,
		Handler:              jsii.String("bootstrap"),
		Code:                 awslambda.Code_FromAsset(jsii.String(z.Assets+"/"+f.name), nil),
		Timeout:              seconds(f.timeout),
		MemorySize:           jsii.Number(memory),
		EphemeralStorageSize: disk,
		RecursiveLoop:        loop,
		Role:                 role,
		LogGroup:             logs,
		Environment:          z.environment(),
	})
	if inside {
		z.place(made)
	}
	return made
}

// environment is what internal/env reads.
func (z *stack) environment() *map[string]*string {
	c := env.Config{
		Stage: z.Stage, Table: *z.table.TableName(), Events: *z.events.live.QueueUrl(), Tasks: *z.tasks.live.QueueUrl(),
		Archives: *z.archives.BucketName(), Logs: *z.logs.BucketName(), Secrets: "/zerodag/" + z.Stage,
		DeadEvents: *z.events.dead.QueueUrl(), DeadTasks: *z.tasks.dead.QueueUrl(),
		Bus: *z.bus.EventBusName(), Topic: *z.topic.TopicArn(), Announce: z.Announce,
		Attempts: z.Attempts, TaskLimit: z.TaskLimit, Lease: time.Duration(z.Lease) * time.Second, SmallLogs: z.SmallLogs, Commands: z.commandSettings(),
	}
	if z.callee != nil {
		c.Commands.Function = env.Function{Name: *z.name("commands"), Memory: z.FunctionMemory}
	}
	variables := map[string]*string{}
	for name, value := range c.Variables() {
		variables[name] = jsii.String(value)
	}
	return &variables
}
