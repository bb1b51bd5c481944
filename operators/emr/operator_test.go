package emr_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/emr"
	"github.com/aws/aws-sdk-go-v2/service/emr/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/operators"
	ours "zerodag/operators/emr"
	"zerodag/operators/operatortest"
)

// place is a bucket for staging and logs, with the test's own clients.
type place struct {
	bucket  string
	emr     *emr.Client
	objects *s3.Client
}

func open(t *testing.T) place {
	t.Helper()
	c := localstack.Config(t)
	p := place{localstack.Name(), emr.NewFromConfig(c), s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })}
	if _, err := p.objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &p.bucket}); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		for _, key := range p.keys(ctx) {
			if _, err := p.objects.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &p.bucket, Key: &key}); err != nil {
				return err
			}
		}
		_, err := p.objects.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &p.bucket})
		return err
	})
	return p
}

func (p place) keys(ctx context.Context) []string {
	out, err := p.objects.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &p.bucket})
	if err != nil {
		return []string{err.Error()}
	}
	var keys []string
	for _, o := range out.Contents {
		keys = append(keys, *o.Key)
	}
	return keys
}

func (p place) object(t *testing.T, key, content string) string {
	t.Helper()
	if _, err := p.objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &p.bucket, Key: &key, Body: bytes.NewReader([]byte(content))}); err != nil {
		t.Fatal(err)
	}
	return "s3://" + p.bucket + "/" + key
}

// cluster starts a cluster that stays up.
func (p place) cluster(t *testing.T) string {
	t.Helper()
	out, err := p.emr.RunJobFlow(t.Context(), &emr.RunJobFlowInput{Name: &p.bucket, ReleaseLabel: new("emr-6.15.0"),
		Instances: &types.JobFlowInstancesConfig{KeepJobFlowAliveWhenNoSteps: new(true), MasterInstanceType: new("m5.xlarge"), InstanceCount: new(int32(1))}})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := p.emr.TerminateJobFlows(ctx, &emr.TerminateJobFlowsInput{JobFlowIds: []string{*out.JobFlowId}})
		return err
	})
	return *out.JobFlowId
}

// clusters returns the clusters whose names begin with the given text.
func (p place) clusters(t *testing.T, name string) []types.ClusterSummary {
	t.Helper()
	var list []types.ClusterSummary
	for pages := emr.NewListClustersPaginator(p.emr, &emr.ListClustersInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Clusters {
			if strings.HasPrefix(*c.Name, name+" (") {
				list = append(list, c)
			}
		}
	}
	return list
}

func (p place) steps(t *testing.T, cluster string) []types.StepSummary {
	t.Helper()
	out, err := p.emr.ListSteps(t.Context(), &emr.ListStepsInput{ClusterId: &cluster})
	if err != nil {
		t.Fatal(err)
	}
	return out.Steps
}

func grant(w *operatortest.World) {
	maps.Copy(w.Vault, localstack.Secrets("emr", "s3", "kms"))
}

// world returns a task in this place, with an attempt that no other test uses.
func (p place) world(t *testing.T, params string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, strings.ReplaceAll(params, "BUCKET", p.bucket))
	w.SessionUUID, w.StartedAt = p.bucket, time.Now()
	grant(w)
	return w
}

func look(t *testing.T, w *operatortest.World) *operators.Later {
	t.Helper()
	return operatortest.Look(t, ours.Operator(), w)
}

func untilDone(t *testing.T, w *operatortest.World) operatortest.Ended {
	t.Helper()
	return operatortest.UntilDone(t, ours.Operator(), w)
}

func said(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("nothing ran: %v", err)
	}
	return string(content)
}

const spot = `"name": "NAME", "ec2": {"key": "k", "core": {"count": 1}}`

