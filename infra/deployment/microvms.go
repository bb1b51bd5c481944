package deployment

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/settings"
	"zerodag/internal/env"
)

// microvmFolder is the folder, below the folder of built programs, from which the image of MicroVMs is built: a
// Dockerfile and cmd/runner.
const microvmFolder = "microvm"

// microvmBase is the beginning of the default Dockerfile.
const microvmBase = `FROM public.ecr.aws/lambda/microvms:al2023-minimal
RUN dnf install -y python3 findutils tar gzip && dnf clean all
`

// microvmRunner is the end of every Dockerfile of MicroVMs: the program that answers Lambda's hooks and runs commands.
const microvmRunner = `
USER 0
COPY runner /zerodag/runner
RUN chmod 755 /zerodag/runner && mkdir -p /zerodag/work && chmod 711 /zerodag/work
WORKDIR /
EXPOSE 9000
ENTRYPOINT ["/zerodag/runner", "microvm"]
CMD []
`

// Time limits for the image's hooks, which cmd/runner serves.
const (
	microvmPort      = 9000
	microvmReady     = 60 // seconds
	microvmValidate  = 60
	microvmRun       = 10
	microvmTerminate = 30 // the runner takes 25 at most
)

// microvmDockerfile returns the Dockerfile of the image.
func microvmDockerfile(s settings.Settings) (string, error) {
	if s.MicrovmDockerfile == "" {
		return microvmBase + microvmRunner, nil
	}
	text, err := os.ReadFile(s.MicrovmDockerfile)
	if err != nil {
		return "", fmt.Errorf("microvmDockerfile: %w", err)
	}
	last := ""
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && strings.EqualFold(words[0], "FROM") {
			last = strings.Join(words[1:], " ")
		}
	}
	if last == "" {
		return "", errors.New("microvmDockerfile has no line FROM")
	}
	if !strings.Contains(last, "public.ecr.aws/lambda/microvms:") {
		return "", fmt.Errorf("the last stage of microvmDockerfile must start from an image of public.ecr.aws/lambda/microvms, which Lambda requires, but starts from %s", last)
	}
	return string(text) + microvmRunner, nil
}

// buildMicrovm assembles the files from which the image is built. MicroVMs are arm64, whatever the machines are.
func buildMicrovm(s settings.Settings, assets string) error {
	folder := filepath.Join(assets, microvmFolder)
	if err := build("zerodag/cmd/runner", filepath.Join(folder, "runner"), "arm64"); err != nil {
		return err
	}
	text, err := microvmDockerfile(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte(text), 0o644); err != nil { // #nosec G306 -- it is part of an image, and holds no secret
		return fmt.Errorf("write the Dockerfile of MicroVMs: %w", err)
	}
	return nil
}

