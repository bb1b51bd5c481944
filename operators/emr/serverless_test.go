package emr_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/emrserverless"
	"github.com/aws/aws-sdk-go-v2/service/emrserverless/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	ours "zerodag/operators/emr"
	"zerodag/operators/operatortest"
)

// application creates an EMR Serverless application. The tests' EMR Serverless runs an entry point as a shell script.
func application(t *testing.T) (string, *emrserverless.Client) {
	t.Helper()
	client := emrserverless.NewFromConfig(localstack.Config(t))
	out, err := client.CreateApplication(t.Context(), &emrserverless.CreateApplicationInput{Name: new(localstack.Name()), ReleaseLabel: new("emr-6.9.0"), Type: new("SPARK"),
		ClientToken: new(localstack.Name())})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		if _, err := client.StopApplication(ctx, &emrserverless.StopApplicationInput{ApplicationId: out.ApplicationId}); err != nil {
			return err
		}
		_, err := client.DeleteApplication(ctx, &emrserverless.DeleteApplicationInput{ApplicationId: out.ApplicationId})
		return err
	})
	return *out.ApplicationId, client
}

func runs(t *testing.T, client *emrserverless.Client, application string) []types.JobRunSummary {
	t.Helper()
	out, err := client.ListJobRuns(t.Context(), &emrserverless.ListJobRunsInput{ApplicationId: &application})
	if err != nil {
		t.Fatal(err)
	}
	return out.JobRuns
}

const role = `"execution_role": "arn:aws:iam::000000000000:role/spark"`

func TestServerlessExercise(t *testing.T) {
	t.Parallel()
	p := open(t)
	id, _ := application(t)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ours.Operator(),
		Good: `{"application": "` + id + `", ` + role + `, "name": "n", "staging": "s3://` + p.bucket + `/x/", "timeout": "1h", "tags": {"team": "data"}, "logs": "s3://b/logs/",
			"configurations": [{"classification": "spark-defaults", "properties": {"a": 1}}], "spark": {"application": "s3://b/a.py", "args": ["x"], "submit_options": "--conf a=b"}}`,
		Prepare: func(_ *testing.T, w *operatortest.World) {
			grant(w)
			w.SessionUUID = p.bucket
		},
	})
}

func TestServerless(t *testing.T) {
	t.Parallel()
	p := open(t)
	id, client := application(t)
	out := filepath.Join(t.TempDir(), "out")
	w := p.world(t, `{"application": "`+id+`", `+role+`, "staging": "s3://BUCKET/x/", "spark": {"application": "job.py", "args": ["a b", "`+out+`"]}}`)
	w.Template = func(text string) (string, error) { return strings.ReplaceAll(text, "${day}", "29"), nil }
	w.File(t, "job.py", `echo "$1 ${day}" > $2`)
	got := untilDone(t, w)
	list := runs(t, client, id)
	if len(list) != 1 {
		t.Fatalf("there were %d runs, want 1: %+v", len(list), got)
	}
	want := operatortest.Ended{Store: `{"emr":{"last_job_run":{"application":"` + id + `","id":"` + *list[0].Id + `"}}}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("a b 29\n", said(t, out)); diff != "" {
		t.Error(diff)
	}
	if keys := p.keys(t.Context()); len(keys) > 0 {
		t.Errorf("staged files were left: %v", keys)
	}
}

func TestServerlessFails(t *testing.T) {
	t.Parallel()
	p := open(t)
	id, client := application(t)
	w := p.world(t, `{"application": "`+id+`", `+role+`, "spark": {"application": "`+p.object(t, "job.py", "exit 3")+`"}}`)
	got := untilDone(t, w)
	want := "EMR job failed: job run " + *runs(t, client, id)[0].Id + " of application " + id +
		" is FAILED: Job failed, please check complete logs in configured logging destination. ExitCode: 3."
	if diff := cmp.Diff(operatortest.Ended{Error: want}, got); diff != "" {
		t.Error(diff)
	}
	w.State = param.New("retry_count", int64(1)) // as `_retry` leaves it
	untilDone(t, w)
	if n := len(runs(t, client, id)); n != 2 {
		t.Errorf("there were %d runs, want one for each try", n)
	}
}

// TestServerlessTrouble checks that one job runs, and its end is noticed, when calls are throttled, fail or lose their
// responses, even if the state of a run is also lost.
func TestServerlessTrouble(t *testing.T) {
	t.Parallel()
	p := open(t)
	job := p.object(t, "job.py", "true")
	for seed := range uint64(2) {
		id, client := application(t)
		w := p.world(t, `{"application": "`+id+`", `+role+`, "spark": {"application": "`+job+`"}}`)
		trouble := proxy.Start(t, "")
		trouble.Trouble(seed, proxy.Faults{Throttle: 0.1, Before: 0.1, After: 0.2})
		w.Vault["aws.emr.endpoint"] = trouble.URL
		look(t, w) // its state is lost
		if got := untilDone(t, w); got.Error != "" {
			t.Errorf("seed %d: %+v", seed, got)
		}
		if n := len(runs(t, client, id)); n != 1 {
			t.Errorf("seed %d: there were %d runs, want 1", seed, n)
		}
	}
}

// TestServerlessKill checks that a job is canceled, even by a run that has no record of its start, and that a kill
// without a job succeeds.
func TestServerlessKill(t *testing.T) {
	t.Parallel()
	p := open(t)
	id, client := application(t)
	w := p.world(t, `{"application": "`+id+`", `+role+`, "spark": {"application": "`+p.object(t, "job.py", "exec sleep 300")+`"}}`)
	if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
		t.Errorf("nothing to cancel: %v", err)
	}
	known := look(t, w).State
	for end := time.Now().Add(time.Minute); runs(t, client, id)[0].State != types.JobRunStateRunning && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	for _, state := range []*param.Map{param.New(), param.New(), known, known} {
		w.State = state
		if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
			t.Error(err)
		}
	}
	if got := untilDone(t, w); !strings.Contains(got.Error, "is CANCELLED") {
		t.Errorf("got %+v", got)
	}
	if n := len(runs(t, client, id)); n != 1 {
		t.Errorf("there were %d runs, want 1", n)
	}
}