func TestExercise(t *testing.T) {
	t.Parallel()
	p := open(t)
	cluster := p.cluster(t)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ours.Operator(),
		Good: `{"cluster": "` + cluster + `", "staging": "s3://` + p.bucket + `/staging/", "action_on_failure": "CONTINUE",
			"steps": [{"type": "command", "command": "true", "args": ["a"]}]}`,
		Wrong: []string{`{}`, `{"steps": [{"type": "command", "command": "true"}]}`, `{"cluster": "j-1", "steps": [{}]}`, `{"cluster": "j-1", "steps": [{"type": "x"}]}`,
			`{"cluster": "j-1", "steps": 1}`, `{"cluster": "j-1", "steps": [{"type": "command"}]}`, `{"cluster": "j-1", "steps": [{"type": "script", "script": "nosuch.sh"}]}`,
			`{"cluster": "j-1", "staging": "s3://b/x", "steps": [{"type": "command", "command": "c"}]}`, `{"cluster": "j-1", "staging": "x/", "steps": [{"type": "command", "command": "c"}]}`,
			`{"cluster": "j-1", "action_on_failure": "PANIC", "steps": [{"type": "command", "command": "c"}]}`, `{"cluster": "j-1", "steps": [{"type": "script", "script": "s3://b/x/"}]}`,
			`{"cluster": "j-1", "steps": [{"type": "command", "command": "c", "env": {"A": "1"}}]}`, `{"cluster": {}, "steps": [{"type": "command", "command": "c"}]}`,
			`{"cluster": {"ec2": {}}, "steps": [{"type": "command", "command": "c"}]}`, `{"cluster": {"ec2": {"key": "k", "master": {"ebs": {"devices": [{}]}}}}, "steps": [{"type": "command", "command": "c"}]}`,
			`{"cluster": {"ec2": {"key": "k"}, "configurations": [{}]}, "steps": [{"type": "command", "command": "c"}]}`,
			`{"cluster": {"ec2": {"key": "k"}, "bootstrap": [{}]}, "steps": [{"type": "command", "command": "c"}]}`,
			`{"cluster": "j-1", "steps": [{"type": "spark", "application": "s3://b/a.scala", "args": ["x"]}]}`, `{"cluster": "j-1", "steps": [{"type": "spark", "application": "s3://b/a.scala", "deploy_mode": "cluster"}]}`,
			`{"application": "a", "cluster": "j-1"}`, `{"application": "a"}`, `{"application": "a", "execution_role": "r"}`, `{"application": "a", "execution_role": "r", "spark": {}, "hive": {}}`,
			`{"application": "a", "execution_role": "r", "spark": {"application": "s3://b/k"}, "timeout": "1m"}`, `{"application": "a", "execution_role": "r", "spark": {"application": "x.py"}}`,
			`{"cluster": "j-1", "emr.region": "Mars", "steps": [{"type": "command", "command": "c"}]}`},
		Prepare: func(t *testing.T, w *operatortest.World) {
			grant(w)
			if w.Local.Has("emr.region") {
				delete(w.Vault, "aws.region")
			}
			w.SessionUUID, w.StartedAt = p.bucket, time.Now()
		},
	})
}

// TestNewCluster runs real programs on a cluster that is started for them: a bootstrap action, a script with files,
// variables and a secret, and a command.
func TestNewCluster(t *testing.T) {
	t.Parallel()
	p := open(t)
	out := filepath.Join(t.TempDir(), "out")
	key, err := kms.NewFromConfig(localstack.Config(t)).CreateKey(t.Context(), &kms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	w := p.world(t, `{"staging": "s3://BUCKET/staging/",
		"cluster": {"name": "BUCKET", "release": "emr-6.15.0", "ec2": {"key": "k", "core": {"count": 1}}, "bootstrap": ["boot.sh", {"path": "boot.sh", "name": "second", "args": ["again"]}]},
		"steps": [
			{"type": "script", "script": "run.sh", "args": ["a b", "<${secret:password}>"], "env": {"A": "1", "B": "${secret:password}"}, "files": ["data/file.txt", "s3://BUCKET/there.txt"]},
			{"type": "command", "command": "sh", "args": ["-c", "echo command >> `+out+`"]}]}`)
	w.File(t, "boot.sh", "#!/bin/sh\necho boot $1 >> "+out+"\n")
	w.File(t, "run.sh", "#!/bin/sh\necho \"$1|$2|$A|$B|$(cat file.txt)|$(cat there.txt)|$(pwd | sed 's#.*/digdag-staging/[A-Z0-9]*/##')\" >> "+out+"\n")
	w.File(t, "data/file.txt", "text")
	p.object(t, "there.txt", "other")
	w.Vault["password"], w.Vault["aws.emr.kms_key_id"] = "it's", *key.KeyMetadata.KeyId
	got := untilDone(t, w)
	list := p.clusters(t, p.bucket)
	if len(list) != 1 {
		t.Fatalf("there were %d clusters, want 1: %+v\n%s", len(list), got, w.Output)
	}
	if diff := cmp.Diff(operatortest.Ended{Store: `{"emr":{"last_cluster_id":"` + *list[0].Id + `"}}`}, got); diff != "" {
		t.Errorf("%s\n%s", diff, w.Output)
	}
	want := "boot\nboot again\na b|<it's>|1|it's|text|other|steps/0/wd\ncommand\n"
	if diff := cmp.Diff(want, said(t, out)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"there.txt"}, p.keys(t.Context())); diff != "" {
		t.Errorf("staged files were left: %s", diff)
	}
	if log := w.Output.String(); strings.Contains(log, "it's") {
		t.Errorf("the log tells a secret: %s", log)
	}
}

