package glue_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/glue"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/operators"
	ours "zerodag/operators/glue"
	"zerodag/operators/operatortest"
)

func grant(_ *testing.T, w *operatortest.World) { maps.Copy(w.Vault, localstack.Secrets("glue")) }

// bed is a LocalStack job or crawler with the given name.
type bed struct {
	name   string
	client *glue.Client
}

func job(t *testing.T, atOnce int32) bed {
	t.Helper()
	b := bed{localstack.Name(), glue.NewFromConfig(localstack.Config(t))}
	_, err := b.client.CreateJob(t.Context(), &glue.CreateJobInput{Name: &b.name, Role: new("any"), Command: &types.JobCommand{Name: new("glueetl")},
		ExecutionProperty: &types.ExecutionProperty{MaxConcurrentRuns: atOnce}})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := b.client.DeleteJob(ctx, &glue.DeleteJobInput{JobName: &b.name})
		return err
	})
	return b
}

// crawler creates a crawler whose crawls behave as its description specifies.
func crawler(t *testing.T, how string) bed {
	t.Helper()
	b := bed{localstack.Name(), glue.NewFromConfig(localstack.Config(t))}
	_, err := b.client.CreateCrawler(t.Context(), &glue.CreateCrawlerInput{Name: &b.name, Role: new("any"), DatabaseName: new("d"), Description: &how,
		Targets: &types.CrawlerTargets{S3Targets: []types.S3Target{{Path: new("s3://b/p")}}}})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := b.client.DeleteCrawler(ctx, &glue.DeleteCrawlerInput{Name: &b.name})
		return err
	})
	return b
}

// world returns a task for the bed, with an attempt that no other test uses.
func (b bed) world(t *testing.T, params string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, "{"+strings.ReplaceAll(params, "NAME", b.name)+"}")
	w.SessionUUID, w.Now = b.name, time.Now()
	grant(t, w)
	return w
}

func (b bed) runs(t *testing.T) []types.JobRun {
	t.Helper()
	out, err := b.client.GetJobRuns(t.Context(), &glue.GetJobRunsInput{JobName: &b.name})
	if err != nil {
		t.Fatal(err)
	}
	return out.JobRuns
}

func (b bed) crawls(t *testing.T) []types.CrawlerHistory {
	t.Helper()
	out, err := b.client.ListCrawls(t.Context(), &glue.ListCrawlsInput{CrawlerName: &b.name})
	if err != nil {
		t.Fatal(err)
	}
	return out.Crawls
}

func look(t *testing.T, w *operatortest.World) *operators.Later {
	t.Helper()
	return operatortest.Look(t, ours.Operator(), w)
}

func untilDone(t *testing.T, w *operatortest.World) operatortest.Ended {
	t.Helper()
	return operatortest.UntilDone(t, ours.Operator(), w)
}

func TestExercise(t *testing.T) {
	t.Parallel()
	b := job(t, 100)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ours.Operator(),
		Good: `{"_command": "` + b.name + `", "arguments": {"a": 1}, "worker_type": "G.1X", "workers": 2, "timeout": "1h", "execution_class": "flex",
			"security_configuration": "s", "region": "us-east-1"}`,
		Wrong: []string{
			`{}`, `{"_command": ""}`, `{"_command": "j", "crawler": "c"}`, `{"_command": "j", "arguments": "x"}`, `{"_command": "j", "arguments": {"--zerodag-key": "k"}}`,
			`{"_command": "j", "max_capacity": "x"}`, `{"_command": "j", "max_capacity": 2, "workers": 1}`, `{"_command": "j", "workers": -1}`,
			`{"_command": "j", "timeout": "1s"}`, `{"_command": "j", "execution_class": "cheap"}`, `{"_command": "j", "glue": 1}`, `{"_command": "j", "region": "Mars"}`,
		},
		Prepare: func(t *testing.T, w *operatortest.World) {
			grant(t, w)
			delete(w.Vault, "aws.region")
		},
	})
}

func TestCrawlerExercise(t *testing.T) {
	t.Parallel()
	b := crawler(t, "takes 0")
	operatortest.Exercise(t, operatortest.Subject{Operator: ours.Operator(), Good: `{"crawler": "` + b.name + `"}`, Prepare: grant})
}

