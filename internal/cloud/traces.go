package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"zerodag/internal/env"
	"zerodag/internal/host"
	"zerodag/internal/trace/otlp"
)

// traces returns what sends the traces of attempts, or nil.
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

// xray is the address at which X-Ray receives OTLP in the region.
func xray(account aws.Config) string {
	if account.BaseEndpoint != nil {
		return *account.BaseEndpoint + "/v1/traces"
	}
	suffix := "amazonaws.com"
	if len(account.Region) > 3 && account.Region[:3] == "cn-" {
		suffix = "amazonaws.com.cn"
	}
	return "https://xray." + account.Region + "." + suffix + "/v1/traces"
}

// signed signs requests to X-Ray as the function's role.
func signed(account aws.Config) func(*http.Request, []byte) error {
	return func(r *http.Request, text []byte) error {
		who, err := account.Credentials.Retrieve(r.Context())
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		return v4.NewSigner().SignHTTP(r.Context(), who, r, hex.EncodeToString(sum[:]), "xray", account.Region, time.Now())
	}
}
