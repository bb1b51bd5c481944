package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/jsii-runtime-go"

	"zerodag/internal/env"
)

// commands is where commands run (`sh>`, `py>` ...): a cluster on Fargate, of which nothing
// costs anything while no command runs.
type commands struct {
	cluster   awsecs.CfnCluster
	execution awsiam.Role
	log       awslogs.LogGroup
	program   awss3assets.Asset // cmd/runner
	subnets   []*string
	groups    []*string
	sum       string
}

// programFile is where the program of the machines is, below the folder of built programs.
const programFile = "runner/runner"

// createCommands makes the cluster, and what its machines need: a network with a way out and
// none in, a role that pulls images and writes logs, the program.
func (z *stack) createCommands() error {
	if !z.Commands {
		return nil
	}
	file := filepath.Join(z.Assets, programFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the program of commands' machines: %w", err)
	}
	sum := sha256.Sum256(text)
	c := &commands{sum: hex.EncodeToString(sum[:])}
	c.program = awss3assets.NewAsset(z.Stack, jsii.String("Runner"), &awss3assets.AssetProps{Path: jsii.String(file)})
	c.cluster = awsecs.NewCfnCluster(z.Stack, jsii.String("Cluster"), &awsecs.CfnClusterProps{
		ClusterName: z.name("commands"), CapacityProviders: &[]any{"FARGATE", "FARGATE_SPOT"}})
	c.log = awslogs.NewLogGroup(z.Stack, jsii.String("RunnerLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/zerodag/" + z.Stage + "/runner"), Retention: awslogs.RetentionDays_ONE_MONTH, RemovalPolicy: awscdk.RemovalPolicy_DESTROY})
	c.execution = awsiam.NewRole(z.Stack, jsii.String("RunnerExecution"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("ecs-tasks.amazonaws.com"), &awsiam.ServicePrincipalOpts{
			Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": z.Account()}}})})
	c.log.GrantWrite(c.execution)
	z.allowImages(c.execution)
	c.subnets, c.groups = z.commandNetwork()
	z.commands = c
	return nil
}

// allowImages lets ECS pull images from the registry of the account.
func (z *stack) allowImages(role awsiam.Role) {
	repositories := z.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ecr"), Resource: jsii.String("repository"), ResourceName: jsii.String("*")})
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("ecr:BatchCheckLayerAvailability", "ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage"), Resources: &[]*string{repositories}}))
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("ecr:GetAuthorizationToken"), Resources: jsii.Strings("*")}))
}

// commandNetwork is the VPC that was named, or one of our own: two public subnets, a way out,
// S3 by a gateway. None of it has a price.
func (z *stack) commandNetwork() (subnets, groups []*string) {
	if z.VPC != "" {
		return *jsii.Strings(z.Subnets...), *jsii.Strings(z.SecurityGroups...)
	}
	vpc := awsec2.NewCfnVPC(z.Stack, jsii.String("CommandNetwork"), &awsec2.CfnVPCProps{
		CidrBlock: jsii.String("10.214.0.0/16"), EnableDnsHostnames: jsii.Bool(true), EnableDnsSupport: jsii.Bool(true), Tags: z.tagged("commands")})
	gateway := awsec2.NewCfnInternetGateway(z.Stack, jsii.String("CommandGateway"), &awsec2.CfnInternetGatewayProps{Tags: z.tagged("commands")})
	attached := awsec2.NewCfnVPCGatewayAttachment(z.Stack, jsii.String("CommandGatewayAttachment"), &awsec2.CfnVPCGatewayAttachmentProps{
		VpcId: vpc.AttrVpcId(), InternetGatewayId: gateway.AttrInternetGatewayId()})
	table := awsec2.NewCfnRouteTable(z.Stack, jsii.String("CommandRoutes"), &awsec2.CfnRouteTableProps{VpcId: vpc.AttrVpcId(), Tags: z.tagged("commands")})
	awsec2.NewCfnRoute(z.Stack, jsii.String("CommandRoute"), &awsec2.CfnRouteProps{
		RouteTableId: table.AttrRouteTableId(), DestinationCidrBlock: jsii.String("0.0.0.0/0"), GatewayId: gateway.AttrInternetGatewayId()}).AddDependency(attached)
	for i, id := range []string{"CommandSubnetA", "CommandSubnetB"} {
		subnet := awsec2.NewCfnSubnet(z.Stack, jsii.String(id), &awsec2.CfnSubnetProps{VpcId: vpc.AttrVpcId(),
			CidrBlock:        jsii.String(fmt.Sprintf("10.214.%d.0/18", 64*i)),
			AvailabilityZone: awscdk.Fn_Select(jsii.Number(i), awscdk.Fn_GetAzs(nil)), Tags: z.tagged("commands")})
		awsec2.NewCfnSubnetRouteTableAssociation(z.Stack, jsii.String(id+"Routes"), &awsec2.CfnSubnetRouteTableAssociationProps{
			SubnetId: subnet.AttrSubnetId(), RouteTableId: table.AttrRouteTableId()})
		subnets = append(subnets, subnet.AttrSubnetId())
	}
	awsec2.NewCfnVPCEndpoint(z.Stack, jsii.String("CommandS3"), &awsec2.CfnVPCEndpointProps{VpcId: vpc.AttrVpcId(), VpcEndpointType: jsii.String("Gateway"),
		ServiceName: jsii.String("com.amazonaws." + *z.Region() + ".s3"), RouteTableIds: &[]any{table.AttrRouteTableId()}})
	group := awsec2.NewCfnSecurityGroup(z.Stack, jsii.String("CommandGroup"), &awsec2.CfnSecurityGroupProps{
		GroupName: z.name("commands"), GroupDescription: jsii.String("zerodag: machines that run commands; nothing comes in"), VpcId: vpc.AttrVpcId(),
		SecurityGroupEgress: []any{&awsec2.CfnSecurityGroup_EgressProperty{IpProtocol: jsii.String("-1"), CidrIp: jsii.String("0.0.0.0/0")}}})
	return subnets, []*string{group.AttrGroupId()}
}

