package s3

import (
	"context"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Limits of one run. A run that reaches one requests another run, so that a kill takes effect soon and little is
// repeated after a crash.
const (
	pageObjects = 1000
	pageBytes   = 50 << 30
	atOnce      = 16
)

// progress holds a task's progress, stored in state params.
type progress struct {
	after          string   // key of the last object that was processed
	objects, bytes int64    // so far
	pending        []string // copied by the previous run, to be deleted now
}

const progressKey = "progress"

func (t *task) progress() (progress, error) {
	p := operators.NewParams(t.State.Map(progressKey))
	var g progress
	var err error
	if g.after, err = p.StringOr("after", ""); err != nil {
		return g, err
	}
	if g.objects, err = p.IntOr("objects", 0); err != nil {
		return g, err
	}
	if g.bytes, err = p.IntOr("bytes", 0); err != nil {
		return g, err
	}
	g.pending, err = operators.ReadOr(p, "pending", operators.ListOf, nil)
	return g, err
}

// goOn requests the next run at once.
func (t *task) goOn(g progress) error {
	state := param.New("after", g.after, "objects", g.objects, "bytes", g.bytes)
	if len(g.pending) > 0 {
		list := make([]param.Value, len(g.pending))
		for i, key := range g.pending {
			list[i] = key
		}
		state.Set("pending", list)
	}
	next := t.State.Clone()
	next.Set(progressKey, state)
	return &operators.Later{State: next}
}

// done returns the result of `s3_copy>`, `s3_move>` and `s3_delete>`.
func (g progress) done(name string) operators.Result {
	counts := param.New("objects", g.objects)
	if name != "last_delete" {
		counts.Set("bytes", g.bytes)
	}
	return operators.Result{Store: param.New("s3", param.New(name, counts)), ResetStore: [][]string{{"s3", name}}}
}

// object is an object to process.
type object struct {
	key  string
	size int64
}

// page lists the next objects below a prefix, and whether there are more.
func (t *task) page(ctx context.Context, p place, after string, most int32) ([]object, bool, error) {
	out, err := t.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &p.bucket, Prefix: &p.key, StartAfter: optional(after), MaxKeys: &most})
	if err != nil {
		return nil, false, err
	}
	var list []object
	var bytes int64
	for i, o := range out.Contents {
		if bytes += *o.Size; i > 0 && bytes > pageBytes {
			return list, true, nil
		}
		list = append(list, object{*o.Key, *o.Size})
	}
	return list, out.IsTruncated != nil && *out.IsTruncated, nil
}

func copyObjects(ctx context.Context, t *task) (operators.Result, error) {
	return t.transfer(ctx, "s3_copy", false)
}

// moveObjects copies in one run and deletes in the next: a repeated delivery of either finds the objects that it needs.
func moveObjects(ctx context.Context, t *task) (operators.Result, error) {
	return t.transfer(ctx, "s3_move", true)
}

func (t *task) transfer(ctx context.Context, name string, move bool) (operators.Result, error) {
	from, to, err := t.route()
	if err != nil {
		return operators.Result{}, err
	}
	g, err := t.progress()
	if err != nil {
		return operators.Result{}, err
	}
	call := aws.Call{Operator: name, Doing: "copy s3://" + from.String() + " to s3://" + to.String(),
		Needs: "s3:GetObject and s3:ListBucket there, s3:PutObject here"}
	if len(g.pending) > 0 {
		call.Doing, call.Needs = "delete s3://"+from.String(), "s3:DeleteObject"
		if err := t.remove(ctx, from.bucket, g.pending); err != nil {
			return operators.Result{}, call.Failure(ctx, err)
		}
		g.pending = nil
		if !from.prefix() || g.after == "" {
			return g.done("last_move"), nil
		}
		return operators.Result{}, t.goOn(g)
	}
	list, more, err := t.chosen(ctx, from, g.after)
	if err != nil {
		return operators.Result{}, call.Failure(ctx, err)
	}
	if err := t.copyAll(ctx, from, to, list); err != nil {
		return operators.Result{}, call.Failure(ctx, err)
	}
	g.count(list)
	switch {
	case move && len(list) > 0:
		for _, o := range list {
			g.pending = append(g.pending, o.key)
		}
		if !more {
			g.after = "" // these are the last
		}
		return operators.Result{}, t.goOn(g)
	case more:
		return operators.Result{}, t.goOn(g)
	case move:
		return g.done("last_move"), nil
	}
	return g.done("last_copy"), nil
}

