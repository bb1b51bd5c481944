package td_test

import (
	"fmt"
	"strings"
	"testing"

	"zerodag/engine/param"
	"zerodag/integration/fake"
	"zerodag/operators"
	"zerodag/operators/operatortest"
)

// origin contains the comments before each query of the tests.
const origin = "-- project_id: 3\n-- project_name: project\n-- workflow_name: main\n-- session_id: 4\n-- attempt_id: 5\n-- task_name: +main+task\n"

func TestExerciseQuery(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.Connect("c", 7)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: operator(t, "td"),
		Good: `{"query": "select 1", "database": "sample_datasets", "engine": "hive", "engine_version": "v", "hive_engine_version": "w", "hive_pool_name": "p",
			"priority": 1, "job_retry": 2, "download_file": "f.csv", "store_last_results": true, "preview": true, "result_url": "u", "result_connection": "c",
			"result_settings": {"a": "b"}, "endpoint": "e", "use_ssl": true, "proxy": {"enabled": false}}`,
		Wrong: []string{
			`{}`, `{"query": "q"}`, `{"query": "q", "database": " "}`, `{"_command": "none.sql", "database": "d"}`,
			`{"query": "q", "database": "d", "insert_into": "a", "create_table": "b"}`, `{"query": "q", "database": "d", "insert_into": "a", "download_file": "b"}`,
			`{"query": "q", "database": "d", "engine": "pig"}`, `{"query": "q", "database": "d", "result_settings": {"a": 1}}`,
			`{"query": "q", "database": "d", "store_last_results": "all"}`, `{"query": "q", "database": "d", "priority": "high"}`, `{"query": "q", "td": 1}`,
			`{"query": "q", "database": "d", "proxy": {"enabled": true, "port": "x"}}`, `{"query": "q", "database": "d", "presto_pool_name": [], "trino_pool_name": "x"}`,
		},
		Prepare: b.grant,
	})
}

