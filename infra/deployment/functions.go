package deployment

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/settings"
	"zerodag/internal/env"
)

// function is one of the programs in functions/, and its rights.
type function struct {
	name      string
	timeout   int // seconds
	memory    int // MiB; 0: the deployment's setting
	disk      int // MiB; 0: Lambda's minimum
	loop      bool
	operators bool // runs operators, so it is in the VPC if there is one
	may       []right
}

// right is a set of actions on resources of the stack.
type right struct {
	actions []string
	on      func(*Deployment) []*string
}

// The resources that rights refer to.
func onTable(d *Deployment) []*string {
	return []*string{d.table.TableArn(), awscdk.Fn_Join(jsii.String(""), &[]*string{d.table.TableArn(), jsii.String("/index/*")})}
}
func onArchives(d *Deployment) []*string {
	return []*string{d.archives.ArnForObjects(jsii.String("*"))}
}
func onKeys(prefixes ...string) func(*Deployment) []*string {
	return func(d *Deployment) []*string {
		var list []*string
		for _, p := range prefixes {
			list = append(list, d.archives.ArnForObjects(jsii.String(p+"*")))
		}
		return list
	}
}
func onArchiveList(d *Deployment) []*string {
	return []*string{d.archives.BucketArn()}
}
func onLogs(d *Deployment) []*string    { return []*string{d.logs.ArnForObjects(jsii.String("*"))} }
func onLogList(d *Deployment) []*string { return []*string{d.logs.BucketArn()} }
func onEvents(d *Deployment) []*string  { return []*string{d.events.live.QueueArn()} }
func onTasks(d *Deployment) []*string   { return []*string{d.tasks.live.QueueArn()} }
func onDead(d *Deployment) []*string {
	return []*string{d.events.dead.QueueArn(), d.tasks.dead.QueueArn()}
}

// onSpans returns the resource of traces; IAM has no narrower one.
func onSpans(d *Deployment) []*string {
	if d.Traces != settings.XRay {
		return nil
	}
	return []*string{jsii.String("*")}
}
func onBus(d *Deployment) []*string   { return []*string{d.bus.EventBusArn()} }
func onTopic(d *Deployment) []*string { return []*string{d.topic.TopicArn()} }
func onRunnerKeys(d *Deployment) []*string {
	return d.ofCommands(func(*commands) []*string { return d.parameter(d.runnerKeys()) })
}

// parameter returns the parameter with the given name, or the parameters that match a pattern.
func (d *Deployment) parameter(name string) []*string {
	return []*string{d.stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ssm"), Resource: jsii.String("parameter"), ResourceName: jsii.String(name[1:])})}
}
func onSealKey(d *Deployment) []*string { return d.parameter(env.Keys(d.Stage) + env.SealKey) }
func onSecrets(d *Deployment) []*string {
	return d.parameter("/zerodag/" + d.Stage + "/*")
}

// Sets of actions, each for one way of using a resource.
var (
	readTable   = []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"}
	writeTable  = []string{"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem", "dynamodb:ConditionCheckItem"}
	sendQueue   = []string{"sqs:SendMessage"}
	workQueue   = []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}
	readDead    = []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"}
	countQueue  = []string{"sqs:GetQueueAttributes"}
	writeSpans  = []string{"xray:PutSpans", "xray:PutSpansForIndexing", "xray:PutTraceSegments"}
	readSecrets = []string{"ssm:GetParametersByPath", "ssm:GetParameter"}
)

// unpackDisk is the disk size of functions that unpack archives, which may be as large as a gigabyte.
const unpackDisk = 2048

