package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"

	"zerodag/internal/host"
)

// translate says in the host's words what DynamoDB, or the way to it, answered after all
// tries: what may go another time is host.ErrUnavailable.
func translate(doing string, err error) error {
	if err == nil {
		return nil
	}
	var lost net.Error
	var api smithy.APIError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", doing, err)
	case retryable(err), errors.As(err, &lost), errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer:
		return fmt.Errorf("%s: %w: %w", doing, host.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func retryable(err error) bool {
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary ||
		retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary ||
		retry.RetryableErrorCode{Codes: map[string]struct{}{"TransactionConflictException": {}, "TransactionInProgressException": {}}}.IsErrorRetryable(err) == aws.TrueTernary
}

// orNotFound is err, or host.ErrNotFound where there is none.
func orNotFound(err error, doing string, args ...any) error {
	if err == nil {
		err = host.ErrNotFound
	}
	return fmt.Errorf(doing+": %w", append(args, err)...)
}