// TestQueryRequests checks the requests for a task: they are the requests that Digdag sends for the same task,
// according to its source. Only the number of polls differs (zerodag requests the columns and the row count once), and
// the client's version is not sent.
func TestQueryRequests(t *testing.T) {
	t.Parallel()
	submit := func(kind, query, more string) string {
		return "POST /v3/job/issue/" + kind + "/sample_datasets domain_key=KEY" + strings.Replace(more, "QUERY", "query="+query, 1)
	}
	escaped := func(query string) string {
		return strings.NewReplacer("+", "%2B", "-- ", "--+", ": ", "%3A+", "\n", "%0A", " ", "+", `"`, "%22", ";", "%3B", "`", "%60", "*", "%2A").Replace(origin + query)
	}
	const plain = "&priority=0&QUERY&retry_limit=0&scheduled_time=1709210096"
	end := []string{"GET /v3/job/status/1001", "GET /v3/job/show/1001"}
	result := "GET /v3/job/result/1001?format=msgpack.gz&header=false"
	for params, want := range map[string][]string{
		`"query": "select 1"`:                    append([]string{submit("presto", escaped("select 1"), plain)}, end...),
		`"_command": {"data": "select 1"}`:       append([]string{submit("presto", escaped("select 1"), plain)}, end...),
		`"_command": "q.sql"`:                    append([]string{submit("presto", escaped("select 5"), plain)}, end...),
		`"query": "select 1", "engine": "trino"`: append([]string{submit("trino", escaped("select 1"), plain)}, end...),
		`"query": "select 1", "engine": "hive", "hive_pool_name": "hadoop2", "presto_pool_name": "p", "engine_version": "a", "hive_engine_version": "b"`: append([]string{
			submit("hive", escaped("select 1"), "&engine_version=b&pool_name=hadoop2&priority=0&QUERY&retry_limit=0&scheduled_time=1709210096")}, end...),
		`"query": "select 1", "engine_version": "a", "hive_engine_version": "b", "priority": -2, "job_retry": 3`: append([]string{
			submit("presto", escaped("select 1"), "&engine_version=a&priority=-2&QUERY&retry_limit=3&scheduled_time=1709210096")}, end...),
		`"query": "select 1", "priority": 9, "store_last_results": true`: append([]string{submit("presto", escaped("select 1"), plain)}, append(end[:2:2], result)...),
		`"query": "select 1", "td": {"presto_pool_name": "x"}, "preview": true`: append([]string{
			submit("presto", escaped("select 1"), "&pool_name=x&priority=0&QUERY&retry_limit=0&scheduled_time=1709210096")}, append(end[:2:2], result)...),
		`"query": "select 1", "insert_into": "new_table"`: append([]string{"POST /v3/table/create/sample_datasets/new_table/log", "GET /v3/table/list/sample_datasets",
			submit("presto", escaped("INSERT INTO \"new_table\"\nselect 1"), plain)}, end...),
		`"query": "-- c\nselect 1", "create_table": "other.new_table"`: append([]string{
			submit("presto", escaped("-- c\nDROP TABLE IF EXISTS \"other\".\"new_table\";\nCREATE TABLE \"other\".\"new_table\" AS\nselect 1"), plain)}, end...),
		`"query": "select 1", "engine": "hive", "insert_into": "other.new_table"`: append([]string{"POST /v3/table/create/other/new_table/log", "GET /v3/table/list/other",
			submit("hive", escaped("INSERT INTO TABLE `other`.`new_table`\nselect 1"), plain)}, end...),
		`"query": "select 1", "engine": "hive", "create_table": "new_table"`: append([]string{"POST /v3/table/create/sample_datasets/new_table/log", "GET /v3/table/list/sample_datasets",
			submit("hive", escaped("INSERT OVERWRITE TABLE `new_table`\nselect 1"), plain)}, end...),
		`"query": "select 1", "insert_into": "new_table", "preview": true`: append([]string{"POST /v3/table/create/sample_datasets/new_table/log", "GET /v3/table/list/sample_datasets",
			submit("presto", escaped("INSERT INTO \"new_table\"\nselect 1"), plain)}, append(end[:2:2],
			"POST /v3/job/issue/presto/sample_datasets domain_key=KEY&priority=0&query=--+preview+results+of+job+id+1001%0ASELECT+%2A+FROM+%22new_table%22+LIMIT+20",
			"GET /v3/job/status/1002", "GET /v3/job/show/1002", "GET /v3/job/result/1002?format=msgpack.gz&header=false")...),
		`"query": "select 1", "result_url": "td://${secret:td.apikey}@/db/t"`: append([]string{
			submit("presto", escaped("select 1"), plain[:len("&priority=0&QUERY")]+"&result=td%3A%2F%2F1%2F0123456789abcdef0123456789abcdef01234567%40%2Fdb%2Ft&retry_limit=0&scheduled_time=1709210096")}, end...),
		`"query": "select 1", "result_connection": "my s3", "result_settings": {"path": "/${secret:x}", "n": 1}`: append([]string{"GET /v3/connections/lookup?name=my+s3",
			submit("presto", escaped("select 1"), "&priority=0&QUERY&result_connection_id=7&result_connection_settings=%7B%22path%22%3A%22%2Fq%5C%22x%22%2C%22n%22%3A1%7D&retry_limit=0&scheduled_time=1709210096")}, end...),
		`"query": "select 1", "result_connection": "my s3", "result_settings": "{\"path\": \"${secret:x}\"}"`: append([]string{"GET /v3/connections/lookup?name=my+s3",
			submit("presto", escaped("select 1"), "&priority=0&QUERY&result_connection_id=7&result_connection_settings=%7B%22path%22%3A%22q%5C%22x%22%7D&retry_limit=0&scheduled_time=1709210096")}, end...),
	} {
		b := newBed(t)
		b.Put("other", "")
		b.Connect("my s3", 7)
		w := b.world(t, "{"+params+"}")
		w.File(t, "q.sql", "select ${n}")
		w.Template = func(text string) (string, error) { return strings.ReplaceAll(text, "${n}", "5"), nil }
		w.Vault["x"] = `q"x`
		if got := operatortest.UntilDone(t, operator(t, "td"), w); got.Error != "" {
			t.Errorf("%s: %s", params, got.Error)
		}
		got := b.sent()
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", params, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// script returns a query that instructs the fake service how to behave.
func script(does string) string { return `"query": ` + param.Text("-- td: "+does+"\nselect") }

const table = `{"columns": [["a", "bigint"], ["b", "varchar"], ["c", "double"], ["d", "array(bigint)"], ["e", "map"], ["f", "boolean"]], "rows": [` +
	`[9223372036854775807, "x,\"y\"", 1.5, [1, [2]], {"k": null}, true], [null, "", 1e10, [], {}, false]]}`

// TestResults checks which values of a job and of its rows are stored, and which values of an earlier job are removed.
func TestResults(t *testing.T) {
	t.Parallel()
	const job = `"last_job_id":"1001","last_job":{"id":"1001","num_records":%d}`
	for params, want := range map[string]string{
		script(`{}`): fmt.Sprintf(`{"td":{`+job+`}}`, 1),
		script(table) + `, "store_last_results": true`:                                        fmt.Sprintf(`{"td":{"last_results":{"a":9223372036854775807,"b":"x,\"y\"","c":1.5,"d":[1,[2]],"e":{"k":null},"f":true},`+job+`}}`, 2),
		script(`{"columns": [["a", "bigint"]], "rows": []}`) + `, "store_last_results": true`: fmt.Sprintf(`{"td":{"last_results":{},`+job+`}}`, 0),
		`"query": "select 1", "insert_into": "new_table", "store_last_results": true`:         fmt.Sprintf(`{"td":{"last_results":{},`+job+`}}`, 0),
	} {
		b := newBed(t)
		w := b.world(t, "{"+params+`, "td": {"last_results": {"database": "no default"}, "last_job": 1}}`)
		if diff := operatortest.UntilDone(t, operator(t, "td"), w); diff.Store != want || diff.Error != "" {
			t.Errorf("%s:\ngot  %+v\nwant %s", params, diff, want)
		}
	}
	b := newBed(t)
	w := b.world(t, `{"query": "select 1", "store_last_results": true}`)
	var result operators.Result
	for range 3 {
		var err error
		if result, err = operator(t, "td").Run(t.Context(), &w.Task); err != nil {
			w.State = operatortest.Look(t, operator(t, "td"), w).State
		}
	}
	same(t, [][]string{{"td", "last_results"}}, result.ResetStore)
}

// TestDownload checks the format of the file and of a preview.
func TestDownload(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, "{"+script(table)+`, "download_file": "out/r.csv", "preview": true}`)
	if got := operatortest.UntilDone(t, operator(t, "td"), w); got.Error != "" {
		t.Fatal(got.Error)
	}
	file, err := w.Project.Read("out/r.csv")
	if err != nil {
		t.Fatal(err)
	}
	const want = "a,b,c,d,e,f\r\n9223372036854775807,\"x,\"\"y\"\"\",1.5,\"[1,[2]]\",\"{\"\"k\"\":null}\",true\r\n,\"\",1.0E10,[],{},false\r\n"
	same(t, want, string(file))
	if log := w.Output.String(); !strings.Contains(log, "[INFO] TdOperatorFactory: preview of job id 1001:\r\n"+want) ||
		!strings.Contains(log, "[INFO] TdOperatorFactory: Started presto job id=1001:\n"+origin+"-- td: ") {
		t.Errorf("the log is\n%s", log)
	}
}

// TestPreviewFails checks that a preview that cannot be shown does not fail the task: the query itself is done.
func TestPreviewFails(t *testing.T) {
	t.Parallel()
	for fault, path := range map[fake.Fault]string{fake.Nonsense: "/v3/job/status/1002", fake.HugeHeader: "/v3/job/result/1002"} {
		b := newBed(t)
		w := b.world(t, `{"query": "select 1", "insert_into": "new_table", "preview": true}`)
		b.Fail(fake.Faults{Every: fault, Path: path})
		const want = `{"td":{"last_job_id":"1001","last_job":{"id":"1001","num_records":0}}}`
		got := operatortest.UntilDone(t, operator(t, "td"), w)
		if log := w.Output.String(); got.Store != want || !strings.Contains(log, "[WARN] TdOperatorFactory: Getting rows for preview failed. Ignoring this error: ") {
			t.Errorf("%s: %+v, log:\n%s", fault, got, log)
		}
	}
}

// TestJobFails checks the error of an unsuccessful job, and that `_retry` runs another job.
func TestJobFails(t *testing.T) {
	t.Parallel()
	for does, want := range map[string]string{
		`{"fail": "Query 1 failed: Table nowhere does not exist", "out": "started"}`: "started\nQuery 1 failed: Table nowhere does not exist",
		`{"fail": " "}`: "TD job 1001 failed with status ERROR",
	} {
		b := newBed(t)
		w := b.world(t, "{"+script(does)+"}")
		same(t, operatortest.Ended{Error: want}, operatortest.UntilDone(t, operator(t, "td"), w))
	}
	b := newBed(t)
	w := b.world(t, "{"+script(`{"fail": "no"}`)+"}")
	for try := range 2 {
		if got := operatortest.UntilDone(t, operator(t, "td"), w); got.Error != "\nno" {
			t.Errorf("got %+v", got)
		}
		w.State = w.State.Without("commandStatus").Clone() // as `_retry` leaves it
		w.State.Set("retry_count", int64(try+1))
	}
	if n := len(b.Jobs()); n != 2 {
		t.Errorf("there were %d jobs, want one for each try", n)
	}
}

// TestLooks checks when the task polls again, including with the host's own intervals.
func TestLooks(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, "{"+script(`{"looks": 100}`)+"}")
	operatortest.Waits(t, operator(t, "td"), w, 0, 1, 1, 2, 4, 8, 16, 30, 30)
	w = b.world(t, "{"+script(`{"looks": 100}`)+"}")
	w.Config = operatortest.Map(t, `{"td": {"call_retry_interval": "0s", "min_poll_interval": "5s", "max_poll_interval": "1m", "min_retry_interval": "2s", "max_retry_interval": "3s"}}`)
	operatortest.Waits(t, operator(t, "td"), w, 0, 5, 5, 10, 20, 40, 60)
	b.Fail(fake.Faults{Every: fake.Broken})
	operatortest.Waits(t, operator(t, "td"), w, 2, 3, 3)
}

