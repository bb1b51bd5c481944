package td_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/fake"
	"zerodag/operators/operatortest"
)

const accountOptions = `"endpoint": "e", "use_ssl": true, "proxy": {"enabled": false}`

const queryOptions = `"engine": "hive", "engine_version": "v", "hive_engine_version": "w", "hive_pool_name": "p", "priority": 1, "job_retry": 2`

// TestExercise checks, for each operator except `td>`, the rules that every operator must follow.
func TestExercise(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]operatortest.Subject{
		"td_run": {
			Good: `{"_command": 12, "database": "d", "download_file": "f", "store_last_results": true, "preview": true, "session_time": "2024-01-01T00:00:00Z", ` + accountOptions + `}`,
			Wrong: []string{`{}`, `{"_command": true, "database": "d"}`, `{"_command": "", "database": "d"}`, `{"_command": "n"}`,
				`{"_command": "n", "database": "d", "session_time": "yesterday"}`},
		},
		"td_for_each": {
			Good:  `{"query": "q", "_do": {"echo>": "x"}, "database": "d", ` + queryOptions + `, ` + accountOptions + `}`,
			Wrong: []string{`{"query": "q", "database": "d"}`, `{"_do": {}, "database": "d"}`, `{"query": "q", "_do": {}, "engine": "pig"}`, `{"_command": "none.sql", "_do": {}}`},
		},
		"td_ddl": {
			Good: `{"database": "sample_datasets", "drop_databases": ["abc"], "create_databases": ["abc"], "empty_databases": "[]", "drop_tables": ["abc"], "create_tables": ["abc"],
				"empty_tables": ["abc"], "rename_tables": [], ` + accountOptions + `}`,
			Wrong: []string{`{}`, `{"database": "d", "create_tables": 1}`, `{"database": "d", "rename_tables": [{"from": "a"}]}`,
				`{"database": "d", "rename_tables": [{"from": "a", "to": "b.c"}]}`, `{"database": "sample_datasets", "rename_tables": [{"from": "none", "to": "c"}]}`},
		},
		"td_wait": {
			Good: `{"query": "q", "database": "d", "interval": "1m", ` + queryOptions + `, ` + accountOptions + `}`,
			Wrong: []string{`{}`, `{"query": "q", "interval": "29s"}`, `{"query": "q", "interval": "3d"}`, `{"query": "q", "engine": "pig"}`,
				`{"_command": "none.sql"}`},
		},
		"td_wait_table": {
			Good:  `{"_command": "t", "database": "d", "rows": 1, "interval": "1m", ` + queryOptions + `, ` + accountOptions + `}`,
			Wrong: []string{`{}`, `{"_command": "t", "rows": "many"}`, `{"_command": "t", "interval": "1s"}`, `{"_command": "t", "engine": "pig"}`},
		},
		"td_load": {
			Good: `{"config": {"in": {}}, "table": "a.b", "database": "d", ` + accountOptions + `}`,
			Wrong: []string{`{}`, `{"config": {}, "name": "n"}`, `{"_command": "s", "name": "n"}`, `{"_command": "none.yml", "table": "t"}`, `{"config": {}, "database": "d"}`,
				`{"config": 1}`},
		},
		"td_table_export": {
			Good: `{"database": "d", "table": "t", "file_format": "jsonl.gz", "from": 0, "to": "2016-01-01 00:00:00", "timezone": "Asia/Tokyo", "s3_bucket": "b",
				"s3_path_prefix": "p", "hive_pool_name": "h", ` + accountOptions + `}`,
			Wrong: []string{`{}`, `{"database": "d"}`, `{"database": "d", "table": "t"}`, `{"database": "d", "table": "t", "file_format": "zip"}`,
				`{"database": "d", "table": "t", "file_format": "tsv.gz", "from": "x"}`, `{"database": "d", "table": "t", "file_format": "tsv.gz", "from": 0, "to": 1}`},
		},
		"td_result_export": {
			Good:  `{"job_id": 1, "result_connection": "c", "result_settings": {"a": 1}, ` + accountOptions + `}`,
			Wrong: []string{`{}`, `{"job_id": 1}`, `{"job_id": 1, "result_connection": "c"}`, `{"job_id": 1, "result_connection": "c", "result_settings": "no"}`},
		},
		"td_partial_delete": {
			Good: `{"_command": "t", "database": "d", "from": 0, "to": "2016-01-01T01:00", ` + accountOptions + `}`,
			Wrong: []string{`{}`, `{"_command": "t"}`, `{"_command": "t", "from": 0}`, `{"_command": "t", "from": 0, "to": 3601}`, `{"_command": "t", "from": true}`,
				`{"_command": "t", "from": "x", "to": 0}`, `{"_command": "t", "from": "99999999999999999999", "to": 0}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.Operator, s.Prepare = operator(t, name), newBed(t).grant
			operatortest.Exercise(t, s)
		})
	}
}

// TestRequests checks the requests for a task: they are the requests that Digdag sends for the same task, according to
// its source, with the exceptions that TestQueryRequests names.
func TestRequests(t *testing.T) {
	t.Parallel()
	job := func(n string) []string { return []string{"GET /v3/job/status/" + n, "GET /v3/job/show/" + n} }
	const issue = "POST /v3/job/issue/"
	for _, c := range []struct {
		operator, params string
		want             []string
		log              string
	}{
		{"td_run", `{"_command": "my query"}`, append([]string{"POST /v3/schedule/run/my%20query/1709210096 domain_key=KEY"}, job("1002")...),
			"[INFO] TdRunOperatorFactory: Started a saved query name=my query with time=2024-02-29T12:34:56Z, job id=1002"},
		{"td_run", `{"_command": 12, "session_time": "2016-01-01T09:00:00+09:00", "store_last_results": true}`,
			append(append([]string{`POST /v4/queries/12/jobs {"domain_key":"KEY","scheduled_time":"2016-01-01T00:00:00Z"}`}, job("1002")...),
				"GET /v3/job/result/1002?format=msgpack.gz&header=false"),
			"[INFO] TdRunOperatorFactory: Started a saved query id=12 with time=2016-01-01T00:00:00Z, job id=1002"},
		{"td_for_each", `{"query": "select 1", "_do": {}, "engine": "hive", "hive_pool_name": "p", "job_retry": 1}`,
			append(append([]string{issue + "hive/sample_datasets domain_key=KEY&pool_name=p&priority=0&query=select+1&retry_limit=1&scheduled_time=1709210096"}, job("1002")...),
				"GET /v3/job/result/1002?format=msgpack.gz&header=false"),
			"[INFO] TdForEachOperatorFactory: Started hive job id=1002:\nselect 1"},
		{"td_wait", `{"query": "select 1", "priority": 2}`,
			[]string{issue + "presto/sample_datasets domain_key=KEY&priority=2&query=select+1&retry_limit=0&scheduled_time=1709210096", "GET /v3/job/status/1002", "GET /v3/job/result/1002?format=msgpack.gz&header=false"},
			"[INFO] TdWaitOperatorFactory: Started presto job id=1002:\nselect 1\n[INFO] TdWaitOperatorFactory: Finished. Last job id=1002"},
		{"td_wait_table", `{"_command": "there"}`, []string{"GET /v3/table/list/sample_datasets"}, ""},
		{"td_wait_table", `{"_command": "other.there", "rows": 1}`,
			[]string{"GET /v3/table/list/other", issue + "presto/sample_datasets domain_key=KEY&priority=0&query=select+count%28%2A%29+from+%22other%22.%22there%22&retry_limit=0",
				"GET /v3/job/status/1002", "GET /v3/job/result/1002?format=msgpack.gz&header=false"},
			"[INFO] TdWaitTableOperatorFactory: Finished. Last job id=1002"},
		{"td_wait_table", `{"_command": "there", "rows": 1, "engine": "hive", "engine_version": "v"}`,
			[]string{"GET /v3/table/list/sample_datasets",
				issue + "hive/sample_datasets domain_key=KEY&engine_version=v&priority=0&query=select+count%28%2A%29+from+%28select+%2A+from+%60there%60+limit+1%29+sub&retry_limit=0",
				"GET /v3/job/status/1002", "GET /v3/job/result/1002?format=msgpack.gz&header=false"}, ""},
		{"td_load", `{"_command": "session a"}`, append([]string{`POST /v3/bulk_loads/session%20a/jobs {"domain_key":"KEY","scheduled_time":"1709210096"}`}, job("1002")...),
			"[INFO] TdLoadOperatorFactory: Started bulk load session job name=session a, id=1002"},
		{"td_load", `{"name": "session a"}`, append([]string{`POST /v3/bulk_loads/session%20a/jobs {"domain_key":"KEY","scheduled_time":"1709210096"}`}, job("1002")...), ""},
		{"td_load", `{"_command": "load.yml", "table": "t"}`, append([]string{issue +
			`bulkload/sample_datasets?domain_key=KEY&priority=0&query=&table=t {"config":{"in":{"type":"s3","key":"q\"x","at":"10:00:00","skip":1,"on":"yes"}}}`}, job("1002")...),
			"[INFO] TdLoadOperatorFactory: Started bulk load job id=1002"},
		{"td_load", `{"config": {"in": {"${secret:x}": ["${secret:x}", 1]}}, "table": "other.t"}`, append([]string{issue +
			`bulkload/other?domain_key=KEY&priority=0&query=&table=t {"config":{"in":{"q\"x":["q\"x",1]}}}`}, job("1002")...), ""},
		{"td_table_export", `{"table": "there", "file_format": "jsonl.gz", "from": 0, "to": "2016-01-01 00:00:00", "timezone": "Asia/Tokyo", "s3_bucket": "b", "s3_path_prefix": "p",
			"hive_pool_name": "h"}`, append([]string{"POST /v3/export/run/sample_datasets/there access_key_id=id&bucket=b&domain_key=KEY&file_format=jsonl.gz&file_prefix=p&from=0" +
			"&pool_name=h&secret_access_key=key&storage_type=s3&to=1451574000"}, job("1002")...), "[INFO] TdTableExportOperatorFactory: Started table export job id=1002"},
		{"td_table_export", `{"table": "other.there", "file_format": "tsv.gz", "from": "10", "to": "2016-01-01 00:00:00 +0900", "s3_bucket": "b", "s3_path_prefix": "p"}`,
			append([]string{"POST /v3/export/run/other/there access_key_id=id&bucket=b&domain_key=KEY&file_format=tsv.gz&file_prefix=p&from=10" +
				"&secret_access_key=key&storage_type=s3&to=1451574000"}, job("1002")...), ""},
		{"td_result_export", `{"job_id": 1001, "result_connection": "c", "result_settings": {"path": "/${secret:x}"}}`, append([]string{"GET /v3/connections/lookup?name=c",
			"POST /v3/job/result_export/1001 result_connection_id=7&result_connection_settings=%7B%22path%22%3A%22%2Fq%5C%22x%22%7D"}, job("1002")...),
			"[INFO] TdResultExportOperatorFactory: Started result export job id=1002"},
		{"td_result_export", `{"job_id": "1001", "result_connection": "c", "result_settings": "{}"}`, append([]string{"GET /v3/connections/lookup?name=c",
			"POST /v3/job/result_export/1001 result_connection_id=7&result_connection_settings=%7B%7D"}, job("1002")...), ""},
		{"td_partial_delete", `{"_command": "there", "from": 0, "to": "3600"}`, append([]string{"POST /v3/table/partialdelete/sample_datasets/there domain_key=KEY&from=0&to=3600"}, job("1002")...),
			"[INFO] TdPartialDeleteOperatorFactory: Started partial delete job id=1002"},
		{"td_partial_delete", `{"_command": "there", "from": "2016-01-01T09:00:00+09:00", "to": "2016-01-01T01:00:00"}`, append([]string{
			"POST /v3/table/partialdelete/sample_datasets/there domain_key=KEY&from=1451606400&to=1451610000"}, job("1002")...), ""},
	} {
		b := newBed(t)
		b.Put("sample_datasets", "there")
		b.Put("other", "there")
		b.Connect("c", 7)
		b.Save("my query", 12, "select 1")
		b.Save("session a", 13, "")
		if first := b.world(t, `{"query": "select 1"}`); operatortest.UntilDone(t, operator(t, "td"), first).Error != "" {
			t.Fatal("the job before does not succeed")
		}
		before := len(b.Requests())
		w := b.world(t, c.params)
		w.Vault["x"], w.Vault["aws.access_key_id"], w.Vault["aws.s3.secret_access_key"], w.Vault["aws.secret_access_key"] = `q"x`, "id", "key", "not this"
		w.File(t, "load.yml", "in:\n  type: s3\n  key: ${secret:x}\n  at: 10:00:00\n  skip: 1\n  on: yes\n")
		if got := operatortest.UntilDone(t, operator(t, c.operator), w); got.Error != "" {
			t.Errorf("%s> %s: %s", c.operator, c.params, got.Error)
		}
		if diff := cmp.Diff(c.want, b.sent()[before:]); diff != "" {
			t.Errorf("%s> %s: %s", c.operator, c.params, diff)
		}
		if !strings.Contains(w.Output.String(), c.log) || strings.Contains(w.Output.String(), `q"x`) {
			t.Errorf("%s> %s: the log is\n%s", c.operator, c.params, w.Output)
		}
	}
}

// TestErrors checks Digdag's messages about invalid parameters.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ operator, params, want string }{
		{"td", `{"query": "q", "insert_into": "a", "create_table": "b"}`, "Setting both insert_into and create_table is invalid"},
		{"td", `{"query": "q", "create_table": "a", "download_file": "b"}`, "download_file is invalid if insert_into or create_table is set"},
		{"td", `{"query": "q", "result_settings": {"type": "http"}}`, "result_settings is valid only if result_connection is set"},
		{"td", `{"query": "q", "engine": "pig"}`, "Unknown 'engine:' option (available options are: hive and presto): pig"},
		{"td_wait", `{"query": "q", "engine": "pig"}`, "Unknown 'engine:' option (available options are: hive and presto): pig"},
		{"td_wait", `{"query": "q", "interval": "29s"}`, "poll interval must be at least 30s and no greater than 2d"},
		{"td_run", `{"_command": [1]}`, "Invalid saved query reference: [1]"},
		{"td_load", `{"config": {}, "name": "n"}`, "The parameters config and name cannot both be set"},
		{"td_load", `{"config": {}, "_command": "n"}`, "Only the command or one of the config and name params may be set"},
		{"td_load", `{}`, "No parameter is set"},
		{"td_load", `{"name": ""}`, "No parameter is set"},
		{"td_load", `{"config": {}}`, "Parameter 'table' is required but not set"},
		{"td_load", `{"_command": "bad.yml"}`, "Failed to parse yaml file: it is not a mapping"},
		{"td_table_export", `{"table": "t", "file_format": "zip"}`, "invalid file_format option"},
		{"td_partial_delete", `{"_command": "t", "from": 1, "to": 3600}`, "'from' and 'to' parameters must be whole hours"},
		{"td_ddl", `{"rename_tables": [{"from": "a", "to": "b.c"}]}`, "'to' option of rename_tables can't include database name"},
		{"td_ddl", `{"rename_tables": "[{\"from\": \"other.abc\", \"to\": \"def\"}]"}`, "Renaming table other.abc doesn't exist"},
	} {
		w := newBed(t).world(t, c.params)
		w.File(t, "bad.yml", "- 1\n")
		if diff := cmp.Diff(operatortest.Ended{Error: c.want, Kind: "config"}, operatortest.RunOnce(t, operator(t, c.operator), w)); diff != "" {
			t.Errorf("%s> %s: %s", c.operator, c.params, diff)
		}
	}
	for name, want := range map[string]string{
		"ab":  "[INVALID_INPUT] Table name must be 3 to 256 characters but got 2 characters: ab (td client)",
		"A1-": "[INVALID_INPUT] Table name must follow this pattern ^([a-z0-9_]+)$: A1- (td client)",
	} {
		b := newBed(t)
		got := operatortest.UntilDone(t, operator(t, "td_ddl"), b.world(t, `{"create_tables": ["`+name+`"]}`))
		if got.Error != want || len(b.Requests()) != 0 {
			t.Errorf("%+v after %d requests", got, len(b.Requests()))
		}
	}
}

