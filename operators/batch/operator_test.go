package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/operators"
	ours "zerodag/operators/batch"
	"zerodag/operators/operatortest"
)

// environments makes the tests create environments one after the other: the first environment of the test bed creates a
// role, which two concurrent tests would both create.
var environments sync.Mutex

// definition registers a job that runs a shell script, and makes a queue with the same name.
func definition(t *testing.T, script string) (string, *batch.Client) {
	t.Helper()
	client := batch.NewFromConfig(localstack.Config(t))
	name := localstack.Name()
	environments.Lock()
	_, err := client.CreateComputeEnvironment(t.Context(), &batch.CreateComputeEnvironmentInput{ComputeEnvironmentName: &name, Type: types.CETypeUnmanaged, State: types.CEStateEnabled})
	environments.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CreateJobQueue(t.Context(), &batch.CreateJobQueueInput{JobQueueName: &name, Priority: new(int32(1)), State: types.JQStateEnabled,
		ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{{ComputeEnvironment: &name, Order: new(int32(1))}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.RegisterJobDefinition(t.Context(), &batch.RegisterJobDefinitionInput{JobDefinitionName: &name, Type: types.JobDefinitionTypeContainer,
		Parameters: map[string]string{"who": "nobody"},
		ContainerProperties: &types.ContainerProperties{Image: new("any"), Command: []string{"/bin/sh", "-c", script, "sh", "Ref::who"},
			ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: new("1")}, {Type: types.ResourceTypeMemory, Value: new("512")}}}})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		for _, job := range list(ctx, client, name) { // no job may outlive the test
			if _, err := client.TerminateJob(ctx, &batch.TerminateJobInput{JobId: job.JobId, Reason: new("the test is over")}); err != nil {
				return err
			}
		}
		_, err := client.DeregisterJobDefinition(ctx, &batch.DeregisterJobDefinitionInput{JobDefinition: new(name + ":1")})
		_, err2 := client.DeleteJobQueue(ctx, &batch.DeleteJobQueueInput{JobQueue: &name})
		return errors.Join(err, err2)
	})
	return name, client
}

// list returns the jobs of a queue that `batch>` submitted.
func list(ctx context.Context, client *batch.Client, queue string) []types.JobSummary {
	out, err := client.ListJobs(ctx, &batch.ListJobsInput{JobQueue: &queue, Filters: []types.KeyValuesPair{{Name: new("JOB_NAME"), Values: []string{"zerodag*"}}}})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(out.JobSummaryList, func(j types.JobSummary) bool { return strings.Contains(*j.JobId, ":") }) // the jobs of an array
}

func jobs(t *testing.T, client *batch.Client, queue string) int {
	t.Helper()
	return len(list(t.Context(), client, queue))
}

func grant(_ *testing.T, w *operatortest.World) { maps.Copy(w.Vault, localstack.Secrets("batch")) }

// world returns a task for a definition, with an attempt that no other test uses.
func world(t *testing.T, name, more string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, `{"_command": "`+name+`", "queue": "`+name+`"`+more+`}`)
	w.SessionUUID = name
	grant(t, w)
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

// plain replaces the values that differ from run to run.
func plain(e operatortest.Ended, w *operatortest.World) operatortest.Ended {
	id, _ := w.State.Map("commandStatus").Get("job")
	for _, s := range []*string{&e.Error, &e.Store} {
		*s = strings.ReplaceAll(strings.ReplaceAll(*s, id.(string), "ID"), w.SessionUUID, "NAME")
		if from := strings.Index(*s, `"name":"zerodag-`); from >= 0 {
			*s = (*s)[:from+16] + (*s)[from+16+36:]
		}
	}
	return e
}

func TestExercise(t *testing.T) {
	t.Parallel()
	name, _ := definition(t, "true")
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ours.Operator(),
		Good: `{"_command": "` + name + `", "queue": "` + name + `", "name": "n", "parameters": {"who": 1}, "command": ["/bin/true"], "env": {"A": 1}, "vcpus": 0.5, "memory": 1024,
			"gpus": 1, "attempts": 2, "array_size": 2, "timeout": "2m", "share_identifier": "s", "scheduling_priority": 3, "tags": {"team": "data"}}`,
		Wrong: []string{`{}`, `{"_command": "d"}`, `{"_command": "", "queue": "q"}`, `{"_command": "d", "queue": "q", "name": "ä"}`, `{"_command": "d", "queue": "q", "array_size": 1}`,
			`{"_command": "d", "queue": "q", "attempts": 11}`, `{"_command": "d", "queue": "q", "timeout": "5s"}`, `{"_command": "d", "queue": "q", "timeout": "x"}`,
			`{"_command": "d", "queue": "q", "env": 1}`, `{"_command": "d", "queue": "q", "command": "ls"}`, `{"_command": "d", "queue": "q", "parameters": []}`,
			`{"_command": "d", "queue": "q", "vcpus": "x"}`, `{"_command": "d", "queue": "q", "memory": 0}`, `{"_command": "d", "queue": "q", "tags": 1}`,
			`{"_command": "d", "queue": "q", "scheduling_priority": -1}`, `{"_command": "d", "queue": "q", "region": "Mars"}`},
		Prepare: func(t *testing.T, w *operatortest.World) {
			grant(t, w)
			if w.Local.Has("region") {
				delete(w.Vault, "aws.region")
			}
		},
	})
}

