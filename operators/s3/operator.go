// Package s3 implements `s3_wait>`, `s3_copy>`, `s3_move>` and `s3_delete>`: tasks that work on objects in buckets. Any
// agent may run them; content never passes through the agent, and a wait holds no thread.
package s3

import (
	"cmp"
	"context"
	"crypto/md5" // #nosec G501 -- S3 asks for this sum of the key to find damage
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operators returns the operators for objects.
func Operators() []operators.Operator {
	account := &aws.Account{}
	with := func(run func(context.Context, *task) (operators.Result, error)) func(context.Context, *operators.Task) (operators.Result, error) {
		return func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			s, err := open(ctx, account, t)
			if err != nil {
				return operators.Result{}, err
			}
			return run(ctx, s)
		}
	}
	return []operators.Operator{
		{Name: "s3_wait", Summary: "waits for an object in S3", Run: with(wait)},
		{Name: "s3_copy", Summary: "copies objects in S3", Retries: true, Run: with(copyObjects)},
		{Name: "s3_move", Summary: "moves objects in S3", Retries: true, Run: with(moveObjects)},
		{Name: "s3_delete", Summary: "deletes objects in S3", Retries: true, Run: with(deleteObjects)},
	}
}

// task is a task with its access to S3.
type task struct {
	*operators.Task
	params *operators.Params
	client *s3.Client
}

func open(ctx context.Context, account *aws.Account, t *operators.Task) (*task, error) {
	p, err := aws.Params(t, "s3")
	if err != nil {
		return nil, err
	}
	inPath, err := p.BoolOr("path_style_access", false)
	if err != nil {
		return nil, err
	}
	c, err := account.Config(ctx, t, p, "s3")
	if err != nil {
		return nil, err
	}
	return &task{t, p, s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = inPath })}, nil
}

// place is an object, or all objects below a prefix if key ends in "/".
type place struct{ bucket, key string }

func (p place) String() string { return p.bucket + "/" + p.key }
func (p place) prefix() bool   { return p.key == "" || strings.HasSuffix(p.key, "/") }

// asPlace reads `[s3://]BUCKET/KEY`.
func asPlace(key string, v param.Value) (place, error) {
	text, err := param.AsString(key, v)
	if err != nil {
		return place{}, err
	}
	bucket, object, found := strings.Cut(strings.TrimPrefix(text, "s3://"), "/")
	if !found || bucket == "" {
		return place{}, param.Errorf("Illegal s3 path: %s", text)
	}
	return place{bucket, object}, nil
}

// source returns an object in the format that S3 requires for the source of a copy.
func (p place) source() string {
	return strings.NewReplacer("%2F", "/", "+", "%20").Replace(url.QueryEscape(p.String()))
}

// encryption is a customer-provided key, empty for none.
type encryption struct{ key, algorithm, md5 string }

func (t *task) encryption() (encryption, error) {
	var e encryption
	var err error
	for key, to := range map[string]*string{"sse_c_key": &e.key, "sse_c_key_algorithm": &e.algorithm, "sse_c_key_md5": &e.md5} {
		if *to, err = t.OptionalSecret("aws.s3." + key); err != nil {
			return e, err
		}
	}
	if e.key == "" {
		return encryption{}, nil
	}
	raw, err := base64.StdEncoding.DecodeString(e.key)
	if err != nil {
		return e, operators.Failf("the secret aws.s3.sse_c_key is not base64: encode the 32 bytes of the key")
	}
	sum := md5.Sum(raw) // #nosec G401 -- S3 asks for this sum of the key to find damage
	e.algorithm, e.md5 = cmp.Or(e.algorithm, "AES256"), cmp.Or(e.md5, base64.StdEncoding.EncodeToString(sum[:]))
	return e, nil
}