// TestSecretsStaySealed checks that no secret appears unencrypted on S3 or in a request.
func TestSecretsStaySealed(t *testing.T) {
	t.Parallel()
	p := open(t)
	cluster := p.cluster(t)
	key, err := kms.NewFromConfig(localstack.Config(t)).CreateKey(t.Context(), &kms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	const step = `"steps": [{"type": "command", "command": "sleep", "args": ["300", "${secret:password}"]}]}`
	w := p.world(t, `{"cluster": "`+cluster+`", "staging": "s3://BUCKET/staging/", `+step)
	w.Vault["password"] = "hidden"
	got := operatortest.RunOnce(t, ours.Operator(), w)
	if diff := cmp.Diff(operatortest.Ended{Error: "Secret not found for key: 'aws.emr.kms_key_id'", Kind: "secret not found"}, got); diff != "" {
		t.Error(diff)
	}
	w.Vault["aws.emr.kms_key_id"] = *key.KeyMetadata.KeyId
	look(t, w)
	for _, key := range p.keys(t.Context()) {
		o, err := p.objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &p.bucket, Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		var content bytes.Buffer
		content.ReadFrom(o.Body)
		if strings.Contains(content.String(), "hidden") {
			t.Errorf("%s tells a secret: %s", key, content.String())
		}
	}
	if args := strings.Join(p.steps(t, cluster)[0].Config.Args, " "); strings.Contains(args, "hidden") {
		t.Errorf("the step tells a secret: %s", args)
	}
	if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
		t.Error(err)
	}
	if keys := p.keys(t.Context()); len(keys) > 0 {
		t.Errorf("staged files were left: %v", keys)
	}
}

func TestFails(t *testing.T) {
	t.Parallel()
	p := open(t)
	cluster := p.cluster(t)
	w := p.world(t, `{"cluster": "`+cluster+`", "steps": [{"type": "command", "command": "true", "name": "first"}, {"type": "command", "command": "false"}, {"type": "command", "command": "true"}]}`)
	got := untilDone(t, w)
	if !strings.HasPrefix(got.Error, "EMR job failed: step s-") || !strings.Contains(got.Error, " Command (") || !strings.HasSuffix(got.Error, "is FAILED (cluster "+cluster+")") {
		t.Errorf("got %+v", got)
	}
	for _, want := range []string{"first (", "): COMPLETED\n", "): FAILED\n", "): CANCELLED\n"} {
		if !strings.Contains(w.Output.String(), want) {
			t.Errorf("the log does not tell how each step ended: it lacks %q: %s", want, w.Output)
		}
	}
	w.State = param.New("retry_count", int64(1)) // as `_retry` leaves it
	untilDone(t, w)
	if n := len(p.steps(t, cluster)); n != 6 {
		t.Errorf("there were %d steps, want three for each try", n)
	}
}

// TestBootstrapFails checks that the error about a cluster that does not come up contains the cluster's own message.
func TestBootstrapFails(t *testing.T) {
	t.Parallel()
	p := open(t)
	boot := p.object(t, "boot.sh", "#!/bin/sh\nexit 3\n")
	w := p.world(t, `{"cluster": {`+strings.ReplaceAll(spot, "NAME", p.bucket)+`, "bootstrap": ["`+boot+`"]}, "steps": [{"type": "command", "command": "true"}]}`)
	got := untilDone(t, w)
	if !strings.HasPrefix(got.Error, "EMR job failed: its steps were canceled: bootstrap action boot.sh returned a non-zero return code (cluster j-") {
		t.Errorf("got %+v", got)
	}
}

