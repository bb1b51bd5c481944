// Package sigv4 addresses and signs requests to AWS that are made without a client of the SDK.
//
// It must never keep or print a credential, and it is independent of any service.
package sigv4

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Endpoint returns the address of a service in a region, https://SERVICE.REGION.amazonaws.com, or its form in the
// partition for China.
func Endpoint(service, region string) string {
	address := "https://" + service + "." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		address += ".cn"
	}
	return address
}

// Sign adds the signature to a request with a body, for a service identified by its name in signatures. Errors come
// from the SDK's signer.
func Sign(ctx context.Context, who aws.Credentials, r *http.Request, body []byte, service, region string, at time.Time) error {
	sum := sha256.Sum256(body)
	return v4.NewSigner().SignHTTP(ctx, who, r, hex.EncodeToString(sum[:]), service, region, at)
}
