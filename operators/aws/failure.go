package aws

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"zerodag/operators"
)

// Call describes one call to a service in the user's words.
type Call struct {
	Operator string // "sns"
	Doing    string // "publish to arn:aws:sns:..."
	Needs    string // the permission, "sns:Publish"
	Missing  string // hint if the resource is missing; "" for a note about name and region
}

// Failure converts a call's error to one sentence with a remedy, which can serve as the task's failure. Context errors
// are returned unchanged.
func (c Call) Failure(ctx context.Context, err error) error {
	var told *operators.Failure
	if errors.As(err, &told) {
		return err // from another call, with its own message
	}
	code := Code(err)
	tell := func(format string, args ...any) error {
		return operators.Causedf(err, c.Operator+">: can't "+c.Doing+": "+format, args...)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case slices.Contains(badKeys, code):
		return tell("AWS does not accept the credentials (%s): renew the secrets aws.access_key_id and aws.secret_access_key", code)
	case slices.Contains(denied, code), code == "" && Status(err) == http.StatusForbidden:
		return tell("access denied: allow %s to the credentials of the secrets aws.*, or of this host's role%s", c.Needs, reason(err))
	case slices.Contains(missing, code), Status(err) == http.StatusNotFound:
		if c.Missing != "" {
			return tell("it does not exist: %s", c.Missing)
		}
		return tell("it does not exist: check its name, the account and the region")
	case Temporary(err):
		return tell("AWS is not responding (%s): run it again, or add a `_retry` to the task", short(err))
	}
	return tell("%s", short(err))
}

// The services' error codes for problems that users can fix.
var (
	badKeys = []string{"ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidClientTokenId", "InvalidToken",
		"SignatureDoesNotMatch", "InvalidSignatureException", "UnrecognizedClientException", "MissingAuthenticationToken", "IncompleteSignature"}
	denied = []string{"AccessDenied", "AccessDeniedException", "AuthorizationError", "AuthorizationErrorException", "UnauthorizedOperation",
		"Forbidden", "KMSAccessDenied", "KMSAccessDeniedException"}
	missing = []string{"NoSuchBucket", "NoSuchKey", "NotFound", "NotFoundException", "ResourceNotFoundException", "QueueDoesNotExist",
		"AWS.SimpleQueueService.NonExistentQueue", "StateMachineDoesNotExist", "ExecutionDoesNotExist", "EntityNotFoundException"}
)

// Code returns the AWS error code; "" for other errors.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// Status returns the HTTP status of the response that caused an error, or 0 if there was none.
func Status(err error) int {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// Temporary reports whether a retry may help: throttling, an outage, no response.
func Temporary(err error) bool {
	var refused interface{ Lasting() bool }
	if errors.As(err, &refused) && refused.Lasting() { // by this host, see internal/egress
		return false
	}
	var network net.Error
	status := Status(err)
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == sdk.TrueTernary ||
		retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == sdk.TrueTernary ||
		errors.As(err, &network) || status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}

// short returns the service's own message, without the SDK's description of the request.
func short(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		if api.ErrorMessage() == "" {
			return api.ErrorCode()
		}
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Error()
	}
	return err.Error()
}

func reason(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorMessage() != "" {
		return " (" + api.ErrorMessage() + ")"
	}
	return ""
}