// TestStartsOnce checks that one cluster and one list of steps start even if the first run is delivered several times.
func TestStartsOnce(t *testing.T) {
	t.Parallel()
	p := open(t)
	cluster := p.cluster(t)
	for _, where := range []string{`"` + cluster + `"`, `{` + strings.ReplaceAll(spot, "NAME", p.bucket) + `}`} {
		params := `{"cluster": ` + where + `, "steps": [{"type": "command", "command": "true"}, {"type": "command", "command": "true"}]}`
		first := look(t, p.world(t, params))
		w := p.world(t, params)
		w.State = first.State
		if got := untilDone(t, w); got.Error != "" {
			t.Error(got)
		}
		if diff := cmp.Diff(param.Text(first.State), param.Text(look(t, p.world(t, params)).State)); diff != "" {
			t.Error(diff)
		}
	}
	if clusters, steps := len(p.clusters(t, p.bucket)), len(p.steps(t, cluster)); clusters != 1 || steps != 2 {
		t.Errorf("there were %d clusters, want 1; %d steps, want 2", clusters, steps)
	}
}

// TestTrouble checks that one cluster and one list of steps run, and their end is noticed, when calls are throttled,
// fail or lose their responses, even if the state of a run is also lost.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		p := open(t)
		cluster := p.cluster(t)
		for _, where := range []string{`"` + cluster + `"`, `{` + strings.ReplaceAll(spot, "NAME", p.bucket) + `}`} {
			w := p.world(t, `{"cluster": `+where+`, "steps": [{"type": "command", "command": "true"}]}`)
			trouble := proxy.Start(t, "")
			trouble.Trouble(seed, proxy.Faults{Throttle: 0.1, Before: 0.1, After: 0.2})
			w.Vault["aws.emr.endpoint"] = trouble.URL
			look(t, w) // its state is lost
			if got := untilDone(t, w); got.Error != "" {
				t.Errorf("seed %d: %+v", seed, got)
			}
		}
		if clusters, steps := len(p.clusters(t, p.bucket)), len(p.steps(t, cluster)); clusters != 1 || steps != 1 {
			t.Errorf("seed %d: there were %d clusters, want 1; %d steps, want 1", seed, clusters, steps)
		}
	}
}

// TestKeepsOne checks that only one cluster is left if two concurrent runs start one each.
func TestKeepsOne(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.world(t, `{"cluster": {`+strings.ReplaceAll(spot, "NAME", p.bucket)+`}, "steps": [{"type": "command", "command": "sleep", "args": ["300"]}]}`)
	state := look(t, w).State
	first := p.clusters(t, p.bucket)[0]
	time.Sleep(time.Until(first.Status.Timeline.CreationDateTime.Add(1100 * time.Millisecond))) // its times are in seconds
	_, err := p.emr.RunJobFlow(t.Context(), &emr.RunJobFlowInput{Name: first.Name, ReleaseLabel: new("emr-6.15.0"),
		Instances: &types.JobFlowInstancesConfig{KeepJobFlowAliveWhenNoSteps: new(true), MasterInstanceType: new("m5.xlarge"), InstanceCount: new(int32(1))}})
	if err != nil {
		t.Fatal(err)
	}
	w.State = state
	look(t, w)
	var left []string
	for _, c := range p.clusters(t, p.bucket) {
		if !strings.HasPrefix(string(c.Status.State), "TERMINAT") {
			left = append(left, *c.Id)
		}
	}
	if diff := cmp.Diff([]string{*first.Id}, left); diff != "" {
		t.Error(diff)
	}
	if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
		t.Error(err)
	}
}

