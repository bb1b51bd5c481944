// Package lambda implements `lambda>`: it invokes an AWS Lambda function, whose result or error becomes the task's. Any
// agent may run it. It must never repeat a call that may have reached the function.
package lambda

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operator returns `lambda>`.
func Operator() operators.Operator {
	account := &aws.Account{}
	return operators.Operator{Name: "lambda", Summary: "invokes an AWS Lambda function", Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) { return run(ctx, account, t) }}
}

// largestResult is how much of a result a task may store, in bytes of JSON.
const largestResult = 256 << 10

// invocation is the call that a task requests.
type invocation struct {
	function, qualifier string
	payload             []byte
	async, store        bool
}

func run(ctx context.Context, account *aws.Account, t *operators.Task) (operators.Result, error) {
	p, err := aws.Params(t, "lambda")
	if err != nil {
		return operators.Result{}, err
	}
	i, err := read(p)
	if err != nil {
		return operators.Result{}, err
	}
	c, err := account.Config(ctx, t, p, "lambda")
	if err != nil {
		return operators.Result{}, err
	}
	c.Region = aws.RegionOf(i.function, 7, c.Region)
	client := lambda.NewFromConfig(c, func(o *lambda.Options) { o.Retryer = onlyRefused() })
	out, err := client.Invoke(ctx, i.input(t))
	if err != nil {
		return operators.Result{}, aws.Call{Operator: "lambda", Doing: "invoke " + i.function, Needs: "lambda:InvokeFunction"}.Failure(ctx, err)
	}
	if i.async {
		t.Log.Line(operators.Info, "LambdaOperator", "Handed the event to "+i.function)
		return operators.Result{}, nil
	}
	if tail, err := base64.StdEncoding.DecodeString(sdk.ToString(out.LogResult)); err == nil {
		t.Log.Write(tail) //nolint:errcheck // a task's log never fails
	}
	if out.FunctionError != nil {
		return operators.Result{}, operators.Failf("lambda>: function %s failed: %s", i.function, errorText(out.Payload))
	}
	return i.result(out.Payload)
}

// onlyRefused returns a retryer for calls that Lambda was too busy to accept, but not for calls that may have run.
func onlyRefused() sdk.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = 6
		o.RateLimiter = ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: map[string]struct{}{
			"TooManyRequestsException": {}, "ThrottlingException": {}, "EC2ThrottledException": {}, "ResourceNotReadyException": {}}}}
	})
}

func read(p *operators.Params) (invocation, error) {
	var i invocation
	var err error
	if i.function, err = p.String("_command"); err != nil {
		return i, err
	}
	if i.function == "" {
		return i, param.Errorf("lambda> needs the name or the ARN of a function")
	}
	if i.qualifier, err = p.StringOr("qualifier", ""); err != nil {
		return i, err
	}
	if i.async, err = p.BoolOr("async", false); err != nil {
		return i, err
	}
	if i.store, err = p.BoolOr("store_result", true); err != nil {
		return i, err
	}
	payload, err := operators.ReadOr(p, "payload", aws.AsJSON, "{}")
	i.payload = []byte(payload)
	return i, err
}

func (i invocation) input(t *operators.Task) *lambda.InvokeInput {
	in := &lambda.InvokeInput{FunctionName: &i.function, Payload: i.payload}
	if i.qualifier != "" {
		in.Qualifier = &i.qualifier
	}
	if i.async {
		in.InvocationType = types.InvocationTypeEvent
		return in
	}
	in.LogType = types.LogTypeTail
	custom := param.New("idempotency_key", aws.Name(t), "attempt_id", fmt.Sprint(t.AttemptID), "task_name", t.TaskName)
	context := base64.StdEncoding.EncodeToString([]byte(param.Text(param.New("custom", custom))))
	in.ClientContext = &context
	return in
}

// result stores what the function returned, as text if it is not JSON.
func (i invocation) result(payload []byte) (operators.Result, error) {
	if !i.store {
		return operators.Result{}, nil
	}
	if len(payload) > largestResult {
		return operators.Result{}, operators.Failf("lambda>: the result of function %s is %d bytes, but at most %d can be stored: let it write to S3 and return the key, "+
			"or set store_result: false", i.function, len(payload), largestResult)
	}
	value, err := param.ParseJSON(string(payload))
	if err != nil {
		value = string(payload)
	}
	return operators.Result{Store: param.New("lambda", param.New("last_result", value)), ResetStore: [][]string{{"lambda", "last_result"}}}, nil
}

// errorText returns a function's error in the function's own words.
func errorText(payload []byte) string {
	var e struct{ ErrorMessage, ErrorType string }
	if err := json.Unmarshal(payload, &e); err != nil || e.ErrorMessage == "" && e.ErrorType == "" {
		return string(payload)
	}
	if e.ErrorType == "" {
		return e.ErrorMessage
	}
	return fmt.Sprintf("%s (%s)", e.ErrorMessage, e.ErrorType)
}
