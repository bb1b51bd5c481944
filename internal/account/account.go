package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Account is the account and region of some credentials.
type Account struct {
	config   aws.Config
	lambda   *lambda.Client
	ecs      *ecs.Client
	ssm      *ssm.Client
	sts      *sts.Client
	dynamodb *dynamodb.Client
	pause    time.Duration // between looks at machines that stop
}

// Open finds the credentials and the region of the environment, as every AWS tool does. It asks
// nothing yet.
func Open(ctx context.Context) (*Account, error) {
	c, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if c.Region == "" {
		return nil, errors.New("no region is set: AWS_REGION, or the region of the profile in AWS_PROFILE")
	}
	return New(c), nil
}

// New is Open for a configuration that is there.
func New(c aws.Config) *Account {
	return &Account{config: c, lambda: lambda.NewFromConfig(c), ecs: ecs.NewFromConfig(c),
		ssm: ssm.NewFromConfig(c), sts: sts.NewFromConfig(c), dynamodb: dynamodb.NewFromConfig(c), pause: 5 * time.Second}
}

// Deployed says whether the stage has a table: then its stack is there, or was, and a deploy need not
// be able to undo the making of it.
func (a *Account) Deployed(ctx context.Context, stage string) (bool, error) {
	_, err := a.dynamodb.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("zerodag-" + stage + "-table")})
	var missing *dynamotypes.ResourceNotFoundException
	if errors.As(err, &missing) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the table of stage %s: %w", stage, err)
	}
	return true, nil
}