// tagged names what has no name of its own.
func (z *stack) tagged(what string) *[]*awscdk.CfnTag {
	return &[]*awscdk.CfnTag{{Key: jsii.String("Name"), Value: z.name(what)}}
}

// commandSettings is what the functions are told.
func (z *stack) commandSettings() env.Commands {
	c := z.commands
	if c == nil {
		return env.Commands{}
	}
	url := *z.api.ApiEndpoint()
	if z.Domain != "" {
		url = "https://" + z.Domain
	}
	return env.Commands{Cluster: *c.cluster.AttrArn(), Subnets: values(c.subnets), SecurityGroups: values(c.groups), PublicIP: z.VPC == "" || z.PublicIP,
		ExecutionRole: *c.execution.RoleArn(), Roles: z.TaskRoles, LogGroup: *c.log.LogGroupName(), Architecture: z.CommandArchitecture, URL: url,
		Program: env.Object{Bucket: *c.program.S3BucketName(), Key: *c.program.S3ObjectKey(), SHA256: c.sum},
		Keys:    z.runnerKeys(),
		Image:   z.Image, CPU: z.CommandCPU, Memory: z.CommandMemory, Spot: z.Spot}
}

// runnerKeys is the name of the parameter with the keys that sign what machines show: not below
// that of secrets, which other functions may read and write. Who launches the first machine makes it.
func (z *stack) runnerKeys() string { return "/zerodag-keys/" + z.Stage + "/runners" }

func values(list []*string) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = *p
	}
	return out
}

// Rights on what commands need; nothing when there are none.
func onDefinitions(z *stack) []*string {
	return z.ofCommands(func(*commands) []*string {
		return []*string{z.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ecs"), Resource: jsii.String("task-definition"), ResourceName: jsii.String("zerodag-" + z.Stage + "-*")})}
	})
}
func onAllDefinitions(z *stack) []*string {
	return z.ofCommands(func(*commands) []*string { return []*string{jsii.String("*")} })
}
func onMachines(z *stack) []*string {
	return z.ofCommands(func(*commands) []*string {
		return []*string{z.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ecs"), Resource: jsii.String("task"), ResourceName: jsii.String(*z.name("commands") + "/*")})}
	})
}
func onTaskRoles(z *stack) []*string {
	return z.ofCommands(func(c *commands) []*string {
		list := []*string{c.execution.RoleArn()}
		for _, text := range z.TaskRoles { // SITE/PROJECT=ARN, SITE/*=ARN or ARN: internal/env has the form
			if arn := jsii.String(text[strings.IndexByte(text, '=')+1:]); !slices.ContainsFunc(list, func(s *string) bool { return *s == *arn }) {
				list = append(list, arn)
			}
		}
		return list
	})
}
func onProgram(z *stack) []*string {
	return z.ofCommands(func(c *commands) []*string {
		return []*string{c.program.Bucket().ArnForObjects(c.program.S3ObjectKey())}
	})
}

func (z *stack) ofCommands(f func(*commands) []*string) []*string {
	if z.commands == nil {
		return nil
	}
	return f(z.commands)
}

// listTasks takes no resource: a condition names the cluster.
const listTasks = "ecs:ListTasks"

// launch are the rights of who launches and stops machines.
func launch() []right {
	return []right{{[]string{"ecs:RunTask"}, onDefinitions}, {[]string{"ecs:StopTask", "ecs:DescribeTasks"}, onMachines}, {[]string{"iam:PassRole"}, onTaskRoles},
		{[]string{"ecs:DescribeTaskDefinition", "ecs:RegisterTaskDefinition"}, onAllDefinitions}, {[]string{listTasks}, onAllDefinitions},
		{[]string{"ssm:GetParameter", "ssm:PutParameter"}, onRunnerKeys}}
}
