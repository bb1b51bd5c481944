package gcp_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/integration/fake"
	"zerodag/integration/gcpfake"
	"zerodag/operators"
	"zerodag/operators/operatortest"
)

// script returns a query that controls how the fake BigQuery behaves.
func script(does string) string { return `"query": ` + param.Text("-- bq: "+does+"\nselect") }

// faults returns all temporary faults that a request may meet.
func faults() []fake.Fault {
	return []fake.Fault{fake.Throttled, fake.Limited, fake.Broken, fake.Away, fake.Cut, fake.Lost, fake.Half, fake.Nonsense}
}

// TestStartsOnce checks that nothing is sent before the id is stored, and that one job starts even if that run is
// delivered several times. It also checks the values that are stored from the job, whose id has Digdag's format.
func TestStartsOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, `{"query": "select 1"}`)
	w.ProjectName, w.Workflow, w.AttemptID, w.TaskID = "sales é", "daily.load", 7, 3
	intent := operatortest.Look(t, operator(t, "bq"), w)
	if n := len(b.Requests()); n != 0 || intent.After != 0 {
		t.Fatalf("%d requests before the id is kept, next run after %v", n, intent.After)
	}
	w.State = intent.State
	for range 3 {
		result, err := operator(t, "bq").Run(t.Context(), &w.Task)
		if err != nil || len(b.Jobs()) != 1 {
			t.Fatalf("%d jobs, %v", len(b.Jobs()), err)
		}
		id := b.Jobs()[0].ID
		if form := fmt.Sprintf(`^digdag_s%d_p_sales___w_daily_load_t_3_a_7_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, w.SiteID); !regexp.MustCompile(form).MatchString(id) {
			t.Errorf("the id is %s", id)
		}
		same(t, `{"bq":{"last_job_id":"my-project:US.`+id+`","last_jobid":"my-project:US.`+id+`"}}`, param.Text(result.Store))
		same(t, [][]string{{"bq", "last_job_id"}, {"bq", "last_jobid"}}, result.ResetStore)
	}
	other := b.world(t, `{"query": "select 1"}`)
	if operatortest.UntilDone(t, operator(t, "bq"), other); len(b.Jobs()) != 2 {
		t.Error("another task found the job of this one")
	}
}

// TestFaults checks that one job runs and its task succeeds despite any fault in any request.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bq", "bq_load", "bq_extract"} {
		params := `{` + script(`{"looks": 1}`) + `, "_command": null}`
		switch name {
		case "bq_load":
			params = `{"_command": "gs://b/o", "destination_table": "d.t"}`
		case "bq_extract":
			params = `{"_command": "d.t", "destination": "gs://b/o"}`
		}
		for _, fault := range faults() {
			t.Run(name+"> "+string(fault), func(t *testing.T) {
				t.Parallel()
				for n := 1; n <= 5; n++ {
					b := newBed(t)
					b.PutDataset("my-project:d", "asia-northeast1")
					b.Fail(fake.Faults{At: map[int]fake.Fault{n: fault}})
					got := operatortest.UntilDone(t, operator(t, name), b.world(t, params))
					if got.Error != "" || len(b.Jobs()) != 1 || !strings.Contains(got.Store, `"last_job_id":"my-project:`) {
						t.Errorf("at request %d: %d jobs, %+v", n, len(b.Jobs()), got)
					}
				}
			})
		}
	}
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("by chance, seed %d", seed), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.PutDataset("my-project:d", "asia-northeast1")
			b.Fail(fake.Faults{Rate: 0.4, Seed: seed})
			got := operatortest.UntilDone(t, operator(t, "bq"), b.world(t, `{`+script(`{"looks": 3}`)+`, "dataset": "d"}`))
			if got.Error != "" || len(b.Jobs()) != 1 {
				t.Errorf("%d jobs, %+v", len(b.Jobs()), got)
			}
		})
	}
}

