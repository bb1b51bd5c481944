package deployment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/jsii-runtime-go"

	"zerodag/internal/env"
)

// commands is where commands run (`sh>`, `py>` ...): a cluster on Fargate, which costs nothing while no command runs.
type commands struct {
	cluster   awsecs.CfnCluster
	execution awsiam.Role
	log       awslogs.LogGroup
	program   awss3assets.Asset // cmd/runner
	subnets   []*string
	groups    []*string
	sum       string
}

// programFile is the path of the machines' program below the folder of built programs.
const programFile = "runner/runner"

// createCommands creates the cluster and everything its machines need: a network that allows only outgoing connections,
// a role that pulls images and writes logs, and the program.
func (d *Deployment) createCommands() error {
	if !d.HasMachines() {
		return nil
	}
	file := filepath.Join(d.assets, programFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the runner program: %w", err)
	}
	sum := sha256.Sum256(text)
	c := &commands{sum: hex.EncodeToString(sum[:])}
	c.program = awss3assets.NewAsset(d.scope, jsii.String("Runner"), &awss3assets.AssetProps{Path: jsii.String(file)})
	c.cluster = d.createCluster()
	c.log = awslogs.NewLogGroup(d.scope, jsii.String("RunnerLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/zerodag/" + d.Stage + "/runner"), Retention: d.retention(), EncryptionKey: d.key, RemovalPolicy: awscdk.RemovalPolicy_DESTROY})
	c.execution = awsiam.NewRole(d.scope, jsii.String("RunnerExecution"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("ecs-tasks.amazonaws.com"), &awsiam.ServicePrincipalOpts{
			Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": d.stack.Account()}}})})
	c.log.GrantWrite(c.execution)
	d.allowImages(c.execution)
	c.subnets, c.groups = d.commandNetwork()
	d.commands = c
	return nil
}

// createCluster makes the cluster. Only Spot needs capacity providers: with them, ECS refuses to create the first
// cluster of an account because its service-linked role must exist first. Without them, ECS creates that role itself.
func (d *Deployment) createCluster() awsecs.CfnCluster {
	cluster := awsecs.NewCfnCluster(d.scope, jsii.String("Cluster"), &awsecs.CfnClusterProps{ClusterName: d.name("commands")})
	if d.key != nil { // encrypts the disks of machines
		cluster.SetConfiguration(&awsecs.CfnCluster_ClusterConfigurationProperty{ManagedStorageConfiguration: &awsecs.CfnCluster_ManagedStorageConfigurationProperty{
			FargateEphemeralStorageKmsKeyId: jsii.String(d.KMSKey)}})
	}
	if d.HasSpot() {
		cluster.SetCapacityProviders(jsii.Strings("FARGATE", "FARGATE_SPOT"))
		// If the role was just created, the half minute that the table takes is enough for it to reach IAM in every
		// region.
		cluster.AddDependency(d.table.Node().DefaultChild().(awsdynamodb.CfnTable))
	}
	return cluster
}

// allowImages lets ECS pull images from the allowed repositories of the account.
func (d *Deployment) allowImages(role awsiam.Role) {
	if len(d.Repositories)+len(d.PullThrough) == 0 {
		return
	}
	var repositories []*string
	for _, name := range d.Repositories {
		repositories = append(repositories, d.repository(name))
	}
	var cached []*string
	for _, prefix := range d.PullThrough {
		cached = append(cached, d.repository(prefix+"/*"))
	}
	repositories = append(repositories, cached...)
	if len(cached) > 0 { // the first pull of an image creates its repository and imports the image
		role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings("ecr:CreateRepository", "ecr:BatchImportUpstreamImage"), Resources: &cached}))
	}
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("ecr:BatchCheckLayerAvailability", "ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage"), Resources: &repositories}))
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("ecr:GetAuthorizationToken"), Resources: jsii.Strings("*")}))
}

// repository returns the ARN of a repository, which the settings name by ARN or by its name in this account.
func (d *Deployment) repository(name string) *string {
	if strings.HasPrefix(name, "arn:") {
		return jsii.String(name)
	}
	return d.stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ecr"), Resource: jsii.String("repository"), ResourceName: jsii.String(name)})
}

// machinesURL is the address of the API for machines. In a VPC with an interface endpoint for execute-api, every
// execute-api address resolves to that endpoint, which serves only private APIs; there, machines need the custom
// domain.
func (d *Deployment) machinesURL() string {
	if d.MachinesURL == "domain" {
		return "https://" + d.Domain
	}
	return *d.api.address()
}