// TestDDL checks the order of the changes, and that a change that has already been made is not repeated.
func TestDDL(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, database := range []string{"drop_db", "empty_db"} {
		b.Put(database, "abc")
	}
	for _, table := range []string{"empty_1", "drop_1", "from_1", "to_1"} {
		b.Put("sample_datasets", table)
	}
	w := b.world(t, `{"create_tables": ["new_1", "empty_db.new_2"], "drop_tables": "[\"drop_1\", \"drop_2\"]", "empty_tables": ["empty_1", "empty_2"],
		"create_databases": ["new_db"], "drop_databases": ["drop_db", "none_db"], "empty_databases": ["empty_db"],
		"rename_tables": [{"from": "from_1", "to": "to_1"}, {"from": "sample_datasets.to_1", "to": "to_2"}]}`)
	b.Put("sample_datasets", "to_1")
	if got := operatortest.UntilDone(t, operator(t, "td_ddl"), w); got.Error != "" {
		t.Fatal(got.Error)
	}
	if diff := cmp.Diff([]string{"empty_db.new_2", "new_db.", "sample_datasets.empty_1", "sample_datasets.empty_2", "sample_datasets.new_1", "sample_datasets.to_2"}, b.Tables()); diff != "" {
		t.Error(diff)
	}
	var posts []string
	for _, line := range b.sent() {
		if path, isPost := strings.CutPrefix(line, "POST /v3/"); isPost {
			posts = append(posts, path)
		}
	}
	want := []string{"database/delete/drop_db", "database/delete/none_db", "database/delete/empty_db", "database/create/new_db", "database/create/empty_db",
		"table/delete/sample_datasets/drop_1", "table/delete/sample_datasets/drop_2", "table/delete/sample_datasets/empty_1", "table/delete/sample_datasets/empty_2",
		"table/create/sample_datasets/new_1/log", "table/create/empty_db/new_2/log", "table/create/sample_datasets/empty_1/log", "table/create/sample_datasets/empty_2/log",
		"table/rename/sample_datasets/from_1/to_1 overwrite=true", "table/rename/sample_datasets/to_1/to_2 overwrite=true"}
	if diff := cmp.Diff(want, posts); diff != "" {
		t.Error(diff)
	}
}