func (g *progress) count(list []object) {
	for _, o := range list {
		g.after = o.key
		g.objects++
		g.bytes += o.size
	}
}

// route returns the source and the destination of objects; a single object keeps its name in a folder.
func (t *task) route() (from, to place, err error) {
	if from, err = operators.Read(t.params, "_command", asPlace); err != nil {
		return from, to, err
	}
	if to, err = operators.Read(t.params, "to", asPlace); err != nil {
		return from, to, err
	}
	switch {
	case from.prefix() && !to.prefix():
		return from, to, param.Errorf("'to' must end with '/', like the source prefix: %s", to)
	case to.prefix() && !from.prefix():
		to.key += path.Base(from.key)
	}
	if from == to || from.prefix() && from.bucket == to.bucket && strings.HasPrefix(to.key, from.key) {
		return from, to, param.Errorf("'to' is inside the source prefix: %s", to)
	}
	return from, to, nil
}

// chosen returns the next objects: the named one, or a page of objects below a prefix.
func (t *task) chosen(ctx context.Context, from place, after string) ([]object, bool, error) {
	if from.prefix() {
		return t.page(ctx, from, after, pageObjects)
	}
	out, err := t.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &from.bucket, Key: &from.key})
	if err != nil {
		return nil, false, err
	}
	return []object{{from.key, *out.ContentLength}}, false, nil
}

func (t *task) copyAll(ctx context.Context, from, to place, list []object) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, o := range list {
		target := to
		if from.prefix() {
			target.key += strings.TrimPrefix(o.key, from.key)
		}
		group.Go(func() error {
			return copier{t.client, largestCopy, copyPart}.copy(ctx, place{from.bucket, o.key}, target, o.size)
		})
	}
	return group.Wait()
}

func deleteObjects(ctx context.Context, t *task) (operators.Result, error) {
	at, err := operators.Read(t.params, "_command", asPlace)
	if err != nil {
		return operators.Result{}, err
	}
	if at.key == "" {
		return operators.Result{}, param.Errorf("Illegal s3 path: %s: s3_delete> does not empty whole buckets; name a prefix", at)
	}
	g, err := t.progress()
	if err != nil {
		return operators.Result{}, err
	}
	call := aws.Call{Operator: "s3_delete", Doing: "delete s3://" + at.String(), Needs: "s3:DeleteObject and s3:ListBucket"}
	if !at.prefix() {
		g.pending, g.objects = []string{at.key}, 1
	}
	if err := t.remove(ctx, at.bucket, g.pending); err != nil {
		return operators.Result{}, call.Failure(ctx, err)
	}
	if !at.prefix() {
		return g.done("last_delete"), nil
	}
	// The objects to delete are stored in the state first, so that a run that is delivered twice counts the same.
	list, _, err := t.page(ctx, at, g.after, pageObjects)
	if err != nil {
		return operators.Result{}, call.Failure(ctx, err)
	}
	if len(list) == 0 {
		return g.done("last_delete"), nil
	}
	g.pending = nil
	for _, o := range list {
		g.pending = append(g.pending, o.key)
	}
	g.count(list)
	return operators.Result{}, t.goOn(g)
}

// remove deletes up to a page of objects; missing ones are not an error.
func (t *task) remove(ctx context.Context, bucket string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	list := make([]types.ObjectIdentifier, len(keys))
	for i := range keys {
		list[i].Key = &keys[i]
	}
	out, err := t.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &bucket, Delete: &types.Delete{Objects: list, Quiet: new(true)}})
	if err == nil && len(out.Errors) > 0 {
		e := out.Errors[0]
		err = &smithy.GenericAPIError{Code: *e.Code, Message: *e.Message + ": " + *e.Key}
	}
	return err
}