// TestDDLFaults checks that datasets and tables end up as the task specifies despite any fault in any request, and that
// finished changes are not repeated after a fault.
func TestDDLFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range faults() {
		for n := range 9 {
			b := newBed(t)
			for _, name := range []string{"old", "full", "keep"} {
				b.PutDataset("my-project:"+name, "US")
				b.PutTable("my-project:"+name, "a")
			}
			b.Fail(fake.Faults{At: map[int]fake.Fault{n + 1: fault}})
			w := b.world(t, `{"delete_datasets": ["old", "never"], "empty_datasets": ["full"], "create_datasets": ["keep", "new"], "delete_tables": ["keep.b"], "empty_tables": ["keep.a"], "create_tables": ["new.t"]}`)
			if got := operatortest.UntilDone(t, operator(t, "bq_ddl"), w); got.Error != "" {
				t.Errorf("%s at request %d: %+v", fault, n, got)
			}
			same(t, []string{"my-project:full", "my-project:keep.a", "my-project:new.t"}, b.Tables())
			if sent := len(b.Requests()); sent > 11+2 {
				t.Errorf("%s at request %d: %d requests", fault, n, sent)
			}
		}
	}
}

// TestManySteps checks that a run makes only some of many changes, and that the next run continues after them.
func TestManySteps(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.PutDataset("my-project:d", "US")
	var names []param.Value
	for i := range 250 {
		names = append(names, fmt.Sprintf("d.t%d", i))
	}
	w := b.world(t, param.Text(param.New("create_tables", names)))
	for _, done := range []int{100, 200} {
		w.State = operatortest.Look(t, operator(t, "bq_ddl"), w).State
		if n := len(b.Requests()); n != done {
			t.Errorf("%d requests, want %d", n, done)
		}
	}
	if got := operatortest.RunOnce(t, operator(t, "bq_ddl"), w); got.Error != "" || len(b.Requests()) != 250 || len(b.Tables()) != 250 {
		t.Errorf("%d requests, %d tables, %+v", len(b.Requests()), len(b.Tables()), got)
	}
}

// TestUnusedKeys checks that a meaningless key of a dataset or a table is reported, with the key that was probably
// meant.
func TestUnusedKeys(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, `{"create_datasets": [{"id": "d", "freindly_name": "x"}], "create_tables": [{"id": "t", "dataset": "d", "access": []}]}`)
	got := operatortest.UntilDone(t, operator(t, "bq_ddl"), w)
	for _, line := range []string{"'freindly_name' of a dataset is not used at task", "did you mean friendly_name?", "[WARN] BqDdlOperatorFactory: 'access' of the table t has no effect"} {
		if log := w.Output.String(); got.Error != "" || !strings.Contains(log, line) {
			t.Errorf("%+v, the log lacks %q:\n%s", got, line, log)
		}
	}
}

// TestLongErrors checks that a task's error is limited in length and is valid text.
func TestLongErrors(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, "{"+script(`{"fail": "`+strings.Repeat("é", 100<<10)+`", "reason": "invalid"}`)+"}")
	got := operatortest.UntilDone(t, operator(t, "bq"), w)
	if n := len(got.Error); n < 64<<10 || n > 66<<10 || !strings.HasSuffix(got.Error, "é…") {
		t.Errorf("%d bytes that end with %q", n, got.Error[max(0, n-20):])
	}
}

// TestLooks checks when a job is polled again, and when a call is retried.
func TestLooks(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, "{"+script(`{"looks": 100}`)+"}")
	operatortest.Waits(t, operator(t, "bq"), w, 0, 5, 5, 5, 8, 16, 30, 30)
	b.Fail(fake.Faults{Every: fake.Broken, Path: "/jobs"})
	operatortest.Waits(t, operator(t, "bq"), w, 1, 2, 4, 8, 16, 30, 30)
	b.Fail(fake.Faults{Every: fake.Throttled, Path: "/jobs", After: "86400"})
	operatortest.Waits(t, operator(t, "bq"), w, 300)
	b.Fail(fake.Faults{})
	operatortest.Waits(t, operator(t, "bq"), w, 30)
	b.Fail(fake.Faults{Every: fake.Cut, Path: "/token", After: "soon"})
	operatortest.Waits(t, operator(t, "bq"), w, 1, 2)
}

