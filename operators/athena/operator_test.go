package athena_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/athena"
	"github.com/aws/aws-sdk-go-v2/service/athena/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/operators"
	ours "zerodag/operators/athena"
	"zerodag/operators/operatortest"
)

// endless is a query that runs until it is stopped.
const endless = `"query": "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"`

func grant(_ *testing.T, w *operatortest.World) { maps.Copy(w.Vault, localstack.Secrets("athena")) }

// bed creates a LocalStack workgroup, which runs queries on SQLite.
func bed(t *testing.T) (group string, client *athena.Client) {
	t.Helper()
	client = athena.NewFromConfig(localstack.Config(t))
	group = localstack.Name()
	if _, err := client.CreateWorkGroup(t.Context(), &athena.CreateWorkGroupInput{Name: &group, Configuration: &types.WorkGroupConfiguration{}}); err != nil {
		t.Fatal(err)
	}
	return group, client
}

// world returns a task in a workgroup, with an attempt that no other test uses.
func world(t *testing.T, group, params string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, `{"workgroup": "`+group+`", "output": "s3://results/`+group+`", `+params+`}`)
	w.SessionUUID = group
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

// queries returns the ids of the queries that were started in a workgroup.
func queries(t *testing.T, client *athena.Client, group string) []string {
	t.Helper()
	out, err := client.ListQueryExecutions(t.Context(), &athena.ListQueryExecutionsInput{WorkGroup: &group})
	if err != nil {
		t.Fatal(err)
	}
	return out.QueryExecutionIds
}

func TestExercise(t *testing.T) {
	t.Parallel()
	group, _ := bed(t)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ours.Operator(),
		Good: `{"query": "select 1 as a", "database": "d", "catalog": "c", "workgroup": "` + group + `", "output": "s3://b/k", "params": [], "result_reuse": "1h",
			"store_last_results": true, "preview": true, "region": "us-east-1"}`,
		Wrong: []string{
			`{}`, `{"query": " "}`, `{"_command": "none.sql"}`, `{"query": "q", "output": "b/k"}`, `{"query": "q", "params": "x"}`, `{"query": "q", "params": [{}]}`,
			`{"query": "q", "result_reuse": "1s"}`, `{"query": "q", "result_reuse": "8d"}`, `{"query": "q", "store_last_results": "some"}`,
			`{"query": "q", "store_last_results": "all", "download_file": "f"}`, `{"query": "q", "preview": "x"}`, `{"query": "q", "athena": 1}`,
		},
		Prepare: func(t *testing.T, w *operatortest.World) {
			grant(t, w)
			delete(w.Vault, "aws.region")
		},
	})
}