// TestDDLOnce checks that no change that precedes a rename is repeated after it, whichever run or response is lost: a
// repeated change would remove the table.
func TestDDLOnce(t *testing.T) {
	t.Parallel()
	const params = `{"drop_tables": ["to_1"], "create_tables": ["abc"], "rename_tables": [{"from": "from_1", "to": "to_1"}, {"from": "from_2", "to": "from_1"}]}`
	for _, fault := range []fake.Fault{fake.Lost, fake.Cut, fake.Broken} {
		for n := range 12 {
			b := newBed(t)
			b.Put("sample_datasets", "from_1")
			b.Put("sample_datasets", "from_2")
			w := b.world(t, params)
			b.Fail(fake.Faults{At: map[int]fake.Fault{n: fault}})
			for done := false; !done; {
				before := w.State
				first := operatortest.RunOnce(t, operator(t, "td_ddl"), w)
				lost := w.State
				w.State = before
				again := operatortest.RunOnce(t, operator(t, "td_ddl"), w) // the first run was lost with its state
				if again.Kind != "later" {
					done = true
					if again.Error != "" {
						t.Errorf("%s at %d: %+v after %+v (%s)", fault, n, again, first, param.Text(lost))
					}
					continue
				}
				w.State = operatortest.Look(t, operator(t, "td_ddl"), w).State
			}
			if diff := cmp.Diff([]string{"sample_datasets.abc", "sample_datasets.from_1", "sample_datasets.to_1"}, b.Tables()); diff != "" {
				t.Errorf("%s at %d: %s", fault, n, diff)
			}
		}
	}
}