// TestLocation checks that a job is found in its location, even by a run that only learns that BigQuery has the job:
// there, BigQuery answers a poll without a location with 404.
func TestLocation(t *testing.T) {
	t.Parallel()
	for _, fault := range []fake.Fault{fake.None, fake.Lost, fake.Half, fake.Nonsense} {
		b := newBed(t)
		b.PutDataset("my-project:d", "asia-northeast1")
		b.Fail(fake.Faults{At: map[int]fake.Fault{1: fault}})
		got := operatortest.UntilDone(t, operator(t, "bq"), b.world(t, `{"query": "select 1", "dataset": "d"}`))
		if got.Error != "" || len(b.Jobs()) != 1 {
			t.Errorf("%s: %d jobs, %+v", fault, len(b.Jobs()), got)
		}
	}
}

// TestJobFails checks a failed job's error, and that `_retry` runs another job.
func TestJobFails(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, "{"+script(`{"fail": "Table \"d.t\" was not found", "reason": "notFound"}`)+"}")
	var got error
	for try := range 2 {
		for {
			var later *operators.Later
			_, got = operator(t, "bq").Run(t.Context(), &w.Task)
			if !errors.As(got, &later) {
				break
			}
			w.State = later.State
		}
		name := "my-project:" + b.Jobs()[try].ID
		var failure *operators.Failure
		if !errors.As(got, &failure) {
			t.Fatalf("try %d ended with %v", try, got)
		}
		same(t, "BigQuery job failed: "+name+`: Table "d.t" was not found [notFound]`, failure.Message)
		const all = "{\n  \"location\" : \"query\",\n  \"message\" : \"Table \\\"d.t\\\" was not found\",\n  \"reason\" : \"notFound\"\n}"
		same(t, param.Text(param.New("errors", all)), param.Text(failure.Properties))
		for _, line := range []string{"[INFO] BqJobRunner: Submitting BigQuery job: " + name, "[INFO] BqJobRunner: Checking BigQuery job status: " + name,
			"[ERROR] BqJobRunner: BigQuery job failed: " + name, "[ERROR] BqJobRunner: " + all} {
			if log := w.Output.String(); !strings.Contains(log, line) {
				t.Errorf("the log lacks %q:\n%s", line, log)
			}
		}
		next, _, more := engine.RetryPolicy{Limit: 2}.Next(w.State, "")
		if !more {
			t.Fatal("there is no other try")
		}
		w.State = next
	}
	if n := len(b.Jobs()); n != 2 {
		t.Errorf("there were %d jobs, want one for each try", n)
	}
}

// TestOpenJob checks that after a try that could not see the end of its job, `_retry` continues with that job instead
// of starting a second one, and that a kill between the tries cancels it.
func TestOpenJob(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/jobs", "/jobs/"} {
		for _, killed := range []bool{false, true} {
			b := newBed(t)
			o := operator(t, "bq")
			w := b.world(t, `{`+script(`{"looks": 20}`)+`}`)
			w.State = operatortest.Look(t, o, w).State
			b.Fail(fake.Faults{Every: fake.Nonsense, Path: path})
			if got := operatortest.UntilDone(t, o, w); !strings.HasPrefix(got.Error, "BigQuery job status check failed: my-project:") {
				t.Fatalf("%+v", got)
			}
			b.Fail(fake.Faults{})
			next, _, _ := engine.RetryPolicy{Limit: 1}.Next(w.State, "")
			w.State = next
			if killed {
				if err := o.Clean(t.Context(), &w.Task); err != nil || !b.Jobs()[0].Cancelled {
					t.Errorf("%v, %+v", err, b.Jobs())
				}
				continue
			}
			if got := operatortest.UntilDone(t, o, w); got.Error != "" || len(b.Jobs()) != 1 {
				t.Errorf("%s: %d jobs, %+v", path, len(b.Jobs()), got)
			}
		}
	}
}