// functions returns all programs. A function has only the rights that its part of the work needs: the API begins
// attempts but does not advance them, so it neither receives messages nor writes logs.
func functions() []function {
	table := right{slices.Concat(readTable, writeTable), onTable}
	told := []right{{[]string{"events:PutEvents"}, onBus}, {[]string{"sns:Publish"}, onTopic}}
	redrive := []right{{readDead, onDead}, {sendQueue, onTasks}, {sendQueue, onEvents}}
	attempt := slices.Concat(told, []right{table,
		{[]string{"s3:GetObject", "s3:PutObject"}, onArchives}, {[]string{"s3:ListBucket"}, onArchiveList},
		{sendQueue, onTasks}, {sendQueue, onEvents},
		// Logs are also read, because notices of a failed task contain its last lines.
		{[]string{"s3:GetObject", "s3:PutObject"}, onLogs}, {[]string{"s3:ListBucket"}, onLogList},
		{readSecrets, onSecrets}, {writeSpans, onSpans}})
	vms := launchMicrovms()
	return []function{
		{name: "api", timeout: 29, memory: 512, may: slices.Concat(redrive, []right{table, {countQueue, onEvents}, {countQueue, onTasks}, {countQueue, onDead},
			{[]string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"}, onArchives}, {[]string{"s3:ListBucket"}, onArchiveList},
			{[]string{"s3:GetObject"}, onLogs}, {[]string{"s3:ListBucket"}, onLogList},
			{[]string{"ssm:PutParameter", "ssm:DeleteParameter", "ssm:DeleteParameters", "ssm:GetParameter", "ssm:GetParametersByPath"}, onSecrets},
			{[]string{"ssm:GetParameter", "ssm:PutParameter"}, onSealKey}, {[]string{"ssm:GetParameter"}, onClientSecret}, {writeSpans, onSpans}, {[]string{"secretsmanager:GetSecretValue"}, onPeopleSecret}})},
		{name: "runners", timeout: 20, memory: 512, may: slices.Concat(endMicrovms(), []right{table, {sendQueue, onEvents}, {[]string{"sns:Publish"}, onTopic},
			{[]string{"s3:GetObject"}, onKeys("archives/", "log/", "state/")}, {[]string{"s3:PutObject"}, onKeys("log/")}, {[]string{"s3:ListBucket"}, onArchiveList},
			{[]string{"s3:PutObject"}, onLogs}, {[]string{"s3:GetObject"}, onProgram}, {[]string{"kms:Decrypt"}, onProgramKey}, {readSecrets, onSecrets}, {[]string{"ssm:GetParameter"}, onRunnerKeys}})},
		{name: "upload", timeout: 5 * 60, disk: unpackDisk, may: []right{table, {sendQueue, onTasks}, {[]string{"s3:ListBucket"}, onArchiveList},
			{[]string{"s3:GetObject"}, onKeys("slots/", "uploads/", "results/", "definitions/")},
			{[]string{"s3:PutObject"}, onKeys("archives/", "results/", "definitions/")}, {[]string{"s3:AbortMultipartUpload"}, onKeys("archives/")}}},
		{name: "tick", timeout: 55, memory: 512, may: slices.Concat(told, redrive, launch(), vms, []right{table, {writeSpans, onSpans},
			{[]string{"s3:GetObject"}, onArchives}, {[]string{"s3:ListBucket"}, onArchiveList}, {[]string{"s3:PutObject"}, onKeys("state/", "log/")}, {[]string{"s3:DeleteObject"}, onKeys("state/", "archives/")}})},
		{name: "executor", timeout: 30, loop: true, operators: true, may: slices.Concat(attempt, []right{{workQueue, onEvents}})},
		{name: "agent", timeout: 15 * 60, disk: unpackDisk, loop: true, operators: true, may: slices.Concat(attempt, launch(), vms, []right{{workQueue, onTasks}, {[]string{"lambda:InvokeFunction"}, onCommandFunction}})},
	}
}

func (d *Deployment) createFunctions() error {
	variables := d.variables()
	if n := size(variables); n > mostVariables {
		return fmt.Errorf("the environment of the functions would be %d bytes, but Lambda allows %d: shorten taskRoles, subnets or the security groups", n, mostVariables)
	}
	environment := map[string]*string{}
	for name, value := range variables {
		environment[name] = jsii.String(value)
	}
	for _, f := range functions() {
		d.functions[f.name] = d.function(f, environment)
	}
	return nil
}

// concurrency returns the reserved concurrency of a function, or nil if there is none.
func (d *Deployment) concurrency(f function) *float64 {
	if !d.Reserve {
		return nil
	}
	return jsii.Number(d.Reserved()[f.name])
}

// role returns the role of a function, which may write its log and use the function's rights.
func (d *Deployment) role(f function, logs awslogs.LogGroup) awsiam.Role {
	role := awsiam.NewRole(d.scope, jsii.String(f.name+"Role"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil)})
	logs.GrantWrite(role)
	if d.key != nil {
		role.AddToPolicy(d.mayEncrypt())
	}
	for _, r := range f.may {
		resources := r.on(d)
		if len(resources) == 0 {
			continue // this deployment has no such resource
		}
		role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(r.actions...), Resources: &resources, Conditions: d.conditions(r)}))
	}
	return role
}

