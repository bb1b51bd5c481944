// Package iam signs requests for API Gateway with the AWS credentials of this machine's user, which it finds the way
// every AWS tool does: environment, shared files, SSO, roles.
//
// The command line uses it. It must never store or print a secret, and does nothing before the first request, so that
// it costs nothing for commands that do not need it.
package iam

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"zerodag/internal/sigv4"
)

// service is the name for which API Gateway checks signatures.
const service = "execute-api"

// Signer signs requests. It is safe for concurrent use.
type Signer struct {
	load func() (aws.Config, error)
	now  func() time.Time
}

// New returns a signer with the credentials from the environment and from the user's files, which are read when the
// first request is signed.
func New(ctx context.Context) *Signer {
	return &Signer{now: time.Now, load: sync.OnceValues(func() (aws.Config, error) {
		c, err := awsconfig.LoadDefaultConfig(ctx)
		if err != nil {
			return c, fmt.Errorf("read the AWS configuration: %w", err)
		}
		return c, nil
	})}
}

// Sign adds the signature to a request. It reads the body into memory, because API Gateway accepts only small bodies.
func (s *Signer) Sign(r *http.Request) error {
	c, err := s.load()
	if err != nil {
		return err
	}
	region, err := regionOf(r.URL.Hostname(), c.Region)
	if err != nil {
		return err
	}
	if c.Credentials == nil {
		return errNoCredentials
	}
	who, err := c.Credentials.Retrieve(r.Context())
	if err != nil {
		return fmt.Errorf("%w: %w", errNoCredentials, err)
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	return sigv4.Sign(r.Context(), who, r, body, service, region, s.now())
}

var errNoCredentials = errors.New("there are no AWS credentials to sign with: log in (aws sso login), name a profile in AWS_PROFILE, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

var endpoint = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]+\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$`)
})

// regionOf returns a host's region: its name contains the region, except for custom domains.
func regionOf(host, configured string) (string, error) {
	if m := endpoint().FindStringSubmatch(host); m != nil {
		return m[1], nil
	}
	if configured == "" {
		return "", fmt.Errorf("unknown AWS region of %s: set AWS_REGION", host)
	}
	return configured, nil
}

// readBody returns a request's body, which can still be read afterwards.
func readBody(r *http.Request) ([]byte, error) {
	var content []byte
	if r.Body != nil {
		var err error
		if content, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("read the body of the request: %w", err)
		}
		r.Body.Close()
	}
	if len(content) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(content))
	}
	return content, nil
}