// TestForEach checks which tasks are generated from rows, and that a row is data.
func TestForEach(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]operatortest.Ended{
		script(`{"columns": [["a", "varchar"], ["b", "double"]], "rows": [["x", 1.1], [null, 2]]}`) + `, "_do": {"echo>": "${td.each.a}", "_export": {"td": {"database": "q", "each": {"c": 1}}, "z": 1}}, "_parallel": true`: {
			Subtasks: `{"+td-for-each-0":{"echo>":"${td.each.a}","_export":{"td":{"database":"q","each":{"c":1,"a":"x","b":1.1}},"z":1}},` +
				`"+td-for-each-1":{"echo>":"${td.each.a}","_export":{"td":{"database":"q","each":{"c":1,"a":null,"b":2}},"z":1}},"_parallel":true}`,
			Store: `{"td":{"last_job_id":"1001","last_job":{"id":"1001","num_records":2}}}`},
		script(`{"columns": [["a", "varchar"]], "rows": []}`) + `, "_do": {"echo>": "x"}`: {Store: `{"td":{"last_job_id":"1001","last_job":{"id":"1001","num_records":0}}}`},
		script(`{"columns": [["a", "varchar"]], "rows": [["${1+1}"]]}`) + `, "_do": {"echo>": "x"}`: {
			Subtasks: `{"+td-for-each-0":{"echo>":"x","_export":{"td":{"each":{"a":"${1+1}"}}}}}`, Store: `{"td":{"last_job_id":"1001","last_job":{"id":"1001","num_records":1}}}`},
		script(`{"columns": [["a", "array"]], "rows": [[[1]]]}`) + `, "_do": {"echo>": "x"}`:               {Error: "Unsupported column type: ARRAY", Kind: "unsupported operation"},
		script(`{"columns": [["a", "map"]], "rows": [[{"a": 1}]]}`) + `, "_do": {"echo>": "x"}`:            {Error: "Unsupported column type: MAP", Kind: "unsupported operation"},
		script(`{"columns": [["a", "bigint"]], "rows": [[1]], "times": 1001}`) + `, "_do": {"echo>": "x"}`: {Error: "Too many tasks. Limit: 1000 (task limit exceeded)"},
		script(`{"columns": "a"}`) + `, "_do": {"echo>": "x"}`: {Error: "[INVALID_INPUT] [422:Unprocessable Entity] API request to /v3/job/issue/presto/sample_datasets has failed: " +
			"the script in the query is not JSON: json: cannot unmarshal string into Go struct field Script.columns of type [][2]string (td client http)"},
	} {
		w := newBed(t).world(t, "{"+params+"}")
		var got operatortest.Ended
		for got = (operatortest.Ended{Kind: "later"}); got.Kind == "later"; {
			if got = operatortest.RunOnce(t, operator(t, "td_for_each"), w); got.Kind == "later" {
				w.State = operatortest.Look(t, operator(t, "td_for_each"), w).State
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

// TestWait checks which results of a query count as true, as in Digdag's acceptance tests, and after how long the next
// query is sent.
func TestWait(t *testing.T) {
	t.Parallel()
	for rows, truth := range map[string]bool{
		`[[1]]`: true, `[[17]]`: true, `[[-4711]]`: true, `[[true]]`: true, `[["foobar"]]`: true, `[[""]]`: true, `[[0.0]]`: true, `[[[]]]`: true, `[[18446744073709551615]]`: true,
		`[[0]]`: false, `[[false]]`: false, `[[null]]`: false, `[]`: false, `[[0], [1]]`: false,
	} {
		b := newBed(t)
		w := b.world(t, "{"+script(`{"columns": [["a", "any"]], "rows": `+rows+`}`)+`, "interval": "45s"}`)
		if truth {
			if got := operatortest.UntilDone(t, operator(t, "td_wait"), w); got.Error != "" || len(b.Jobs()) != 1 || got.Store != "{}" {
				t.Errorf("%s: %+v", rows, got)
			}
			continue
		}
		operatortest.Waits(t, operator(t, "td_wait"), w, 0, 1, 45, 0, 1, 45, 0)
		if jobs := b.Jobs(); len(jobs) != 2 || strings.Count(w.Output.String(), "[INFO]") != 1 || strings.Count(w.Output.String(), "[DEBUG] TdWaitOperatorFactory: Started presto job id=1002") != 1 {
			t.Errorf("%s: %+v, log:\n%s", rows, jobs, w.Output)
		}
	}
	b := newBed(t)
	same(t, operatortest.Ended{Error: "Got empty row in result of query"},
		operatortest.UntilDone(t, operator(t, "td_wait"), b.world(t, "{"+script(`{"columns": [], "rows": [[]]}`)+"}")))
	same(t, operatortest.Ended{Error: "\nline 1:1: mismatched input 'nasdaq'"},
		operatortest.UntilDone(t, operator(t, "td_wait"), b.world(t, "{"+script(`{"fail": "line 1:1: mismatched input 'nasdaq'"}`)+"}")))
	w := b.world(t, "{"+script(`{"columns": [["a", "any"]], "rows": [[0]]}`)+`}`)
	operatortest.Waits(t, operator(t, "td_wait"), w, 0, 1, 30)
	w = b.world(t, "{"+script(`{"columns": [["a", "any"]], "rows": [[0]]}`)+`}`)
	w.Config = operatortest.Map(t, `{"td": {"wait": {"min_poll_interval": "5s", "max_poll_interval": "1m 30s", "poll_interval": "7s"}}}`)
	operatortest.Waits(t, operator(t, "td_wait"), w, 0, 1, 7)
	w.Params.All().Set("interval", "2m")
	same(t, operatortest.Ended{Error: "poll interval must be at least 5s and no greater than 1m 30s", Kind: "config"}, operatortest.RunOnce(t, operator(t, "td_wait"), w))
}

// TestWaitTable checks that the task waits for the table and then for its rows, and that a count must be a number.
func TestWaitTable(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, `{"_command": "new_table", "rows": 2, "interval": "1m"}`)
	operatortest.Waits(t, operator(t, "td_wait_table"), w, 30, 30)
	b.Put("sample_datasets", "new_table")
	faults := map[int]fake.Fault{} // of a call and its retries, twice
	for n := range 4 {
		faults[3+n], faults[7+n] = fake.Broken, fake.Throttled
	}
	b.Fail(fake.Faults{At: faults})
	operatortest.Waits(t, operator(t, "td_wait_table"), w, 1, 2, 0, 1, 60) // the service's count is always 1
	if n := len(b.Jobs()); n != 1 {
		t.Errorf("%d jobs", n)
	}
	if err := operator(t, "td_wait_table").Clean(t.Context(), &w.Task); err != nil {
		t.Error(err)
	}
	w = b.world(t, `{"_command": "new_table", "rows": 1}`)
	same(t, operatortest.Ended{Store: "{}"}, operatortest.UntilDone(t, operator(t, "td_wait_table"), w))
	for rows, want := range map[string]string{
		`[]`: "Got unexpected empty result for count job: 1001", `[[1, 2]]`: "Got unexpected result row size for count job: 2",
		`[["x"]]`: "Got unexpected value type count job: STRING", `[[18446744073709551615]]`: "",
	} {
		b := newBed(t)
		b.Put("sample_datasets", "new_table")
		w := b.world(t, `{"_command": "new_table\"\n-- td: {\"columns\": [[\"a\", \"bigint\"]], \"rows\": `+strings.ReplaceAll(rows, `"`, `\"`)+`}\n", "rows": 1}`)
		w.State = param.New("table_exists", true)
		if got := operatortest.UntilDone(t, operator(t, "td_wait_table"), w); got.Error != want {
			t.Errorf("%s: %+v", rows, got)
		}
	}
}

// TestKillOfAWait checks that a kill also ends the query of a wait.
func TestKillOfAWait(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, "{"+script(`{"looks": 9}`)+`}`)
	operatortest.Stops(t, operator(t, "td_wait"), w)
	w.State = operatortest.Look(t, operator(t, "td_wait"), w).State
	if err := operator(t, "td_wait").Clean(t.Context(), &w.Task); err != nil || b.Jobs()[0].Status != "killed" {
		t.Errorf("%v, %+v", err, b.Jobs())
	}
}

// TestOnceForEveryJob checks for each operator with a job that the job starts once, despite any fault in any of its
// requests. A result export has no key: if its response is lost, the task fails, because otherwise it might write the
// rows twice.
func TestOnceForEveryJob(t *testing.T) {
	t.Parallel()
	for name, params := range map[string]string{
		"td_run": `{"_command": "my query"}`, "td_for_each": `{"query": "select 1", "_do": {"echo>": "x"}}`, "td_wait": `{"query": "select 1"}`,
		"td_wait_table": `{"_command": "there", "rows": 1}`, "td_load": `{"config": {}, "table": "t"}`,
		"td_table_export":   `{"table": "there", "file_format": "tsv.gz", "from": 0, "to": 1, "s3_bucket": "b", "s3_path_prefix": "p"}`,
		"td_partial_delete": `{"_command": "there", "from": 0, "to": 0}`, "td_result_export": `{"job_id": 1, "result_connection": "c", "result_settings": {}}`,
	} {
		for _, fault := range []fake.Fault{fake.Throttled, fake.Broken, fake.Cut, fake.Lost, fake.Half, fake.Nonsense} {
			for n := 1; n < 6; n++ {
				b := newBed(t)
				b.Put("sample_datasets", "there")
				b.Connect("c", 7)
				b.Save("my query", 12, "select 1")
				w := b.world(t, params)
				w.Vault["aws.access_key_id"], w.Vault["aws.secret_access_key"] = "id", "key"
				before := 0
				if name == "td_result_export" {
					operatortest.UntilDone(t, operator(t, "td"), b.world(t, `{"query": "select 1"}`))
					w.Params.All().Set("job_id", b.Jobs()[0].ID)
					before = 1
				}
				at := len(b.Requests()) + n
				b.Fail(fake.Faults{At: map[int]fake.Fault{at: fault}})
				got := operatortest.UntilDone(t, operator(t, name), w)
				lost := name == "td_result_export" && n == 2 && fault != fake.Throttled
				if lost != strings.Contains(got.Error, "td_result_export>: Treasure Data may have started the export of job 1001, but its response was lost") || !lost && got.Error != "" {
					t.Errorf("%s>: %s at %d: %+v", name, fault, n, got)
				}
				if jobs := len(b.Jobs()) - before; jobs > 1 || !lost && jobs != 1 {
					t.Errorf("%s>: %s at %d: %d jobs", name, fault, n, jobs)
				}
			}
		}
	}
}