// createMicrovms creates the image of MicroVMs, unless the stage has none, and the role of its build, which reads the
// code and writes a log. CloudFormation waits until Lambda has built it.
func (d *Deployment) createMicrovms() {
	if !d.HasMicrovms() {
		return
	}
	code := awss3assets.NewAsset(d.scope, jsii.String("MicrovmCode"), &awss3assets.AssetProps{Path: jsii.String(filepath.Join(d.assets, microvmFolder))})
	logs := awslogs.NewLogGroup(d.scope, jsii.String("MicrovmLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/zerodag/" + d.Stage + "/microvm"), Retention: d.retention(), EncryptionKey: d.key, RemovalPolicy: awscdk.RemovalPolicy_DESTROY})
	lambda := awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), &awsiam.ServicePrincipalOpts{
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": d.stack.Account()}}})
	role := awsiam.NewRole(d.scope, jsii.String("MicrovmBuild"), &awsiam.RoleProps{AssumedBy: awsiam.NewSessionTagsPrincipal(lambda)})
	logs.GrantWrite(role)
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("s3:GetObject"), Resources: &[]*string{code.Bucket().ArnForObjects(code.S3ObjectKey())}}))
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{ // the CDK's bucket may have a key
		Actions: jsii.Strings("kms:Decrypt"), Resources: &[]*string{d.stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("kms"), Resource: jsii.String("key"), ResourceName: jsii.String("*")})},
		Conditions: &map[string]any{
			"StringEquals": map[string]any{"kms:ViaService": "s3." + *d.stack.Region() + ".amazonaws.com"},
			"StringLike":   map[string]any{"kms:EncryptionContext:aws:s3:arn": *code.Bucket().BucketArn() + "*"},
		}}))
	// The CDK has no construct for it in this version. CloudFormation requires all of these.
	image := awscdk.NewCfnResource(d.scope, jsii.String("MicrovmImage"), &awscdk.CfnResourceProps{Type: jsii.String("AWS::Lambda::MicrovmImage"), Properties: &map[string]any{
		"Name":                    *d.name("commands"),
		"Description":             "commands of the zerodag stage " + d.Stage,
		"BaseImageArn":            *d.ofAWS("microvm-image", "al2023-1"),
		"BaseImageVersion":        d.MicrovmBaseVersion,
		"BuildRoleArn":            *role.RoleArn(),
		"CodeArtifact":            map[string]any{"Uri": *code.S3ObjectUrl()},
		"Logging":                 map[string]any{"CloudWatch": map[string]any{"LogGroup": *logs.LogGroupName()}},
		"EgressNetworkConnectors": []any{*d.ofAWS("network-connector", "aws-network-connector:INTERNET_EGRESS")},
		"CpuConfigurations":       []any{map[string]any{"Architecture": "ARM_64"}},
		"Resources":               []any{map[string]any{"MinimumMemoryInMiB": d.MicrovmMemory}},
		"Hooks": map[string]any{
			"Port":              microvmPort,
			"MicrovmImageHooks": map[string]any{"Ready": "ENABLED", "ReadyTimeoutInSeconds": microvmReady, "Validate": "ENABLED", "ValidateTimeoutInSeconds": microvmValidate},
			"MicrovmHooks": map[string]any{"Run": "ENABLED", "RunTimeoutInSeconds": microvmRun, "Terminate": "ENABLED", "TerminateTimeoutInSeconds": microvmTerminate,
				"Suspend": "DISABLED", "Resume": "DISABLED"},
		},
		"Tags": d.microvmTags(),
	}})
	image.AddPropertyOverride(jsii.String("AdditionalOsCapabilities"), []any{})
	image.AddPropertyOverride(jsii.String("EnvironmentVariables"), []any{})
	image.Node().AddDependency(role, logs)
	d.microvm = image
}

// microvmTags returns the tags of the stage: the CDK tags only constructs that it knows.
func (d *Deployment) microvmTags() []any {
	list := []any{map[string]any{"Key": stageTag, "Value": d.Stage}}
	for _, name := range slices.Sorted(maps.Keys(d.Tags)) {
		list = append(list, map[string]any{"Key": name, "Value": d.Tags[name]})
	}
	return list
}

// ofAWS returns the ARN of a Lambda resource that AWS provides.
func (d *Deployment) ofAWS(kind, name string) *string {
	return d.stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("lambda"), Account: jsii.String("aws"), Resource: &kind, ResourceName: &name, ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME})
}

// microvmImage returns the ARN of the image.
func (d *Deployment) microvmImage() *string {
	return d.microvm.GetAtt(jsii.String("ImageArn"), awscdk.ResolutionTypeHint_STRING).ToString()
}

// microvmSettings returns the part of the functions' environment about MicroVMs.
func (d *Deployment) microvmSettings() env.Microvms {
	if d.microvm == nil {
		return env.Microvms{}
	}
	return env.Microvms{Image: *d.microvmImage(), Memory: d.MicrovmMemory, Connector: d.MicrovmConnector, Default: d.Microvms == "default"}
}

// The MicroVM resources that rights refer to; nothing if there are none. IAM can restrict rights only to the MicroVMs
// of an image; it does not check lists and passed connectors against a resource.
func onMicrovms(d *Deployment) []*string {
	return d.ofMicrovms(func() []*string {
		return []*string{d.microvmImage(), awscdk.Fn_Join(jsii.String(""), &[]*string{d.microvmImage(), jsii.String(":*")})}
	})
}
func onAllMicrovms(d *Deployment) []*string {
	return d.ofMicrovms(func() []*string { return *jsii.Strings("*") })
}

func (d *Deployment) ofMicrovms(f func() []*string) []*string {
	if d.microvm == nil {
		return nil
	}
	return f()
}

// launchMicrovms returns the rights to start and end MicroVMs; endMicrovms returns only the rights to end them.
func launchMicrovms() []right {
	return []right{{[]string{"lambda:RunMicrovm", "lambda:GetMicrovm", "lambda:TerminateMicrovm"}, onMicrovms}, {[]string{"lambda:ListMicrovms", "lambda:PassNetworkConnector"}, onAllMicrovms}}
}

func endMicrovms() []right { return []right{{[]string{"lambda:TerminateMicrovm"}, onMicrovms}} }