// TestRefused checks that a permanent error fails the task at once, with BigQuery's message.
func TestRefused(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"query": "a syntax error"}`:                                               `BigQuery job submission failed: JOB: 400 Bad Request: Syntax error: Unexpected identifier "syntax" at [1:1] [invalidQuery] at POST /bigquery/v2/projects/my-project/jobs (google json response)`,
		`{"query": "select 1", "table_definitions": {"e": {"sourceUri": "x"}}}`:     `BigQuery job submission failed: JOB: 400 Bad Request: Invalid JSON payload received. unknown name "sourceUri" at 'job.configuration.query.tableDefinitions.e': Cannot find field [invalid] at POST /bigquery/v2/projects/my-project/jobs (google json response)`,
		`{` + script(`{"state": "LOST"}`) + `}`:                                     `Unknown job state: JOB: "LOST"`,
		`{"query": "select 1", "location": "EU", "dataset": "d", "priority": "AT"}`: "",
	} {
		b := newBed(t)
		b.PutDataset("my-project:d", "EU")
		w := b.world(t, params)
		got := operatortest.UntilDone(t, operator(t, "bq"), w)
		same(t, want, regexp.MustCompile(`my-project:digdag_[a-zA-Z0-9_-]+`).ReplaceAllString(got.Error, "JOB"))
		if n := len(b.Requests()); n > 2 {
			t.Errorf("%s: %d requests", params, n)
		}
	}
	b := newBed(t)
	w := b.world(t, `{"create_tables": ["nowhere.t"]}`)
	got := operatortest.UntilDone(t, operator(t, "bq_ddl"), w)
	same(t, "BigQuery DDL operation failed: 404 Not Found: Not found: Dataset my-project:nowhere [notFound] at POST /bigquery/v2/projects/my-project/datasets/nowhere/tables (google json response)", got.Error)
}

// TestKill checks that a job is canceled, even if the response to its start was lost, and that no request is sent if
// nothing had started.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		b := newBed(t)
		b.PutDataset("my-project:d", "asia-northeast1")
		o := operator(t, "bq")
		params := `{` + script(`{"looks": 100}`) + `, "dataset": "d"}`
		if lost {
			params = `{` + script(`{"looks": 100}`) + `, "dataset": "d", "location": "asia-northeast1"}`
		}
		w := b.world(t, params)
		for range 2 {
			if err := o.Clean(t.Context(), &w.Task); err != nil || len(b.Jobs()) != 0 {
				t.Errorf("nothing to stop: %v, %+v", err, b.Jobs())
			}
			if lost && w.State.Len() > 0 {
				b.Fail(fake.Faults{At: map[int]fake.Fault{len(b.Requests()) + 1: fake.Lost}})
			}
			w.State = operatortest.Look(t, o, w).State
		}
		b.Fail(fake.Faults{At: map[int]fake.Fault{len(b.Requests()) + 1: fake.Lost}})
		for range 2 {
			if err := o.Clean(t.Context(), &w.Task); err != nil {
				t.Error(err)
			}
		}
		if jobs := b.Jobs(); len(jobs) != 1 || !jobs[0].Cancelled {
			t.Errorf("lost %v: %+v", lost, jobs)
		}
	}
	b := newBed(t)
	w := b.world(t, `{`+script(`{"looks": 100}`)+`}`)
	w.State = operatortest.Look(t, operator(t, "bq"), w).State
	w.State = operatortest.Look(t, operator(t, "bq"), w).State
	w.Vault["gcp.credential"] = gcpfake.Credential(b.address + "/nowhere")
	if err := operator(t, "bq").Clean(t.Context(), &w.Task); err == nil || !strings.Contains(err.Error(), "BigQuery job cancellation failed: my-project:digdag_") {
		t.Errorf("a kill that is refused says %v", err)
	}
}

// TestEndOfContext checks that a kill that arrives during a call leaves a state from which the job can be canceled,
// whether or not BigQuery has started the job by then.
func TestEndOfContext(t *testing.T) {
	t.Parallel()
	o := operator(t, "bq")
	for _, afterwards := range []bool{false, true} {
		b := newBed(t)
		w := b.world(t, "{"+script(`{"looks": 9}`)+"}")
		w.State = operatortest.Look(t, o, w).State
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		b.OnRequest(func(n int, _ fake.Request, answered bool) {
			if n == 1 && answered == afterwards {
				kill()
			}
		})
		b.Fail(fake.Faults{At: map[int]fake.Fault{1: fake.Lost}})
		if _, err := o.Run(ctx, &w.Task); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if err := o.Clean(t.Context(), &w.Task); err != nil || len(b.Jobs()) != 1 || !b.Jobs()[0].Cancelled {
			t.Errorf("afterwards %v: %v, %+v", afterwards, err, b.Jobs())
		}
	}
}