// mayEncrypt allows use of the stage's key, only through the services that store the stage's data.
func (d *Deployment) mayEncrypt() awsiam.PolicyStatement {
	var services []string
	for _, name := range []string{"dynamodb", "events", "lambda", "s3", "secretsmanager", "sns", "sqs", "ssm"} {
		services = append(services, name+"."+*d.stack.Region()+".amazonaws.com")
	}
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo"),
		Resources: &[]*string{d.key.KeyArn()}, Conditions: &map[string]any{"StringEquals": map[string]any{"kms:ViaService": services}}})
}

// conditions returns conditions that narrow rights whose resources are too broad.
func (d *Deployment) conditions(r right) *map[string]any {
	switch r.actions[0] {
	case "iam:PassRole":
		return &map[string]any{"StringEquals": map[string]any{"iam:PassedToService": "ecs-tasks.amazonaws.com"}} // #nosec G101 -- it names a condition of IAM, not a credential
	case "ecs:TagResource": // while creating a resource, never later
		return &map[string]any{"StringEquals": map[string]any{"ecs:CreateAction": []string{"RunTask", "RegisterTaskDefinition"}}}
	case "ecs:RunTask", "ecs:ListTasks":
		return &map[string]any{"ArnEquals": map[string]any{"ecs:cluster": d.commands.cluster.AttrArn()}}
	case "kms:Decrypt":
		return &map[string]any{
			"StringEquals": map[string]any{"kms:ViaService": "s3." + *d.stack.Region() + ".amazonaws.com"},
			"StringLike":   map[string]any{"kms:EncryptionContext:aws:s3:arn": *d.commands.program.Bucket().BucketArn() + "*"},
		}
	}
	return nil
}

