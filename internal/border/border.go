// Package border defines how the AWS drivers use the SDK: how often a call is tried, how long it waits for a response,
// and how errors are translated to the host's errors.
//
// The drivers call it. It must never repeat a call that is not safe to repeat: every call that the drivers make is
// safe, and each driver's package documents why.
package border

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"

	"zerodag/internal/host"
)

// Tries is the default for how many times a call is tried.
const Tries = 6

// Limits on the wait between two tries. They are short because messages are redelivered, and API callers wait only a
// few seconds.
const (
	shortest = 25 * time.Millisecond
	longest  = 2 * time.Second
)

// Wait returns a random time that grows with the number of failed tries.
func Wait(tries int) time.Duration {
	most := min(shortest<<min(tries, 10), longest)
	return most/4 + rand.N(most) // #nosec G404 -- it only spreads retries, an attacker gains nothing by guessing it
}

// Retryer repeats calls that were throttled, got no response or an incomplete one, or failed with one of the given
// codes.
func Retryer(tries int, codes ...string) aws.Retryer {
	if tries == 0 {
		tries = Tries
	}
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = tries
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return Wait(attempt - 1), nil })
		o.Retryables = append(o.Retryables, retryables(codes), retry.IsErrorRetryableFunc(brokenOff))
		// Each call counts its tries separately: failures of other calls do not predict the outcome of this one, and the
		// queue protects the table from a storm of calls.
		o.RateLimiter = ratelimit.None
	})
}

func retryables(codes []string) retry.RetryableErrorCode {
	set := map[string]struct{}{}
	for _, c := range codes {
		set[c] = struct{}{}
	}
	return retry.RetryableErrorCode{Codes: set}
}

// brokenOff reports whether an error means that a response was cut off.
func brokenOff(err error) aws.Ternary {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
}

// Code returns AWS's code for an error; "" if the error is not from AWS.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// Translate converts an error from AWS, or from the connection to it, that remained after all tries. Temporary errors
// and errors with one of the given codes become host.ErrUnavailable.
func Translate(doing string, err error, codes ...string) error {
	var network net.Error
	var dial *net.OpError // its timeout looks like a context's timeout
	var api smithy.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &dial):
	case retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary,
		retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary,
		retryables(codes).IsErrorRetryable(err) == aws.TrueTernary, brokenOff(err) == aws.TrueTernary,
		errors.As(err, &network), errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer:
		return fmt.Errorf("%s: %w: %w", doing, host.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