// commandSettings returns the settings of commands for the functions.
func (d *Deployment) commandSettings() env.Commands {
	c := d.commands
	if c == nil {
		return env.Commands{}
	}
	return env.Commands{Cluster: *c.cluster.AttrArn(), Subnets: values(c.subnets), SecurityGroups: values(c.groups), PublicIP: !d.Placed() || d.PublicIP,
		ExecutionRole: *c.execution.RoleArn(), Roles: d.TaskRoles, LogGroup: *c.log.LogGroupName(), Architecture: d.CommandArchitecture, URL: d.machinesURL(),
		Program: env.Object{Bucket: *c.program.S3BucketName(), Key: *c.program.S3ObjectKey(), SHA256: c.sum},
		Keys:    d.runnerKeys(),
		Image:   d.Image, FetchImage: d.FetchImage, Tags: d.Tags, CPU: d.CommandCPU, Memory: d.CommandMemory, Spot: d.Spot, AllowSpot: d.AllowSpot}
}

// runnerKeys returns the name of the parameter with the keys that sign the tokens of machines. It is not below the path
// of secrets, which other functions may read and write. The launcher of the first machine creates it.
func (d *Deployment) runnerKeys() string { return env.Keys(d.Stage) + "/runners" }

func values(list []*string) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = *p
	}
	return out
}

// The resources of commands that rights refer to; nothing if there are none.
func onDefinitions(d *Deployment) []*string {
	return d.ofCommands(func(*commands) []*string {
		family := "zerodag-" + d.Stage + "-" + strings.Repeat("?", env.DefinitionDigest)
		return []*string{d.stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ecs"), Resource: jsii.String("task-definition"), ResourceName: jsii.String(family + ":*")})}
	})
}
func onAllDefinitions(d *Deployment) []*string {
	return d.ofCommands(func(*commands) []*string { return []*string{jsii.String("*")} })
}
func onMachines(d *Deployment) []*string {
	return d.ofCommands(func(*commands) []*string {
		return []*string{d.stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ecs"), Resource: jsii.String("task"), ResourceName: jsii.String(*d.name("commands") + "/*")})}
	})
}

// onTagged returns machines and task definitions, which get their tags when they are created.
func onTagged(d *Deployment) []*string { return slices.Concat(onMachines(d), onDefinitions(d)) }
func onTaskRoles(d *Deployment) []*string {
	return d.ofCommands(func(c *commands) []*string {
		list := []*string{c.execution.RoleArn()}
		for _, text := range d.TaskRoles {
			_, arn, _ := env.TaskRole(text) // Validate has read it
			if !slices.ContainsFunc(list, func(p *string) bool { return *p == arn }) {
				list = append(list, jsii.String(arn))
			}
		}
		return list
	})
}
func onProgram(d *Deployment) []*string {
	return d.ofCommands(func(c *commands) []*string {
		return []*string{c.program.Bucket().ArnForObjects(c.program.S3ObjectKey())}
	})
}

// onProgramKey returns the keys with which the CDK's bucket may be encrypted. Which one is known only in the account,
// so any key is allowed as long as S3 uses it for an object of that bucket.
func onProgramKey(d *Deployment) []*string {
	return d.ofCommands(func(*commands) []*string {
		return []*string{d.stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("kms"), Resource: jsii.String("key"), ResourceName: jsii.String("*")})}
	})
}

func (d *Deployment) ofCommands(f func(*commands) []*string) []*string {
	if d.commands == nil {
		return nil
	}
	return f(d.commands)
}

// launch returns the rights to launch and stop machines, and to query their outcome from ECS.
func launch() []right {
	return []right{{[]string{"ecs:RunTask"}, onDefinitions}, {[]string{"ecs:StopTask", "ecs:DescribeTasks"}, onMachines}, {[]string{"iam:PassRole"}, onTaskRoles},
		{[]string{"ecs:DescribeTaskDefinition", "ecs:RegisterTaskDefinition"}, onAllDefinitions}, {[]string{"ecs:ListTasks"}, onAllDefinitions},
		{[]string{"ecs:TagResource"}, onTagged}, {[]string{"ssm:GetParameter", "ssm:PutParameter"}, onRunnerKeys}}
}
