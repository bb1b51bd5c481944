package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	ours "zerodag/operators/s3"
)

// bed is a LocalStack bucket.
type bed struct {
	bucket string
	client *s3.Client
}

func setup(t *testing.T) bed {
	t.Helper()
	client := s3.NewFromConfig(localstack.Config(t), func(o *s3.Options) { o.UsePathStyle = true })
	b := bed{localstack.Name(), client}
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &b.bucket}); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		var list []types.ObjectIdentifier
		for _, key := range b.keys(t, ctx) {
			list = append(list, types.ObjectIdentifier{Key: &key})
		}
		if len(list) > 0 {
			if _, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &b.bucket, Delete: &types.Delete{Objects: list}}); err != nil {
				return err
			}
		}
		_, err := client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &b.bucket})
		return err
	})
	return b
}

func (b bed) put(t *testing.T, key, content string) {
	t.Helper()
	_, err := b.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.bucket, Key: &key, Body: strings.NewReader(content),
		ContentType: new("text/csv"), Metadata: map[string]string{"owner": "me"}})
	if err != nil {
		t.Fatal(err)
	}
}

func (b bed) keys(t *testing.T, ctx context.Context) []string {
	t.Helper()
	var keys []string
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			keys = append(keys, *o.Key)
		}
	}
	return keys
}

func (b bed) want(t *testing.T, keys ...string) {
	t.Helper()
	if diff := cmp.Diff(keys, b.keys(t, t.Context())); diff != "" {
		t.Errorf("objects of the bucket: %s", diff)
	}
}

// grant gives a task the secrets to reach LocalStack.
func grant(_ *testing.T, w *operatortest.World) {
	maps.Copy(w.Vault, localstack.Secrets("s3"))
}

// world returns a task that reaches the bucket. The name of the bucket replaces BUCKET in the parameters.
func (b bed) world(t *testing.T, params string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, b.text(params))
	grant(t, w)
	return w
}

func (b bed) text(params string) string {
	tree := strings.ReplaceAll(params, "BUCKET", b.bucket)
	return `{"path_style_access": true, ` + tree[1:]
}

func operator(name string) operators.Operator {
	list := ours.Operators()
	return list[slices.IndexFunc(list, func(o operators.Operator) bool { return o.Name == name })]
}

// untilDone runs a task until it is done, and returns how many runs that took.
func untilDone(t *testing.T, name string, w *operatortest.World) (operatortest.Ended, int) {
	t.Helper()
	for runs := 1; runs < 20; runs++ {
		_, err := operator(name).Run(t.Context(), &w.Task)
		var later *operators.Later
		if !errors.As(err, &later) {
			return operatortest.RunOnce(t, operator(name), w), runs // a task that is delivered twice ends in the same way
		}
		if again := operatortest.RunOnce(t, operator(name), w); again.Kind != "later" {
			t.Fatalf("run %d of %s was asked to go on, and a second delivery ended: %+v", runs, name, again)
		}
		w.State = later.State
	}
	t.Fatalf("%s does not end", name)
	return operatortest.Ended{}, 0
}

