package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"zerodag/internal/awscall"
)

// account holds the account and region of the credentials, and the stage of one run in it.
type account struct {
	stage  string
	config aws.Config
	pause  time.Duration // between two checks of slow operations
	near   bool          // it is a local emulator

	calls    *awscall.Client // for services whose clients would be additional modules
	dynamodb *dynamodb.Client
	ecs      *ecs.Client
	events   *eventbridge.Client
	s3       *s3.Client
	schedule *scheduler.Client
	sqs      *sqs.Client
	ssm      *ssm.Client
	sts      *sts.Client
}

// tries is how many times a request is sent.
const tries = 6

var stageName = regexp.MustCompile(`^[a-z][a-z0-9]{1,16}$`)

// open finds the credentials and the region of the environment, as every AWS tool does. It makes no calls yet. The
// stage of a run has a short random name without a hyphen, which begin accepts only if no existing name begins with it:
// from then on, everything with such a name belongs to the run.
func open(ctx context.Context, stage string) (*account, error) {
	if !stageName.MatchString(stage) {
		return nil, fmt.Errorf("%q cannot be the stage of a run: use 2 to 17 lower-case letters and digits, starting with a letter", stage)
	}
	c, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRetryMaxAttempts(tries))
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if c.Region == "" {
		return nil, errors.New("no AWS region: set AWS_REGION, or a region in the profile that AWS_PROFILE names")
	}
	return newAccount(c, stage), nil
}

func newAccount(c aws.Config, stage string) *account {
	near := c.BaseEndpoint != nil && strings.Contains(*c.BaseEndpoint, "//127.0.0.1:")
	a := &account{stage: stage, config: c, pause: 5 * time.Second, near: near, calls: awscall.New(patient(c)),
		dynamodb: dynamodb.NewFromConfig(c), ecs: ecs.NewFromConfig(c), events: eventbridge.NewFromConfig(c),
		s3:       s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = near }),
		schedule: scheduler.NewFromConfig(c), sqs: sqs.NewFromConfig(c), ssm: ssm.NewFromConfig(c), sts: sts.NewFromConfig(c)}
	if near {
		a.pause = 500 * time.Millisecond
	}
	return a
}

// again is a client that retries unanswered requests, which is safe for all its requests.
type again struct{ *http.Client }

// Do implements aws.HTTPClient.
func (c again) Do(r *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		answer, err := c.Client.Do(r)
		if err == nil || r.Context().Err() != nil || try == tries {
			return answer, err
		}
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
		time.Sleep(time.Duration(try) * time.Second)
	}
}

// patient waits longer for responses than awscall does, and retries: an emulator loads all its services at the first
// request for tags.
func patient(c aws.Config) aws.Config {
	c.HTTPClient = again{&http.Client{Timeout: 2 * time.Minute}}
	return c
}

// prefix returns the prefix of the stage's names.
func (a *account) prefix() string { return "zerodag-" + a.stage }

// owns reports whether a name belongs to the stage: zerodag-STAGE, zerodag-STAGE-x, or a path with zerodag/STAGE in it.
func (a *account) owns(name string) bool {
	rest, begins := strings.CutPrefix(name, a.prefix())
	if begins && (rest == "" || rest[0] == '-' || rest[0] == '.') {
		return true
	}
	for _, folder := range []string{"/zerodag/", "/zerodag-keys/"} {
		_, rest, found := strings.Cut(name, folder+a.stage)
		if found && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// who returns the account, and the owner of the credentials.
func (a *account) who(ctx context.Context) (number, arn string, err error) {
	out, err := a.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", "", fmt.Errorf("identify the AWS credentials: %w", err)
	}
	return aws.ToString(out.Account), aws.ToString(out.Arn), nil
}

// wait waits a little, or until ctx ends.
func (a *account) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(a.pause):
		return nil
	}
}