func TestSucceeds(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`, "parameters": {"who": "ü"}, "env": {"A": {"b": 1}}`:                                          "ü {\"b\":1}\n",
		`, "command": ["/bin/sh", "-c", "echo $A $0 > $OUT", "0"], "env": {"A": "x", "OUT": "DIR/out"}`: "x 0\n",
	} {
		dir := t.TempDir()
		name, client := definition(t, `echo "$1 $A" > `+dir+`/out`)
		w := world(t, name, strings.ReplaceAll(params, "DIR", dir))
		got := untilDone(t, w)
		stored := `{"batch":{"last_job":{"id":"ID","name":"zerodag-","exit_code":0,"log_stream":"NAME/default/ID"}}}`
		if diff := cmp.Diff(operatortest.Ended{Store: stored}, plain(got, w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
		said, err := os.ReadFile(filepath.Join(dir, "out"))
		if diff := cmp.Diff(want, string(said)); diff != "" || err != nil {
			t.Errorf("%s: %s %v", params, diff, err)
		}
		if n := jobs(t, client, name); n != 1 {
			t.Errorf("%s: there were %d jobs, want 1", params, n)
		}
	}
}

// TestFails checks that the error describes how the job ended, and that another try of the task submits another job.
func TestFails(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "exit 3")
	w := world(t, name, `, "attempts": 2`)
	got := plain(untilDone(t, w), w)
	want := operatortest.Ended{Error: "batch>: job ID failed: exit code 3, 2 attempts; its output is in /aws/batch/job NAME/default/ID"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	w.State = param.New("retry_count", int64(1)) // as `_retry` leaves it
	untilDone(t, w)
	if n := jobs(t, client, name); n != 2 {
		t.Errorf("there were %d jobs, want one for each try", n)
	}
}

func TestArray(t *testing.T) {
	t.Parallel()
	name, _ := definition(t, "test $AWS_BATCH_JOB_ARRAY_INDEX != 1")
	w := world(t, name, `, "array_size": 3`)
	if got := untilDone(t, w); !strings.Contains(got.Error, "failed: 1 of its 3 jobs failed, Array Child Job failed") {
		t.Errorf("got %+v", got)
	}
	name, _ = definition(t, "true")
	w = world(t, name, `, "array_size": 3`)
	if got := untilDone(t, w); !strings.Contains(got.Store, `"succeeded":3,"failed":0}`) {
		t.Errorf("got %+v", got)
	}
}

// TestSubmitsOnce checks that one job runs even if the first run is delivered several times.
func TestSubmitsOnce(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "true")
	first := look(t, world(t, name, ""))
	w := world(t, name, "")
	w.State = first.State
	untilDone(t, w)
	again := look(t, world(t, name, `, "env": {"A": "evaluated to something else"}`))
	if diff := cmp.Diff(param.Text(first.State), param.Text(again.State)); diff != "" {
		t.Error(diff)
	}
	if n := jobs(t, client, name); n != 1 {
		t.Errorf("there were %d jobs, want 1", n)
	}
}

// lossy returns the address of a LocalStack that loses the responses of the first submissions, and a counter of all
// submissions.
func lossy(t *testing.T, lost int64) (string, *atomic.Int64) {
	t.Helper()
	var submitted atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := http.NewRequestWithContext(r.Context(), r.Method, localstack.Endpoint()+r.URL.RequestURI(), r.Body)
		if err != nil {
			panic(err)
		}
		out.Header, out.ContentLength = r.Header, r.ContentLength
		answer, err := http.DefaultClient.Do(out)
		if err != nil || r.URL.Path == "/v1/submitjob" && submitted.Add(1) <= lost {
			panic(http.ErrAbortHandler)
		}
		defer answer.Body.Close()
		maps.Copy(w.Header(), answer.Header)
		w.WriteHeader(answer.StatusCode)
		io.Copy(w, answer.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL, &submitted
}

// TestLostAnswer checks that after a lost response the task searches for the submitted job before it submits another
// one.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "true")
	url, submitted := lossy(t, 1)
	w := world(t, name, "")
	w.Vault["aws.batch.endpoint"] = url
	later := look(t, w)
	if later.After != 10*time.Second {
		t.Errorf("it looks for the job after %v, want 10s", later.After)
	}
	w.State = later.State
	if got := untilDone(t, w); got.Error != "" {
		t.Error(got)
	}
	if jobs(t, client, name) != 1 || submitted.Load() != 1 {
		t.Errorf("%d submissions made %d jobs, want 1", submitted.Load(), jobs(t, client, name))
	}
}

