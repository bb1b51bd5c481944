package s3

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// The state of a wait: {EXISTS: {iteration, start_time}, POLL: {iteration}}, the second for polls that failed.
const (
	existsKey    = "EXISTS"
	failedKey    = "POLL"
	shortestWait = 5 * time.Second
	longestWait  = 5 * time.Minute
)

type waitOptions struct {
	input       *s3.HeadObjectInput
	timeout     time.Duration // -1: no limit
	mayContinue bool
}

func wait(ctx context.Context, t *task) (operators.Result, error) {
	o, err := t.waitOptions()
	if err != nil {
		return operators.Result{}, err
	}
	name := *o.input.Bucket + "/" + *o.input.Key
	out, err := t.client.HeadObject(ctx, o.input)
	switch {
	case err == nil:
		return found(out)
	case ctx.Err() != nil:
		return operators.Result{}, ctx.Err()
	case aws.Status(err) == http.StatusNotFound:
		t.Log.Line(operators.Info, "S3WaitOperator", fmt.Sprintf("Object '%s' does not yet exist", name))
		return t.lookAgain(o, existsKey)
	case aws.Temporary(err):
		t.Log.Line(operators.Warn, "S3WaitOperator", fmt.Sprintf("Can't look up '%s', retrying: %v", name, err))
		return t.lookAgain(o, failedKey)
	}
	return operators.Result{}, aws.Call{Operator: "s3_wait", Doing: "look up '" + name + "'",
		Needs: "s3:GetObject and s3:ListBucket"}.Failure(ctx, err)
}

func (t *task) waitOptions() (waitOptions, error) {
	var o waitOptions
	at, err := t.awaited()
	if err != nil {
		return o, err
	}
	version, err := t.params.StringOr("version_id", "")
	if err != nil {
		return o, err
	}
	key, err := t.encryption()
	if err != nil {
		return o, err
	}
	if o.timeout, err = t.params.DurationOr("timeout", -1); err != nil {
		return o, err
	}
	o.input = &s3.HeadObjectInput{Bucket: &at.bucket, Key: &at.key, VersionId: optional(version),
		SSECustomerKey: optional(key.key), SSECustomerAlgorithm: optional(key.algorithm), SSECustomerKeyMD5: optional(key.md5)}
	o.mayContinue, err = t.params.BoolOr("continue_on_timeout", false)
	return o, err
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// awaited returns the object named by the command, or else by bucket and key.
func (t *task) awaited() (place, error) {
	p := t.params
	command, bucket, key := p.Has("_command"), p.Has("bucket"), p.Has("key")
	if command && (bucket || key) || !command && !(bucket && key) {
		return place{}, param.Errorf("Either the s3_wait operator command or both 'bucket' and 'key' parameters must be set")
	}
	if command {
		at, err := operators.Read(p, "_command", asPlace)
		if err == nil && at.key == "" {
			err = param.Errorf("Illegal s3 path: %s", at)
		}
		return at, err
	}
	var at place
	var err error
	if at.bucket, err = p.String("bucket"); err != nil {
		return at, err
	}
	at.key, err = p.String("key")
	return at, err
}

// lookAgain requests another poll, unless time has run out. counter selects the polls to count.
func (t *task) lookAgain(o waitOptions, counter string) (operators.Result, error) {
	next := t.State.Clone()
	exists := t.State.Map(existsKey).Clone()
	start, err := operators.NewParams(exists).IntOr("start_time", t.Now.UnixMilli())
	if err != nil {
		return operators.Result{}, err
	}
	exists.Set("start_time", start)
	next.Set(existsKey, exists)
	counted := next.Map(counter).Clone()
	n, err := operators.NewParams(counted).IntOr("iteration", 0)
	if err != nil {
		return operators.Result{}, err
	}
	counted.Set("iteration", n+1)
	next.Set(counter, counted)
	after := aws.Backoff(n, shortestWait, longestWait)
	if o.timeout >= 0 {
		rest := time.UnixMilli(start).Add(o.timeout).Sub(t.Now)
		switch {
		case rest <= 0 && o.mayContinue:
			return operators.Result{Store: param.New("s3", param.New()), ResetStore: resetObject()}, nil
		case rest <= 0:
			return operators.Result{}, operators.Failf("Timeout happened")
		}
		after = max(min(after, rest), shortestWait)
	}
	return operators.Result{}, &operators.Later{After: after, State: next}
}

func resetObject() [][]string { return [][]string{{"s3", "last_object"}} }

// found returns what a task stores about the object.
func found(out *s3.HeadObjectOutput) (operators.Result, error) {
	response, ok := awsmiddleware.GetRawResponse(out.ResultMetadata).(*smithyhttp.Response)
	if !ok {
		return operators.Result{}, fmt.Errorf("read the headers of the object: no response")
	}
	metadata, user := headers(response.Header, out)
	object := param.New("metadata", metadata, "user_metadata", user)
	return operators.Result{Store: param.New("s3", param.New("last_object", object)), ResetStore: resetObject()}, nil
}

const userPrefix = "X-Amz-Meta-"

// headers returns the headers of the object by the names that S3 sends. Headers of the response itself are omitted,
// times are in milliseconds, and the tag has no quotes.
func headers(h http.Header, out *s3.HeadObjectOutput) (metadata, user *param.Map) {
	metadata, user = param.New(), param.New()
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := h.Get(name)
		switch {
		case strings.HasPrefix(name, userPrefix):
			user.Set(strings.ToLower(name[len(userPrefix):]), value)
		case name == "Date", name == "Server", name == "Connection", name == "X-Amz-Request-Id", name == "X-Amz-Id-2", name == "X-Amz-Cf-Id":
		case name == "Etag":
			metadata.Set("ETag", strings.Trim(value, `"`))
		case name == "Content-Length" && out.ContentLength != nil:
			metadata.Set(name, *out.ContentLength)
		case name == "Last-Modified" && out.LastModified != nil:
			metadata.Set(name, out.LastModified.UnixMilli())
		case strings.HasPrefix(name, "X-Amz-"):
			metadata.Set(strings.ToLower(name), value)
		default:
			metadata.Set(name, value)
		}
	}
	return metadata, user
}