// TestKeepsFirst checks the same for steps that were added twice to a cluster.
func TestKeepsFirst(t *testing.T) {
	t.Parallel()
	p := open(t)
	cluster := p.cluster(t)
	w := p.world(t, `{"cluster": "`+cluster+`", "steps": [{"type": "command", "command": "sleep", "args": ["2"]}]}`)
	state := look(t, w).State
	first := p.steps(t, cluster)[0]
	_, err := p.emr.AddJobFlowSteps(t.Context(), &emr.AddJobFlowStepsInput{JobFlowId: &cluster, Steps: []types.StepConfig{
		{Name: first.Name, HadoopJarStep: &types.HadoopJarStepConfig{Jar: new("command-runner.jar"), Args: []string{"false"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	w.State = state
	if got := untilDone(t, w); got.Error != "" {
		t.Error(got)
	}
	var states []types.StepState
	for _, s := range p.steps(t, cluster) {
		states = append(states, s.Status.State)
	}
	if diff := cmp.Diff([]types.StepState{types.StepStateCancelled, types.StepStateCompleted}, states); diff != "" {
		t.Error(diff)
	}
}

func TestLooks(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.world(t, `{"cluster": "`+p.cluster(t)+`", "steps": [{"type": "command", "command": "sleep", "args": ["300"]}]}`)
	operatortest.Waits(t, ours.Operator(), w, 15, 30, 60, 120, 240, 300, 300)
}

// TestKill checks that a cluster that was started for the task is terminated, and that steps on another cluster are
// canceled, even by a run that has no record of their start.
func TestKill(t *testing.T) {
	t.Parallel()
	p := open(t)
	cluster := p.cluster(t)
	const steps = `, "steps": [{"type": "command", "command": "sleep", "args": ["300"]}, {"type": "command", "command": "sleep", "args": ["300"]}]}`
	for _, where := range []string{`"` + cluster + `"`, `{` + strings.ReplaceAll(spot, "NAME", p.bucket) + `, "termination_protected": true}`} {
		w := p.world(t, `{"cluster": `+where+steps)
		if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
			t.Errorf("nothing to end: %v", err)
		}
		known := look(t, w).State
		for _, state := range []*param.Map{param.New(), param.New(), known, known} {
			w.State = state
			if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
				t.Error(err)
			}
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		open := 0
		for _, s := range p.steps(t, cluster) {
			if s.Status.State != types.StepStateCancelled {
				open++
			}
		}
		list := p.clusters(t, p.bucket)
		if open == 0 && len(list) == 1 && list[0].Status.State == types.ClusterStateTerminated {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d steps are not canceled; clusters: %+v", open, list)
		}
	}
	own, err := p.emr.DescribeCluster(t.Context(), &emr.DescribeClusterInput{ClusterId: &cluster})
	if err != nil || own.Cluster.Status.State != types.ClusterStateWaiting && own.Cluster.Status.State != types.ClusterStateRunning {
		t.Errorf("the cluster that is not the task's own is gone: %v %v", sdk.ToString(own.Cluster.Id), err)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	p := open(t)
	for params, want := range map[string]operatortest.Ended{
		`{"cluster": "j-nosuch", "steps": [{"type": "command", "command": "true"}]}`:                                               {Error: "emr>: can't list the steps of cluster j-nosuch: "},
		`{"cluster": "j-1", "steps": []}`:                                                                                          {Error: "steps"},
		`{"cluster": "j-1", "steps": [{"type": "script", "script": "s3://b/x.sh"}]}`:                                               {Error: "Please configure a S3 'staging' directory", Kind: "config"},
		`{"cluster": "j-1", "steps": [{"type": "hive", "script": "x.q"}]}`:                                                         {Error: "Please configure a S3 'staging' directory", Kind: "config"},
		`{"cluster": "j-1", "steps": [{"type": "dance"}]}`:                                                                         {Error: "Unsupported step type: dance", Kind: "config"},
		`{"application": "nosuch", "execution_role": "arn:aws:iam::000000000000:role/r", "spark": {"application": "s3://b/a.py"}}`: {Error: "emr>: can't start a job on application nosuch: it does not exist"},
	} {
		w := p.world(t, params)
		w.File(t, "x.q", "select 1")
		got := operatortest.RunOnce(t, ours.Operator(), w)
		if !strings.HasPrefix(got.Error, want.Error) || got.Kind != want.Kind {
			t.Errorf("%s: got %+v, want %+v", params, got, want)
		}
	}
}
