package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"zerodag/internal/awscall"
)

// Account is an AWS account in one region, as its credentials see it.
type Account struct {
	config   aws.Config
	calls    *awscall.Client // for services whose SDK clients are not linked
	lambda   *lambda.Client
	ecs      *ecs.Client
	ssm      *ssm.Client
	sts      *sts.Client
	dynamodb *dynamodb.Client
	pause    time.Duration // how long to wait between checks on stopping machines
}

// Open finds the credentials and the region in the environment, as every AWS tool does. It makes no calls yet.
func Open(ctx context.Context) (*Account, error) {
	c, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if c.Region == "" {
		return nil, errors.New("no AWS region: set AWS_REGION, or a region in the profile that AWS_PROFILE names")
	}
	return New(c), nil
}

// New is like Open but uses an existing configuration.
func New(c aws.Config) *Account {
	return &Account{config: c, calls: awscall.New(c), lambda: lambda.NewFromConfig(c), ecs: ecs.NewFromConfig(c),
		ssm: ssm.NewFromConfig(c), sts: sts.NewFromConfig(c), dynamodb: dynamodb.NewFromConfig(c), pause: 5 * time.Second}
}

// Region returns the account's region.
func (a *Account) Region() string { return a.config.Region }

// Answer is the answer to a yes-no question about an account. It is unknown if the credentials lack the permission to
// find out.
type Answer string

// The answers.
const (
	Yes        Answer = "yes"
	No         Answer = "no"
	NotAllowed Answer = "unknown" // the credentials lack the permission
)

// Deployed reports whether the stage has a table. If it does, its stack exists or existed, so a deploy will not have to
// roll back the creation of the stack.
func (a *Account) Deployed(ctx context.Context, stage string) (Answer, error) {
	_, err := a.dynamodb.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("zerodag-" + stage + "-table")})
	var missing *dynamotypes.ResourceNotFoundException
	switch {
	case err == nil:
		return Yes, nil
	case errors.As(err, &missing):
		return No, nil
	case isDenied(err):
		return NotAllowed, nil
	}
	return "", fmt.Errorf("describe the table of stage %s: %w", stage, err)
}

// isDenied reports whether the credentials are not allowed to make a call.
func isDenied(err error) bool {
	var own *awscall.Refusal
	if errors.As(err, &own) {
		return own.Status == http.StatusForbidden || strings.HasPrefix(own.Code, "AccessDenied")
	}
	var answer smithy.APIError
	return errors.As(err, &answer) && (strings.HasPrefix(answer.ErrorCode(), "AccessDenied") || answer.ErrorCode() == "UnauthorizedOperation")
}

// partition returns what follows "arn:" in the region's ARNs.
func (a *Account) partition() string {
	switch {
	case strings.HasPrefix(a.config.Region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(a.config.Region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// global returns the address of IAM, which serves all regions of a partition.
func (a *Account) global() awscall.Service {
	switch {
	case strings.HasPrefix(a.config.Region, "cn-"):
		return awscall.Service{Name: "iam", Endpoint: "https://iam.cn-north-1.amazonaws.com.cn", Region: "cn-north-1"}
	case strings.HasPrefix(a.config.Region, "us-gov-"):
		return awscall.Service{Name: "iam", Endpoint: "https://iam.us-gov.amazonaws.com", Region: "us-gov-west-1"}
	}
	return awscall.Service{Name: "iam", Endpoint: "https://iam.amazonaws.com", Region: "us-east-1"}
}
