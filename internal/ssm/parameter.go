package ssm

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

// Parameter is one SecureString of the deployment itself, which no project sees. It is safe for
// concurrent use.
type Parameter struct {
	name   string
	key    *string
	client *ssm.Client
}

// NewParameter returns the Parameter with the given full name. key is the ARN of the KMS key that encrypts it; "" means
// the account's default key for SSM.
func NewParameter(c aws.Config, name, key string) *Parameter {
	p := &Parameter{name: name, client: ssm.NewFromConfig(border.Answered(c), func(s *ssm.Options) { s.Retryer = border.Retryer(0, updates) })}
	if key != "" {
		p.key = &key
	}
	return p
}

// Name returns the full name.
func (p *Parameter) Name() string { return p.name }

// Read returns the value, or host.ErrNotFound if it has not been created yet.
func (p *Parameter) Read(ctx context.Context) (string, error) {
	out, err := p.client.GetParameter(ctx, &ssm.GetParameterInput{Name: &p.name, WithDecryption: aws.Bool(true)})
	if border.Code(err) == "ParameterNotFound" {
		return "", fmt.Errorf("parameter %s: %w", p.name, host.ErrNotFound)
	}
	if err != nil {
		return "", translate("read parameter "+p.name, err)
	}
	return aws.ToString(out.Parameter.Value), nil
}

// Make stores a value unless one already exists, which is not an error.
func (p *Parameter) Make(ctx context.Context, value string) error {
	_, err := p.client.PutParameter(ctx, &ssm.PutParameterInput{Name: &p.name, Value: &value, Type: types.ParameterTypeSecureString, KeyId: p.key, Overwrite: aws.Bool(false)})
	if border.Code(err) == "ParameterAlreadyExists" {
		return nil
	}
	return translate("create parameter "+p.name, err)
}