// TestRun checks that a run gets the task's settings.
func TestRun(t *testing.T) {
	t.Parallel()
	b := job(t, 1)
	w := b.world(t, `"_command": "NAME", "arguments": {"takes": 0.2, "--list": [1, "x"], "none": null}, "glue": {"worker_type": "G.2X", "workers": 3, "timeout": "2h"}`)
	got := untilDone(t, w)
	runs := b.runs(t)
	if len(runs) != 1 {
		t.Fatalf("there were %d runs: %+v", len(runs), got)
	}
	want := operatortest.Ended{Store: fmt.Sprintf(`{"glue":{"last_run":{"id":"%s","job":"%s","state":"SUCCEEDED","seconds":123}}}`, *runs[0].Id, b.name)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	arguments := maps.Clone(runs[0].Arguments)
	delete(arguments, "--zerodag-key")
	if diff := cmp.Diff(map[string]string{"--takes": "0.2", "--list": `[1,"x"]`}, arguments); diff != "" {
		t.Error(diff)
	}
	if r := runs[0]; r.WorkerType != types.WorkerTypeG2x || *r.NumberOfWorkers != 3 || *r.Timeout != 120 {
		t.Errorf("it ran with %s, %d, %d", r.WorkerType, *r.NumberOfWorkers, *r.Timeout)
	}
	w = b.world(t, `"_command": "NAME", "max_capacity": "0.0625"`)
	w.TaskID = 7
	if got := untilDone(t, w); got.Error != "" {
		t.Error(got.Error)
	}
	for _, r := range b.runs(t) {
		if *r.Id != *runs[0].Id && *r.MaxCapacity != 0.0625 {
			t.Errorf("the second run has a capacity of %v", *r.MaxCapacity)
		}
	}
}

// TestFails checks that a run's error becomes the task's error, and that another try of the task starts another run.
func TestFails(t *testing.T) {
	t.Parallel()
	b := job(t, 1)
	w := b.world(t, `"_command": "NAME", "arguments": {"fails": "no rows"}`)
	for try := range 2 {
		if got := untilDone(t, w); !strings.HasSuffix(got.Error, "of "+b.name+" ended as FAILED: no rows") {
			t.Errorf("got %+v", got)
		}
		w.State = param.New("retry_count", int64(try+1)) // as `_retry` leaves it
	}
	if n := len(b.runs(t)); n != 2 {
		t.Errorf("there were %d runs, want one for each try", n)
	}
}

// TestStartsOnce checks that nothing starts before the intent is stored, and that one run starts even if the task's run
// is delivered several times and other runs exist.
func TestStartsOnce(t *testing.T) {
	t.Parallel()
	b := job(t, 10)
	w := b.world(t, `"_command": "NAME", "arguments": {"n": 1}`)
	intent := look(t, w)
	if n := len(b.runs(t)); n != 0 || intent.After != 0 {
		t.Fatalf("%d runs before the intent is kept, next run after %v", n, intent.After)
	}
	other := b.world(t, `"_command": "NAME"`)
	other.TaskID = 7
	untilDone(t, other)
	var states []string
	for range 3 {
		w.State = intent.State
		states = append(states, param.Text(look(t, w).State))
	}
	if states[0] != states[1] || states[0] != states[2] || len(b.runs(t)) != 2 {
		t.Errorf("states %q after %d runs, want 2 of them", states, len(b.runs(t)))
	}
	if got := untilDone(t, w); got.Error != "" {
		t.Error(got.Error)
	}
}

// TestFull checks that a task waits while no further run of its job may start.
func TestFull(t *testing.T) {
	t.Parallel()
	b := job(t, 1)
	first := b.world(t, `"_command": "NAME", "arguments": {"takes": 100}`)
	first.State = look(t, first).State
	first.State = look(t, first).State
	w := b.world(t, `"_command": "NAME"`)
	w.TaskID = 7
	operatortest.Waits(t, ours.Operator(), w, 0, 5, 10, 20, 40, 60, 60)
	if err := ours.Operator().Clean(t.Context(), &first.Task); err != nil {
		t.Error(err)
	}
	if got := untilDone(t, w); got.Error != "" || len(b.runs(t)) != 2 {
		t.Errorf("after the other: %+v, %d runs", got, len(b.runs(t)))
	}
}

// TestKill checks that a run is stopped, even if its id is lost or it has ended, and that a kill starts nothing if
// nothing had started before.
func TestKill(t *testing.T) {
	t.Parallel()
	b := job(t, 1)
	w := b.world(t, `"_command": "NAME", "arguments": {"takes": 100}`)
	clean := func() {
		t.Helper()
		if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
			t.Error(err)
		}
	}
	clean() // no intent was stored
	w.State = look(t, w).State
	clean() // nothing was started
	started := look(t, w)
	clean() // the id is lost
	w.State = started.State
	clean() // it has ended
	runs := b.runs(t)
	if len(runs) != 1 || runs[0].JobRunState != types.JobRunStateStopped {
		t.Errorf("there were %d runs: %+v", len(runs), runs)
	}
	if got := untilDone(t, w); !strings.HasSuffix(got.Error, "ended as STOPPED") {
		t.Errorf("the stopped run: %+v", got)
	}
}