// TestResults checks the values that are stored from a query and from its rows.
func TestResults(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`"query": "select 1 as a"`: ``,
		`"query": "select 1 as a, 1.5 as b, 'x' as c, null as d", "store_last_results": "first"`:                         `,"last_results":{"a":1,"b":1.5,"c":"x","d":null}`,
		`"query": "select 1 as a union all select 2", "store_last_results": "all"`:                                       `,"last_results":[{"a":1},{"a":2}]`,
		`"query": "select 1 as a where 1 = 0", "store_last_results": "first"`:                                            `,"last_results":{}`,
		`"query": "create table t (a int)", "store_last_results": "all"`:                                                 `,"last_results":[]`,
		`"query": "select ? as a, ? as b, ? as c", "params": ["it's", 7, null], "athena": {"store_last_results": "all"}`: `,"last_results":[{"a":"it's","b":7,"c":null}]`,
		`"_command": "q.sql", "store_last_results": "first"`:                                                             `,"last_results":{"a":5}`,
	} {
		group, client := bed(t)
		w := world(t, group, params)
		w.File(t, "q.sql", "select ${n} as a")
		w.Template = func(text string) (string, error) { return strings.ReplaceAll(text, "${n}", "5"), nil }
		got := untilDone(t, w)
		ids := queries(t, client, group)
		if len(ids) != 1 {
			t.Fatalf("%s: %d queries ran: %+v", params, len(ids), got)
		}
		scanned := 1 + strings.Count(want, "},{") - strings.Count(params, "1 = 0") - strings.Count(params, "create")
		want = fmt.Sprintf(`{"athena":{"last_query":{"id":"%[1]s","state":"SUCCEEDED","scanned_bytes":%[2]d,"output":"s3://results/%[3]s/%[1]s.csv"}%[4]s}}`, ids[0], scanned, group, want)
		if diff := cmp.Diff(operatortest.Ended{Store: want}, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

// TestPages checks that all rows arrive, on any number of pages.
func TestPages(t *testing.T) {
	t.Parallel()
	group, _ := bed(t)
	const many = `"query": "with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500) select i, case when i = 2 then '' end as b from n"`
	w := world(t, group, many+`, "download_file": "out/n.csv", "preview": true`)
	if got := untilDone(t, w); got.Error != "" {
		t.Fatal(got.Error)
	}
	file, err := w.Project.Read("out/n.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(file), "\r\n")
	if len(lines) != 2502 || lines[0] != "i,b" || lines[1] != "1," || lines[2] != `2,""` || lines[2500] != "2500," {
		t.Errorf("the file has %d lines: %q ... %q", len(lines), lines[:3], lines[len(lines)-2:])
	}
	if log := w.Output.String(); !strings.Contains(log, "i\tb\n1\t\n") || !strings.Contains(log, "\n20\t\n") || strings.Contains(log, "\n21\t") {
		t.Errorf("the preview: %s", log)
	}
	w = world(t, group, many+`, "store_last_results": "all"`)
	w.TaskID = 77
	w.Config = operatortest.Map(t, `{"athena": {"max_store_last_results_rows": 2000}}`)
	if got, want := untilDone(t, w).Error, "The number of result rows exceeded the limit: 2001 > 2000"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFails checks that the reason why a query failed becomes the task's error, and that another try of the task runs
// another query.
func TestFails(t *testing.T) {
	t.Parallel()
	group, client := bed(t)
	w := world(t, group, `"query": "select * from nowhere"`)
	for try := range 2 {
		if got := untilDone(t, w); !strings.HasSuffix(got.Error, "ended as FAILED: SYNTAX_ERROR: no such table: nowhere") {
			t.Errorf("got %+v", got)
		}
		w.State = param.New("retry_count", int64(try+1)) // as `_retry` leaves it
	}
	if n := len(queries(t, client, group)); n != 2 {
		t.Errorf("there were %d queries, want one for each try", n)
	}
}

// TestStartsOnce checks that nothing starts before the intent is stored, and that one query starts even if a run is
// delivered several times.
func TestStartsOnce(t *testing.T) {
	t.Parallel()
	group, client := bed(t)
	w := world(t, group, `"query": "select 1"`)
	intent := look(t, w)
	if n := len(queries(t, client, group)); n != 0 || intent.After != 0 {
		t.Fatalf("%d queries before the intent is kept, next run after %v", n, intent.After)
	}
	var ids []string
	for range 3 {
		w.State = intent.State
		later := look(t, w)
		ids = append(ids, param.Text(later.State))
	}
	if ids[0] != ids[1] || ids[0] != ids[2] || len(queries(t, client, group)) != 1 {
		t.Errorf("states %q after the start of %d queries", ids, len(queries(t, client, group)))
	}
	other := world(t, group, `"query": "select 2"`)
	other.State = intent.State
	if got := operatortest.RunOnce(t, ours.Operator(), other); !strings.Contains(got.Error, "started the query with different text or parameters") {
		t.Errorf("another text: %+v", got)
	}
}

// TestLooks checks how long the task waits between polls.
func TestLooks(t *testing.T) {
	t.Parallel()
	group, _ := bed(t)
	w := world(t, group, endless)
	operatortest.Waits(t, ours.Operator(), w, 0, 1, 2, 4, 8, 16, 30, 30)
	if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
		t.Error(err)
	}
}

// TestKill checks that a query is stopped, even if its id is lost, and that a kill starts nothing if nothing had
// started before.
func TestKill(t *testing.T) {
	t.Parallel()
	group, client := bed(t)
	w := world(t, group, endless)
	if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
		t.Errorf("nothing to stop: %v", err)
	}
	w.State = look(t, w).State
	started := look(t, w) // its state is lost
	for _, state := range []*param.Map{w.State, started.State} {
		w.State = state
		if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
			t.Error(err)
		}
	}
	ids := queries(t, client, group)
	if len(ids) != 1 {
		t.Fatalf("there were %d queries, want 1", len(ids))
	}
	out, err := client.GetQueryExecution(t.Context(), &athena.GetQueryExecutionInput{QueryExecutionId: &ids[0]})
	if err != nil || out.QueryExecution.Status.State != types.QueryExecutionStateCancelled {
		t.Errorf("the query is %+v (%v)", out.QueryExecution.Status, err)
	}
}

// TestFaults checks that one query runs, and its rows arrive, whatever faults the service produces.
func TestFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			group, client := bed(t)
			w := world(t, group, `"query": "select 1 as a", "store_last_results": "first"`)
			w.Vault["aws.athena.endpoint"] = faulty(t, seed, 0.2)
			got := untilDone(t, w)
			if n := len(queries(t, client, group)); n != 1 || !strings.HasSuffix(got.Store, `"last_results":{"a":1}}}`) {
				t.Errorf("%d queries, %+v", n, got)
			}
		})
	}
}

// TestBusy checks that the query is sent again later if the service accepts none.
func TestBusy(t *testing.T) {
	t.Parallel()
	group, _ := bed(t)
	w := world(t, group, `"query": "select 1"`)
	w.Vault["aws.athena.endpoint"] = faulty(t, 1, 1)
	w.State = look(t, w).State
	later := look(t, w)
	if want := `{"commandStatus":{"looks":1}}`; later.After != time.Second || param.Text(later.State) != want {
		t.Errorf("it looks again after %v with %s", later.After, param.Text(later.State))
	}
}

// TestPatience checks that the task does not retry this forever.
func TestPatience(t *testing.T) {
	t.Parallel()
	group, _ := bed(t)
	w := world(t, group, `"query": "select 1"`)
	w.Vault["aws.athena.endpoint"] = faulty(t, 1, 1)
	w.State = param.New("commandStatus", param.New("looks", int64(20)))
	if got := operatortest.RunOnce(t, ours.Operator(), w); !strings.HasPrefix(got.Error, "athena>: can't start the query: AWS is not responding") {
		t.Errorf("in the end: %+v", got)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	localstack.Config(t)
	w := world(t, "nobody-made-this", `"query": "select 1"`)
	w.State = look(t, w).State
	if got := operatortest.RunOnce(t, ours.Operator(), w); !strings.HasPrefix(got.Error, "athena>: can't start the query: ") {
		t.Errorf("got %+v", got)
	}
}

// faulty returns an address of the service at which a share of the calls is refused, fails, or loses its response.
func faulty(t *testing.T, seed uint64, share float64) string {
	t.Helper()
	p := proxy.Start(t, "")
	p.Trouble(seed, proxy.Faults{Throttle: share, Before: share, After: share})
	return p.URL
}
