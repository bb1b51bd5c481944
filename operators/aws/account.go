// Package aws is shared by the operators for AWS services: the credentials and region of a task's calls, polling of
// remote jobs, and the meaning of errors for users.
//
// Operators in the neighboring folders use it. It must not know about any service: each operator links its own client,
// and creates it on use.
package aws

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"zerodag/engine/param"
	"zerodag/operators"
)

// tries is the maximum number of times that each call is sent. If it still fails, the task fails or, if the call is a
// poll, runs again.
const tries = 5

// Account is the host's own access to AWS, loaded on first use. There is one per operator, shared by all tasks, so that
// they share connections.
type Account struct {
	mu      sync.Mutex
	base    *sdk.Config
	bounded *awshttp.BuildableClient // for tasks whose host limits their connections
}

// RegionOf returns the region in an ARN with at least the given number of parts, or `otherwise` if the text is not such
// an ARN: an ARN is only valid in its own region.
func RegionOf(text string, parts int, otherwise string) string {
	if p := strings.Split(text, ":"); len(p) >= parts && p[0] == "arn" {
		return p[3]
	}
	return otherwise
}

// Params returns a task's parameters with the defaults that `_export` may set below `aws.<service>`, then below `aws`.
func Params(t *operators.Task, service string) (*operators.Params, error) {
	all, err := operators.ReadOr(t.Params, "aws", param.AsMap, nil)
	if err != nil || all == nil {
		return t.Params, err
	}
	own, err := operators.ReadOr(operators.NewParams(all), service, param.AsMap, param.New())
	if err != nil {
		return nil, err
	}
	return t.Params.Defaulted(own).Defaulted(all.Without(service)), nil
}

// Config returns the credentials, region and endpoint with which a task calls a service, from the secrets
// `aws.<service>.X` or else `aws.X`; region and endpoint may also be parameters. Without keys in the secrets, it uses
// the host's own role, unless the host's `config.aws.environment` is false.
func (a *Account) Config(ctx context.Context, t *operators.Task, p *operators.Params, service string) (sdk.Config, error) {
	s := secrets{t, service}
	keys, err := s.keys()
	if err != nil {
		return sdk.Config{}, err
	}
	if keys == nil {
		if err := mayLend(t, service); err != nil {
			return sdk.Config{}, err
		}
	}
	host, err := a.environment(ctx)
	if err != nil {
		return sdk.Config{}, err
	}
	c := host.Copy()
	if t.Network != nil {
		c.HTTPClient = a.within(t.Network)
	}
	if keys != nil {
		c.Credentials = keys
	}
	if err := s.place(&c, p); err != nil {
		return sdk.Config{}, err
	}
	c.Retryer = func() sdk.Retryer { return Retryer(tries) }
	role, err := s.assume(&c, host)
	if err != nil {
		return sdk.Config{}, err
	}
	return c, present(ctx, c.Credentials, role, service)
}

// present reports missing credentials early, since the error from a call would hide the cause.
func present(ctx context.Context, p sdk.CredentialsProvider, role, service string) error {
	_, err := p.Retrieve(ctx) // cached by the provider
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case role != "":
		return operators.Causedf(err, "can't assume the role %s of the secret aws.role_arn: allow these credentials to call sts:AssumeRole, and the "+
			"role to trust them (%s)", role, short(err))
	}
	return operators.Causedf(err, "No AWS credentials: set the secrets aws.access_key_id and aws.secret_access_key of the project, or "+
		"aws.%s.access_key_id and aws.%[1]s.secret_access_key, or give this host a role", service)
}

// within returns a client whose connections a network opens.
func (a *Account) within(network operators.Network) sdk.HTTPClient {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bounded == nil {
		a.bounded = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.DialContext = network.DialContext })
	}
	return a.bounded
}

// mayLend returns an error unless the host lends its role to tasks.
func mayLend(t *operators.Task, service string) error {
	lends, err := operators.NewParams(t.Config.Map("aws")).BoolOr("environment", true)
	if err == nil && !lends {
		err = operators.Failf("No AWS credentials: this host does not share its own role with tasks. Set the secrets aws.access_key_id and "+
			"aws.secret_access_key of the project, or aws.%s.access_key_id and aws.%[1]s.secret_access_key", service)
	}
	return err
}