// TestFaults checks that one run starts, and its end is found, whatever faults the service produces.
func TestFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			b := job(t, 10)
			w := b.world(t, `"_command": "NAME", "arguments": {"takes": 0.1}`)
			w.Vault["aws.glue.endpoint"] = faulty(t, seed, 0.2)
			got := untilDone(t, w)
			if n := len(b.runs(t)); n != 1 || got.Error != "" {
				t.Errorf("%d runs, %+v", n, got)
			}
		})
	}
}

// TestCrawler checks that a task runs a separate crawl after another caller's crawl.
func TestCrawler(t *testing.T) {
	t.Parallel()
	b := crawler(t, "takes 0.3")
	if _, err := b.client.StartCrawler(t.Context(), &glue.StartCrawlerInput{Name: &b.name}); err != nil {
		t.Fatal(err)
	}
	w := b.world(t, `"crawler": "NAME"`)
	got := untilDone(t, w)
	if n := len(b.crawls(t)); n != 2 || !strings.HasPrefix(got.Store, `{"glue":{"last_crawl":{"crawler":"`+b.name+`","state":"SUCCEEDED","started":"20`) {
		t.Errorf("%d crawls, %+v", n, got)
	}
	w = b.world(t, `"crawler": "NAME"`) // and again
	if got := untilDone(t, w); got.Error != "" || len(b.crawls(t)) != 3 {
		t.Errorf("%d crawls, %+v", len(b.crawls(t)), got)
	}
}

func TestCrawlerFails(t *testing.T) {
	t.Parallel()
	b := crawler(t, "takes 0.1 fails no access")
	want := operatortest.Ended{Error: "glue>: crawler " + b.name + " ended as FAILED: no access"}
	if diff := cmp.Diff(want, untilDone(t, b.world(t, `"crawler": "NAME"`))); diff != "" {
		t.Error(diff)
	}
}

// TestCrawlerOnce checks that a lost state causes no second crawl, and that a kill ends only the task's own crawl.
func TestCrawlerOnce(t *testing.T) {
	t.Parallel()
	b := crawler(t, "takes 100")
	w := b.world(t, `"crawler": "NAME"`)
	intent := look(t, w)
	for range 3 {
		w.State = intent.State
		look(t, w)
	}
	stranger := b.world(t, `"crawler": "NAME"`)
	stranger.TaskID = 7
	stranger.State = look(t, stranger).State
	clean := func(w *operatortest.World) types.CrawlerState {
		t.Helper()
		if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
			t.Error(err)
		}
		out, err := b.client.GetCrawler(t.Context(), &glue.GetCrawlerInput{Name: &b.name})
		if err != nil {
			t.Fatal(err)
		}
		return out.Crawler.State
	}
	if state := clean(stranger); state != types.CrawlerStateRunning {
		t.Errorf("a kill of a task that waits left it %s", state)
	}
	for range 2 {
		if state := clean(w); state != types.CrawlerStateReady {
			t.Errorf("a kill left it %s", state)
		}
	}
	if n := len(b.crawls(t)); n != 1 {
		t.Errorf("there were %d crawls, want 1", n)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	b := bed{name: "nobody-made-this"}
	localstack.Config(t)
	for params, want := range map[string]string{
		`"_command": "NAME"`: "glue>: can't look up the runs of nobody-made-this: it does not exist: check its name, the account and the region",
		`"crawler": "NAME"`:  "glue>: can't look up crawler nobody-made-this: it does not exist: check its name, the account and the region",
	} {
		if diff := cmp.Diff(operatortest.Ended{Error: want}, untilDone(t, b.world(t, params))); diff != "" {
			t.Error(diff)
		}
	}
}

// faulty returns an address of the service at which a share of the calls is refused, fails, or loses its response.
func faulty(t *testing.T, seed uint64, share float64) string {
	t.Helper()
	p := proxy.Start(t, "")
	p.Trouble(seed, proxy.Faults{Throttle: share, Before: share, After: share})
	return p.URL
}