// TestRefused checks the error for a permanent refusal, and that a renewed secret is read.
func TestRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.SetKey("another")
	w := b.world(t, `{"query": "select 1"}`)
	got := operatortest.UntilDone(t, operator(t, "td"), w)
	same(t, operatortest.Ended{Error: "[AUTHENTICATION_FAILURE] [401:Unauthorized] API request to /v3/job/issue/presto/sample_datasets has failed: Authentication failed (td client http unauthorized)"}, got)
	if log := w.Output.String(); !strings.Contains(log, "[DEBUG] TdOperatorFactory: apikey will be tried to update by retrying") || len(b.Requests()) != 2 {
		t.Errorf("%d requests, log:\n%s", len(b.Requests()), log)
	}
	w = b.world(t, `{"query": "select 1", "database": "nowhere"}`)
	b.OnRequest(func(int, fake.Request, bool) { w.Vault["td.apikey"] = "another" })
	got = operatortest.UntilDone(t, operator(t, "td"), w)
	same(t, operatortest.Ended{Error: "[TARGET_NOT_FOUND] [404:Not Found] API request to /v3/job/issue/presto/nowhere has failed: Couldn't find database nowhere (td client http not found)"}, got)
}

// TestSecrets checks the errors for wrong secrets. The first is p03-td-no-config of the recorded cases.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for text, change := range map[string]func(v operatortest.Vault){
		"The 'td.apikey' secret is missing": func(v operatortest.Vault) { delete(v, "td.apikey") },
		"The 'td.apikey' secret is empty":   func(v operatortest.Vault) { v["td.apikey"] = " \n" },
		"The 'td.apikey' secret contains characters that are invalid in keys: set it again, without a trailing line break": func(v operatortest.Vault) { v["td.apikey"] = "a\nb" },
		"The 'td.use_ssl' secret is invalid: set it to true or false, or to a number if it is a port":                      func(v operatortest.Vault) { v["td.use_ssl"] = "maybe" },
		"'endpoint' must be a host name, such as api.treasuredata.com, without https:// and without a path":                func(v operatortest.Vault) { v["td.endpoint"] = "https://api.treasuredata.com" },
		"Parameter 'database' is empty": func(v operatortest.Vault) { v["td.database"] = "" },
	} {
		b := newBed(t)
		w := b.world(t, `{"query": "select 1"}`)
		change(w.Vault)
		same(t, operatortest.Ended{Error: text, Kind: "config"}, operatortest.RunOnce(t, operator(t, "td"), w))
	}
}

// TestDatabaseSecret checks that the secret takes precedence over the parameter, as in Digdag.
func TestDatabaseSecret(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.Put("other", "")
	w := b.world(t, `{"query": "select 1"}`)
	w.Vault["td.database"] = " other "
	if got := operatortest.UntilDone(t, operator(t, "td"), w); got.Error != "" || b.Jobs()[0].Database != "other" {
		t.Errorf("%+v, %+v", got, b.Jobs())
	}
}

// TestProxy checks that a task's own proxy is used, with its user.
func TestProxy(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	host, port, _ := strings.Cut(b.endpoint, ":")
	w := b.world(t, `{"query": "select 1", "proxy": {"enabled": true, "host": "`+host+`", "port": 1, "user": "u"}}`)
	w.Vault["td.endpoint"], w.Vault["td.proxy.port"], w.Vault["td.proxy.password"] = "td.invalid", port, "p"
	if got := operatortest.UntilDone(t, operator(t, "td"), w); got.Error != "" || len(b.Jobs()) != 1 {
		t.Errorf("%+v, %+v", got, b.Jobs())
	}
}