// environment loads the host's configuration: variables, profile, or the role of the machine or function.
func (a *Account) environment(ctx context.Context) (sdk.Config, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.base == nil {
		c, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return sdk.Config{}, fmt.Errorf("read the host's AWS configuration: %w", err)
		}
		a.base = &c
	}
	return *a.base, nil
}

// Retryer returns a retryer that retries throttled or unanswered requests, up to a number of tries. Each call has a
// separate retryer, so that the failures of other calls do not affect it.
func Retryer(tries int) sdk.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = tries
		o.RateLimiter = ratelimit.None
	})
}

// secrets are a task's secrets for one service.
type secrets struct {
	task    *operators.Task
	service string
}

// first returns the service's own value or the one for all services; "" for none.
func (s secrets) first(key string) (string, error) {
	value, err := s.task.OptionalSecret("aws." + s.service + "." + key)
	if err != nil || value != "" {
		return value, err
	}
	return s.task.OptionalSecret("aws." + key)
}

// keys returns the access key from the secrets, nil for none.
func (s secrets) keys() (sdk.CredentialsProvider, error) {
	var values [3]string
	for i, key := range []string{"access_key_id", "secret_access_key", "session_token"} {
		var err error
		if values[i], err = s.first(key); err != nil {
			return nil, err
		}
	}
	switch {
	case values[0] == "" && values[1] == "":
		return nil, nil
	case values[0] == "":
		return nil, operators.MissingSecret("aws.access_key_id", operators.Faultf("secret not found", "Secret not found for key: 'aws.access_key_id'"))
	case values[1] == "":
		return nil, operators.MissingSecret("aws.secret_access_key", operators.Faultf("secret not found", "Secret not found for key: 'aws.secret_access_key'"))
	}
	return credentials.NewStaticCredentialsProvider(values[0], values[1], values[2]), nil
}

var (
	regionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-\d+$`) })
	regionPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[.:/])([a-z]{2}(?:-[a-z]+)+-\d+)(?:[.:/]|$)`) })
)

// place sets region and endpoint: from the secrets, then the parameters, then the host. An endpoint takes precedence
// over a region.
func (s secrets) place(c *sdk.Config, p *operators.Params) error {
	region, err := s.first("region")
	if err != nil {
		return err
	}
	ownRegion, err := p.StringOr("region", "")
	if err != nil {
		return err
	}
	endpoint, err := s.task.OptionalSecret("aws." + s.service + ".endpoint")
	if err != nil {
		return err
	}
	ownEndpoint, err := p.StringOr("endpoint", "")
	if err != nil {
		return err
	}
	if region == "" {
		region = ownRegion
	}
	if endpoint == "" {
		endpoint = ownEndpoint
	}
	if region != "" && !regionForm().MatchString(region) {
		return param.Errorf("Illegal AWS region: %s", region)
	}
	if endpoint != "" {
		if err := setEndpoint(c, endpoint); err != nil {
			return err
		}
		if found := regionPart().FindStringSubmatch(endpoint); found != nil {
			region = found[1] // requests must be signed for the endpoint's region
		}
	}
	switch {
	case region != "":
		c.Region = region
	case c.Region == "":
		c.Region = "us-east-1" // the traditional default of AWS clients
	}
	return nil
}

func setEndpoint(c *sdk.Config, endpoint string) error {
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return param.Errorf("Illegal AWS endpoint: %s: write it like https://host:port", endpoint)
	}
	c.BaseEndpoint = new(endpoint)
	return nil
}

// assume takes on the role named by the secret `role_arn` and returns it, "" if there is none.
func (s secrets) assume(c *sdk.Config, host sdk.Config) (string, error) {
	role, err := s.first("role_arn")
	if err != nil || role == "" {
		return "", err
	}
	session, err := s.first("role_session_name")
	if err != nil {
		return "", err
	}
	if session == "" {
		session = "zerodag-" + s.task.IdempotencyKey()
	}
	at, err := s.task.OptionalSecret("aws.sts.endpoint")
	if err != nil {
		return "", err
	}
	own := c.Copy()
	own.BaseEndpoint = host.BaseEndpoint // not the endpoint of the service
	if at != "" {
		if err := setEndpoint(&own, at); err != nil {
			return "", err
		}
	}
	c.Credentials = sdk.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(own), role, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = session
	}))
	return role, nil
}
