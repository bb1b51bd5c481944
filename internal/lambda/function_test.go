package lambda

import (
	"errors"
	"net"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"zerodag/internal/sandbox"
)

// TestEnds proves that the end of the function determines a command's outcome.
func TestEnds(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]error{
		`{"errorType":"Sandbox.Timedout","errorMessage":"RequestId: 1 Error: Task timed out after 600.00 seconds"}`: sandbox.ErrTime,
		`{"errorMessage":"2026-01-01T00:00:00Z 1 Task timed out after 600.00 seconds"}`:                             sandbox.ErrTime,
		`{"errorType":"Runtime.OutOfMemory","errorMessage":"RequestId: 1 Error: Runtime exited"}`:                   sandbox.ErrMemory,
		`{"errorType":"Runtime.ExitError","errorMessage":"RequestId: 1 Error: Runtime exited: signal: killed"}`:     sandbox.ErrMemory,
		`{"errorType":"Runtime.ExitError","errorMessage":"RequestId: 1 Error: Runtime exited: exit status 1"}`:      sandbox.ErrCrashed,
		`nonsense`: sandbox.ErrCrashed,
	} {
		if err := ended([]byte(payload)); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", payload, err, want)
		}
	}
}

// TestRefused proves that only calls that did not begin are retried, and that calls with an unknown outcome do not
// count as refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		err, want error
	}{
		{&types.TooManyRequestsException{}, sandbox.ErrBusy},
		{&types.ResourceNotReadyException{}, sandbox.ErrBusy},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, sandbox.ErrBusy},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, sandbox.ErrUnknown},
		{&types.ServiceException{}, sandbox.ErrUnknown},
		{errors.New("unexpected end"), sandbox.ErrUnknown},
		{&smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}, nil},
	} {
		err := refused("f", x.err)
		if known := errors.Is(err, sandbox.ErrBusy) || errors.Is(err, sandbox.ErrUnknown); known != (x.want != nil) || x.want != nil && !errors.Is(err, x.want) {
			t.Errorf("%v: got %v, want %v", x.err, err, x.want)
		}
	}
}