// TestKeepsOne checks that only one job is left if two concurrent runs submit one each.
func TestKeepsOne(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "exec sleep 300")
	w := world(t, name, "")
	state := look(t, w).State
	first := list(t.Context(), client, name)[0]
	if _, err := client.SubmitJob(t.Context(), &batch.SubmitJobInput{JobName: first.JobName, JobDefinition: &name, JobQueue: &name}); err != nil {
		t.Fatal(err)
	}
	w.State = state
	w.State = look(t, w).State
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		running := 0
		for _, j := range list(t.Context(), client, name) {
			if j.Status == types.JobStatusRunning {
				running++
			}
		}
		if running == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d jobs are running, want 1", running)
		}
	}
	if id, _ := w.State.Map("commandStatus").Get("job"); id != *first.JobId {
		t.Errorf("the job is %v, want the first, %s", id, *first.JobId)
	}
}

// TestTrouble checks that one job runs, and its end is noticed, when calls are throttled, fail or lose their responses,
// even if the state of a run is also lost.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		name, client := definition(t, "true")
		p := proxy.Start(t, "")
		p.Trouble(seed, proxy.Faults{Throttle: 0.1, Before: 0.1, After: 0.2})
		w := world(t, name, "")
		w.Vault["aws.batch.endpoint"] = p.URL
		look(t, w) // its state is lost
		if got := untilDone(t, w); got.Error != "" {
			t.Errorf("seed %d: %+v", seed, got)
		}
		if n := jobs(t, client, name); n != 1 {
			t.Errorf("seed %d: there were %d jobs, want 1", seed, n)
		}
	}
}

func TestLooks(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "exec sleep 300")
	w := world(t, name, "")
	operatortest.Waits(t, ours.Operator(), w, 2, 4, 8, 16, 32, 60, 60)
	if n := jobs(t, client, name); n != 1 {
		t.Errorf("there were %d jobs, want 1", n)
	}
}

// TestKill checks that a job is ended, even by a run that has no record of its submission, and that a kill without a
// job succeeds.
func TestKill(t *testing.T) {
	t.Parallel()
	name, client := definition(t, "exec sleep 300")
	w := world(t, name, "")
	operatortest.Stops(t, ours.Operator(), w)
	if got := untilDone(t, w); !strings.Contains(got.Error, "failed: attempt 5 of project was killed, exit code 137") {
		t.Errorf("got %+v", got)
	}
	if n := jobs(t, client, name); n != 1 {
		t.Errorf("there were %d jobs, want 1", n)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	name, _ := definition(t, "true")
	for params, want := range map[string]string{
		`{"_command": "nosuch", "queue": "` + name + `"}`: "batch>: can't submit nosuch to " + name + ": ClientException: Job definition nosuch does not exist",
		`{"_command": "` + name + `", "queue": "nosuch"}`: "batch>: can't list the jobs of nosuch: ClientException: Job queue nosuch does not exist",
	} {
		w := operatortest.New(t, params)
		grant(t, w)
		if diff := cmp.Diff(operatortest.Ended{Error: want}, operatortest.RunOnce(t, ours.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

// TestWhatIsAsked compares the request with the parameters.
func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		json.NewDecoder(r.Body).Decode(&in)
		if r.URL.Path == "/v1/listjobs" {
			io.WriteString(w, `{"jobSummaryList":[]}`)
			return
		}
		name, _ := in["jobName"].(string)
		in["jobName"] = len(name)
		text, _ := json.Marshal(in)
		got = r.URL.Path + string(text)
		io.WriteString(w, `{"jobId":"77","jobName":"n"}`)
	}))
	t.Cleanup(s.Close)
	w := operatortest.New(t, `{"_command": "d:2", "queue": "q", "name": "load", "parameters": {"p": 1}, "command": ["c"], "env": {"B": 1, "A": "x"}, "vcpus": 0.25, "memory": 2048, "gpus": 1,
		"attempts": 3, "array_size": 10, "timeout": "1h", "share_identifier": "s", "scheduling_priority": 7, "tags": {"team": "data"}}`)
	grant(t, w)
	w.Vault["aws.batch.endpoint"] = s.URL
	look(t, w)
	want := `/v1/submitjob{"arrayProperties":{"size":10},"containerOverrides":{"command":["c"],"environment":[{"name":"B","value":"1"},{"name":"A","value":"x"}],` +
		`"resourceRequirements":[{"type":"VCPU","value":"0.25"},{"type":"MEMORY","value":"2048"},{"type":"GPU","value":"1"}]},"jobDefinition":"d:2","jobName":41,"jobQueue":"q",` +
		`"parameters":{"p":"1"},"retryStrategy":{"attempts":3},"schedulingPriorityOverride":7,"shareIdentifier":"s","tags":{"team":"data"},"timeout":{"attemptDurationSeconds":3600}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