func (d *Deployment) function(f function, environment map[string]*string) awslambda.Function {
	logs := awslogs.NewLogGroup(d.scope, jsii.String(f.name+"Log"), &awslogs.LogGroupProps{
		LogGroupName:  jsii.String("/zerodag/" + d.Stage + "/" + f.name),
		Retention:     d.retention(),
		EncryptionKey: d.key,
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	role := d.role(f, logs)
	inside := f.operators && d.Placed()
	if inside {
		d.allowNetwork(role, d.name(f.name))
	}
	architecture := awslambda.Architecture_ARM_64()
	if d.Architecture == "x86_64" {
		architecture = awslambda.Architecture_X86_64()
	}
	memory := f.memory
	if memory == 0 {
		memory = d.Memory
	}
	loop := awslambda.RecursiveLoop_TERMINATE
	if f.loop { // Lambda would end every attempt with more than 16 hops; our own limits prevent endless loops
		loop = awslambda.RecursiveLoop_ALLOW
	}
	var disk awscdk.Size
	if f.disk != 0 {
		disk = awscdk.Size_Mebibytes(jsii.Number(f.disk))
	}
	made := awslambda.NewFunction(d.scope, jsii.String(f.name), &awslambda.FunctionProps{
		FunctionName:          d.name(f.name),
		Runtime:               awslambda.Runtime_PROVIDED_AL2023(),
		Architecture:          architecture,
		Handler:               jsii.String("bootstrap"),
		Code:                  awslambda.Code_FromAsset(jsii.String(filepath.Join(d.assets, f.name)), nil),
		Timeout:               seconds(f.timeout),
		MemorySize:            jsii.Number(memory),
		EphemeralStorageSize:  disk,
		RecursiveLoop:         loop,
		Role:                  role,
		LogGroup:              logs,
		Environment:           &environment,
		EnvironmentEncryption: d.key,
		// Lambda's own lines about each call cost as much as ours, so only lines about errors are kept.
		LoggingFormat:                awslambda.LoggingFormat_JSON,
		SystemLogLevelV2:             awslambda.SystemLogLevel_WARN,
		ReservedConcurrentExecutions: d.concurrency(f),
	})
	if inside {
		d.place(made)
	}
	return made
}

// traces returns where functions send traces, as internal/env represents it.
func (d *Deployment) traces() string {
	if d.Traces == "none" {
		return ""
	}
	return d.Traces
}

// retention returns how long CloudWatch keeps the stage's log groups, as a constant of the CDK.
func (d *Deployment) retention() awslogs.RetentionDays {
	words := map[int]awslogs.RetentionDays{
		1: awslogs.RetentionDays_ONE_DAY, 3: awslogs.RetentionDays_THREE_DAYS, 5: awslogs.RetentionDays_FIVE_DAYS, 7: awslogs.RetentionDays_ONE_WEEK,
		14: awslogs.RetentionDays_TWO_WEEKS, 30: awslogs.RetentionDays_ONE_MONTH, 60: awslogs.RetentionDays_TWO_MONTHS, 90: awslogs.RetentionDays_THREE_MONTHS,
		120: awslogs.RetentionDays_FOUR_MONTHS, 150: awslogs.RetentionDays_FIVE_MONTHS, 180: awslogs.RetentionDays_SIX_MONTHS, 365: awslogs.RetentionDays_ONE_YEAR,
		400: awslogs.RetentionDays_THIRTEEN_MONTHS, 545: awslogs.RetentionDays_EIGHTEEN_MONTHS, 731: awslogs.RetentionDays_TWO_YEARS, 1096: awslogs.RetentionDays_THREE_YEARS,
		1827: awslogs.RetentionDays_FIVE_YEARS, 2192: awslogs.RetentionDays_SIX_YEARS, 2557: awslogs.RetentionDays_SEVEN_YEARS, 2922: awslogs.RetentionDays_EIGHT_YEARS,
		3288: awslogs.RetentionDays_NINE_YEARS, 3653: awslogs.RetentionDays_TEN_YEARS,
	}
	return words[d.CloudWatchDays] // Validate accepts exactly these keys
}

// mostVariables is the total size of variable names and values that Lambda accepts, in bytes.
const mostVariables = 4096

// token matches a value that only CloudFormation knows; tokenSize is an upper limit for the length of most such values.
var token = regexp.MustCompile(`\$\{Token\[[^\]]*\]\}`)

const tokenSize = 80

// size returns how much of mostVariables the variables take.
func size(variables map[string]string) int {
	n := 0
	for name, value := range variables {
		n += len(name) + len(token.ReplaceAllString(value, strings.Repeat("x", tokenSize)))
	}
	return n
}

func daysOf(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

// variables returns the variables that internal/env reads.
func (d *Deployment) variables() map[string]string {
	c := env.Config{
		Stage: d.Stage, Table: *d.table.TableName(), Events: *d.events.live.QueueUrl(), Tasks: *d.tasks.live.QueueUrl(),
		Archives: *d.archives.BucketName(), Logs: *d.logs.BucketName(), Secrets: "/zerodag/" + d.Stage,
		DeadEvents: *d.events.dead.QueueUrl(), DeadTasks: *d.tasks.dead.QueueUrl(),
		Bus: *d.bus.EventBusName(), Topic: *d.topic.TopicArn(), Announce: d.BusEvents,
		Attempts: d.AttemptLimit, TaskLimit: d.TaskLimit, Lease: time.Duration(d.LeaseSeconds) * time.Second, SmallLogs: d.SmallLogs, TaskLogFormat: d.TaskLogFormat, Commands: d.commandSettings(),
		KeepAttempts: daysOf(d.AttemptDays), KeepArchives: daysOf(d.ArchiveDays), KeepRecords: daysOf(d.AuditDays), KeepLogs: daysOf(d.LogDays),
		Key: d.KMSKey, Gradual: d.IsGradual(), Traces: d.traces(), MetricsOf: d.MetricsOf, EventVisibility: eventVisibility, TaskVisibility: taskVisibility, OIDC: d.provider(), IAMGrants: d.IAMGrants,
	}
	if d.callee != nil {
		c.Commands.Function = env.Function{Name: *d.name("commands"), Memory: d.CommandFunctionMemory}
	}
	c.Commands.Microvms = d.microvmSettings()
	return c.Variables()
}