func TestExercise(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(t, "there", "12345")
	for name, c := range map[string]struct {
		good  string
		wrong []string
	}{
		"s3_wait": {`{"_command": "BUCKET/there", "timeout": "1m", "continue_on_timeout": true}`, []string{
			`{}`, `{"_command": "no_key"}`, `{"_command": "BUCKET/"}`, `{"bucket": "b"}`, `{"key": "k"}`, `{"_command": "b/k", "bucket": "b", "key": "k"}`,
			`{"_command": "b/k", "timeout": "soon"}`, `{"_command": "b/k", "region": "Mars"}`, `{"_command": "b/k", "endpoint": "://"}`,
			`{"_command": "b/k", "path_style_access": "x"}`,
		}},
		"s3_copy": {`{"_command": "BUCKET/there", "to": "BUCKET/copy"}`, []string{
			`{}`, `{"_command": "b/k"}`, `{"_command": "b", "to": "b/k"}`, `{"_command": "b/p/", "to": "b/q"}`, `{"_command": "b/k", "to": "b/k"}`,
			`{"_command": "b/p/", "to": "b/p/q/"}`,
		}},
		"s3_move":   {`{"_command": "BUCKET/there", "to": "BUCKET/moved"}`, []string{`{}`, `{"_command": "b/k"}`, `{"_command": "b/p/", "to": "b/q"}`}},
		"s3_delete": {`{"_command": "BUCKET/gone"}`, []string{`{}`, `{"_command": "b"}`, `{"_command": "b/"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := make([]string, len(c.wrong))
			for i, params := range c.wrong {
				wrong[i] = strings.ReplaceAll(params, "BUCKET", b.bucket)
			}
			operatortest.Exercise(t, operatortest.Subject{Operator: operator(name), Good: b.text(c.good), Wrong: wrong,
				Prepare: func(t *testing.T, w *operatortest.World) {
					grant(t, w)
					if w.Params.Has("endpoint") {
						delete(w.Vault, "aws.s3.endpoint")
					}
					if w.Params.Has("region") {
						delete(w.Vault, "aws.region")
					}
					w.Params = operators.NewParams(w.Local) // nothing has been read yet
				}})
		})
	}
}

// TestWaitFinds checks which values of an object are stored.
func TestWaitFinds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(t, "folder/a file+%.csv", "12345")
	for name, params := range map[string]string{
		"by path":       `{"_command": "BUCKET/folder/a file+%.csv"}`,
		"by its parts":  `{"bucket": "BUCKET", "key": "folder/a file+%.csv"}`,
		"with defaults": `{"key": "folder/a file+%.csv", "aws": {"bucket": "elsewhere", "s3": {"bucket": "BUCKET"}}}`,
	} {
		result, err := operator("s3_wait").Run(t.Context(), &b.world(t, params).Task)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		object := result.Store.Map("s3").Map("last_object")
		metadata := object.Map("metadata")
		got := map[string]param.Value{}
		for _, key := range []string{"Content-Length", "Content-Type", "ETag"} {
			got[key], _ = metadata.Get(key)
		}
		want := map[string]param.Value{"Content-Length": int64(5), "Content-Type": "text/csv", "ETag": "827ccb0eea8a706c4c34a16891f84e7b"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if at, _ := metadata.Get("Last-Modified"); time.Since(time.UnixMilli(at.(int64))).Abs() > time.Hour {
			t.Errorf("%s: last modified %v", name, at)
		}
		if got := param.Text(object.Map("user_metadata")); got != `{"owner":"me"}` {
			t.Errorf("%s: user metadata %s", name, got)
		}
		if diff := cmp.Diff([][]string{{"s3", "last_object"}}, result.ResetStore); diff != "" {
			t.Errorf("%s: reset %s", name, diff)
		}
	}
}

// TestWaitPolls checks when a wait polls again, and when it gives up.
func TestWaitPolls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began := param.Text(operatortest.Now.Add(-100 * time.Second).UnixMilli())
	for name, c := range map[string]struct {
		params, state string
		after         time.Duration // 0: the task ends as below
		want          operatortest.Ended
	}{
		"first look":     {`{"_command": "BUCKET/k"}`, `{}`, 5 * time.Second, operatortest.Ended{}},
		"fourth look":    {`{"_command": "BUCKET/k"}`, `{"EXISTS": {"iteration": 3, "start_time": 1}}`, 40 * time.Second, operatortest.Ended{}},
		"hundredth look": {`{"_command": "BUCKET/k"}`, `{"EXISTS": {"iteration": 99, "start_time": 1}}`, 5 * time.Minute, operatortest.Ended{}},
		"not beyond":     {`{"_command": "BUCKET/k", "timeout": "130s"}`, `{"EXISTS": {"iteration": 9, "start_time": ` + began + `}}`, 30 * time.Second, operatortest.Ended{}},
		"not too soon":   {`{"_command": "BUCKET/k", "timeout": "102s"}`, `{"EXISTS": {"iteration": 9, "start_time": ` + began + `}}`, 5 * time.Second, operatortest.Ended{}},
		"gives up":       {`{"_command": "BUCKET/k", "timeout": "100s"}`, `{"EXISTS": {"start_time": ` + began + `}}`, 0, operatortest.Ended{Error: "Timeout happened"}},
		"goes on":        {`{"_command": "BUCKET/k", "timeout": "100s", "continue_on_timeout": true}`, `{"EXISTS": {"start_time": ` + began + `}}`, 0, operatortest.Ended{Store: `{"s3":{}}`}},
	} {
		w := b.world(t, c.params)
		w.State = operatortest.Map(t, c.state)
		_, err := operator("s3_wait").Run(t.Context(), &w.Task)
		var later *operators.Later
		if errors.As(err, &later) {
			if later.After != c.after || !later.State.Map("EXISTS").Has("start_time") {
				t.Errorf("%s: looks again after %v with %s, want %v", name, later.After, param.Text(later.State), c.after)
			}
			if want := "Object '" + b.bucket + "/k' does not yet exist"; !strings.Contains(w.Output.String(), want) {
				t.Errorf("%s: the log lacks %q: %s", name, want, w.Output)
			}
			continue
		}
		if diff := cmp.Diff(c.want, operatortest.RunOnce(t, operator("s3_wait"), w)); diff != "" || c.after != 0 {
			t.Errorf("%s: want a look after %v, or: %s", name, c.after, diff)
		}
	}
}

// TestWaitForVersion checks that the task waits for one version, not for just any version of the object.
func TestWaitForVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(t, "k", "1")
	w := b.world(t, `{"_command": "BUCKET/k", "version_id": "96jNi7y6RzLVcS2p6sVYRWWBA4vYwcJw"}`)
	if got := operatortest.RunOnce(t, operator("s3_wait"), w); got.Error == "" {
		t.Errorf("a version that does not exist was found: %+v", got)
	}
}

// TestWaitWithOwnKey checks that an object that is encrypted with a customer's key is found with that key.
func TestWaitWithOwnKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const key, sum = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "KYvwGXoFFJ42a2u2GDWhwQ=="
	w := b.world(t, `{"_command": "BUCKET/k"}`)
	w.Vault["aws.s3.sse_c_key"] = key
	_, err := b.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.bucket, Key: new("k"), Body: bytes.NewReader([]byte("x")),
		SSECustomerAlgorithm: new("AES256"), SSECustomerKey: new(key), SSECustomerKeyMD5: new(sum)})
	if err != nil {
		t.Fatal(err)
	}
	if got := operatortest.RunOnce(t, operator("s3_wait"), w); got.Error != "" {
		t.Errorf("with the key: %+v", got)
	}
	delete(w.Vault, "aws.s3.sse_c_key")
	if got := operatortest.RunOnce(t, operator("s3_wait"), w); got.Error == "" || got.Kind == "later" {
		t.Errorf("without the key: %+v", got)
	}
}

func TestCopyMoveDelete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, key := range []string{"in/a", "in/b c+d", "in/deep/ü", "other"} {
		b.put(t, key, "12345")
	}
	for _, step := range []struct {
		name, params, store string
		runs                int
		left                []string
	}{
		{"s3_copy", `{"_command": "BUCKET/other", "to": "s3://BUCKET/in/"}`, `{"s3":{"last_copy":{"objects":1,"bytes":5}}}`, 1,
			[]string{"in/a", "in/b c+d", "in/deep/ü", "in/other", "other"}},
		{"s3_copy", `{"_command": "s3://BUCKET/in/", "to": "BUCKET/copy/"}`, `{"s3":{"last_copy":{"objects":4,"bytes":20}}}`, 1,
			[]string{"copy/a", "copy/b c+d", "copy/deep/ü", "copy/other", "in/a", "in/b c+d", "in/deep/ü", "in/other", "other"}},
		{"s3_delete", `{"_command": "BUCKET/in/a"}`, `{"s3":{"last_delete":{"objects":1}}}`, 1,
			[]string{"copy/a", "copy/b c+d", "copy/deep/ü", "copy/other", "in/b c+d", "in/deep/ü", "in/other", "other"}},
		{"s3_move", `{"_command": "BUCKET/in/", "to": "BUCKET/moved/"}`, `{"s3":{"last_move":{"objects":3,"bytes":15}}}`, 2,
			[]string{"copy/a", "copy/b c+d", "copy/deep/ü", "copy/other", "moved/b c+d", "moved/deep/ü", "moved/other", "other"}},
		{"s3_move", `{"_command": "BUCKET/other", "to": "BUCKET/again"}`, `{"s3":{"last_move":{"objects":1,"bytes":5}}}`, 2,
			[]string{"again", "copy/a", "copy/b c+d", "copy/deep/ü", "copy/other", "moved/b c+d", "moved/deep/ü", "moved/other"}},
		{"s3_copy", `{"_command": "BUCKET/nothing/", "to": "BUCKET/more/"}`, `{"s3":{"last_copy":{"objects":0,"bytes":0}}}`, 1,
			[]string{"again", "copy/a", "copy/b c+d", "copy/deep/ü", "copy/other", "moved/b c+d", "moved/deep/ü", "moved/other"}},
	} {
		got, runs := untilDone(t, step.name, b.world(t, step.params))
		if diff := cmp.Diff(operatortest.Ended{Store: step.store}, got); diff != "" || runs != step.runs {
			t.Errorf("%s %s: after %d runs, want %d: %s", step.name, step.params, runs, step.runs, diff)
		}
		b.want(t, step.left...)
	}
	got, _ := untilDone(t, "s3_delete", b.world(t, `{"_command": "BUCKET/copy/"}`))
	if got.Error != "" {
		t.Errorf("delete a prefix: %+v", got)
	}
	b.want(t, "again", "moved/b c+d", "moved/deep/ü", "moved/other")
}

// TestMessages checks that an S3 error is reported as one sentence with a remedy.
func TestMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct{ operator, params, want string }{
		"no source": {"s3_copy", `{"_command": "BUCKET/k", "to": "BUCKET/l"}`,
			"s3_copy>: can't copy s3://BUCKET/k to s3://BUCKET/l: it does not exist: check its name, the account and the region"},
		"no bucket": {"s3_delete", `{"_command": "no-BUCKET/k"}`,
			"s3_delete>: can't delete s3://no-BUCKET/k: it does not exist: check its name, the account and the region"},
	} {
		want := operatortest.Ended{Error: strings.ReplaceAll(c.want, "BUCKET", b.bucket)}
		if diff := cmp.Diff(want, operatortest.RunOnce(t, operator(c.operator), b.world(t, c.params))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestWaitOutlastsOutage checks that a wait polls again later when S3 does not respond.
func TestWaitOutlastsOutage(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"_command": "b/k", "path_style_access": true}`)
	w.Vault["aws.access_key_id"], w.Vault["aws.secret_access_key"] = "test", "test"
	w.Vault["aws.s3.endpoint"] = "http://127.0.0.1:1" // no server listens there
	_, err := operator("s3_wait").Run(t.Context(), &w.Task)
	var later *operators.Later
	if !errors.As(err, &later) || later.After != 5*time.Second || !later.State.Has("POLL") {
		t.Errorf("got %v, want a request for another run", err)
	}
}

// TestMovePages checks that a move of more than one page neither loses an object nor leaves one behind.
func TestMovePages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var want []string
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for i := range 1001 {
		key := fmt.Sprintf("in/%04d", i)
		want = append(want, "out/"+key[3:])
		group.Go(func() error {
			_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: &key, Body: strings.NewReader("x")})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	got, runs := untilDone(t, "s3_move", b.world(t, `{"_command": "BUCKET/in/", "to": "BUCKET/out/"}`))
	if diff := cmp.Diff(operatortest.Ended{Store: `{"s3":{"last_move":{"objects":1001,"bytes":1001}}}`}, got); diff != "" || runs != 4 {
		t.Errorf("after %d runs, want 4: %s", runs, diff)
	}
	b.want(t, want...)
	got, runs = untilDone(t, "s3_delete", b.world(t, `{"_command": "BUCKET/out/"}`))
	if diff := cmp.Diff(operatortest.Ended{Store: `{"s3":{"last_delete":{"objects":1001}}}`}, got); diff != "" || runs != 3 {
		t.Errorf("two pages were deleted in %d runs, want 3: %s", runs, diff)
	}
	b.want(t)
}
