// Package lambda calls the function that runs commands on AWS.
//
// Agents use it through package sandbox. It must never call the function twice for one command: a call that may have
// reached the function may have begun the command.
//
// # Costs
//
// Calls cost $0.20 per million, plus the function's running time, rounded up to a millisecond.
package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"

	"zerodag/internal/border"
	"zerodag/internal/sandbox"
)

// Function is a sandbox.Caller.
type Function struct {
	name string
	// invoke is one of the client's methods. If the client itself were stored here, the linker would keep all Lambda
	// operations: 2.7 MB in every function.
	invoke func(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// New returns a Function for an existing Lambda function.
func New(c aws.Config, name string) *Function {
	client := lambda.NewFromConfig(c, func(o *lambda.Options) { o.Retryer = aws.NopRetryer{} })
	return &Function{name, client.Invoke}
}

// Call passes one command to the function and waits for its end.
func (f *Function) Call(ctx context.Context, c sandbox.Call) (sandbox.Result, error) {
	payload, err := json.Marshal(c)
	if err != nil {
		return sandbox.Result{}, fmt.Errorf("encode call: %w", err)
	}
	out, err := f.invoke(ctx, &lambda.InvokeInput{FunctionName: &f.name, Payload: payload})
	if err != nil {
		return sandbox.Result{}, refused(f.name, err)
	}
	if out.FunctionError != nil {
		return sandbox.Result{}, ended(out.Payload)
	}
	var r sandbox.Result
	if err := json.Unmarshal(out.Payload, &r); err != nil {
		return r, fmt.Errorf("%w: its response cannot be read: %w", sandbox.ErrCrashed, err)
	}
	return r, nil
}

// later returns the error codes of calls that Lambda did not begin but may accept at another time.
func later() []string {
	return []string{"TooManyRequestsException", "ThrottlingException", "EC2ThrottledException", "ResourceNotReadyException", "ResourceConflictException",
		"ENILimitReachedException", "SubnetIPAddressLimitReachedException", "EC2UnexpectedException"}
}

// refused describes the outcome of a call without a response.
func refused(name string, err error) error {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return fmt.Errorf("%w: %w", sandbox.ErrBusy, err)
	}
	code := border.Code(err)
	for _, c := range later() {
		if c == code {
			return fmt.Errorf("%w: %s", sandbox.ErrBusy, code)
		}
	}
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorFault() == smithy.FaultClient {
		return fmt.Errorf("call the function of commands %s: %w", name, err)
	}
	return fmt.Errorf("%w: %w", sandbox.ErrUnknown, err)
}

// ended distinguishes the ways in which a function ended without a result.
func ended(payload []byte) error {
	var e struct{ ErrorType, ErrorMessage string }
	if err := json.Unmarshal(payload, &e); err != nil {
		e.ErrorMessage = string(payload)
	}
	switch {
	case e.ErrorType == "Sandbox.Timedout", strings.Contains(e.ErrorMessage, "Task timed out after"):
		return sandbox.ErrTime
	case e.ErrorType == "Runtime.OutOfMemory", e.ErrorType == "Runtime.ExitError" && strings.Contains(e.ErrorMessage, "signal: killed"):
		return sandbox.ErrMemory
	}
	return fmt.Errorf("%w: %s", sandbox.ErrCrashed, strings.TrimSpace(e.ErrorType+" "+e.ErrorMessage))
}
