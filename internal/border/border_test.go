package border_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

// TestTranslate checks which errors the host may retry.
func TestTranslate(t *testing.T) {
	t.Parallel()
	api := func(code string, fault smithy.ErrorFault) error {
		return fmt.Errorf("operation error: %w", &smithy.GenericAPIError{Code: code, Fault: fault})
	}
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"throttled":       {api("ThrottlingException", smithy.FaultClient), host.ErrUnavailable},
		"too much":        {api("ProvisionedThroughputExceededException", smithy.FaultClient), host.ErrUnavailable},
		"AWS is broken":   {api("InternalServerError", smithy.FaultServer), host.ErrUnavailable},
		"no way":          {&net.OpError{Op: "dial", Err: errors.New("refused")}, host.ErrUnavailable},
		"no answer":       {&net.OpError{Op: "dial", Err: timeout{}}, host.ErrUnavailable},
		"too late":        {fmt.Errorf("late: %w", context.DeadlineExceeded), context.DeadlineExceeded},
		"half an answer":  {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), host.ErrUnavailable},
		"one of ours":     {api("TooManyUpdates", smithy.FaultClient), host.ErrUnavailable},
		"a mistake":       {api("ValidationException", smithy.FaultClient), nil},
		"not allowed":     {api("AccessDeniedException", smithy.FaultClient), nil},
		"the caller left": {fmt.Errorf("canceled: %w", context.Canceled), context.Canceled},
	} {
		got := border.Translate("do it", c.err, "TooManyUpdates")
		if !errors.Is(got, c.err) || c.want != nil && !errors.Is(got, c.want) || c.want == nil && errors.Is(got, host.ErrUnavailable) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if border.Translate("do it", nil) != nil {
		t.Error("a success became an error")
	}
}

// timeout is a connection's timeout, which looks like a context's timeout.
type timeout struct{}

func (timeout) Error() string        { return "i/o timeout" }
func (timeout) Timeout() bool        { return true }
func (timeout) Temporary() bool      { return true }
func (timeout) Is(target error) bool { return target == context.DeadlineExceeded }

// TestWait proves that waits grow, are random and stay short.
func TestWait(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for tries := range 100 {
		w := border.Wait(tries)
		if w <= 0 || w > 2500*time.Millisecond || tries == 0 && w > 40*time.Millisecond {
			t.Errorf("after %d tries it waits %v", tries, w)
		}
		seen[w] = true
	}
	if len(seen) < 50 {
		t.Errorf("100 waits have only %d values", len(seen))
	}
}
