package cloud

import (
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/env"
	"zerodag/internal/host"
	"zerodag/internal/sigv4"
	"zerodag/internal/trace/otlp"
)

// traces returns the tracer for attempts, or nil if there is none.
func traces(account aws.Config, config env.Config) host.Tracer {
	if config.Traces == "" {
		return nil
	}
	o := otlp.Options{URL: config.Traces, Resource: map[string]string{"deployment.environment.name": config.Stage, "cloud.provider": "aws", "cloud.region": account.Region}}
	if config.Traces == env.XRay {
		o.URL, o.Sign = xray(account), signed(account)
	}
	return otlp.New(o)
}

// xray returns the address at which X-Ray receives OTLP in the region.
func xray(account aws.Config) string {
	if account.BaseEndpoint != nil {
		return *account.BaseEndpoint + "/v1/traces"
	}
	return sigv4.Endpoint("xray", account.Region) + "/v1/traces"
}

// signed returns a function that signs requests to X-Ray with the function's role.
func signed(account aws.Config) func(*http.Request, []byte) error {
	return func(r *http.Request, text []byte) error {
		who, err := account.Credentials.Retrieve(r.Context())
		if err != nil {
			return err
		}
		return sigv4.Sign(r.Context(), who, r, text, "xray", account.Region, time.Now())
	}
}
