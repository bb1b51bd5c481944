package tdfake_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/integration/fake"
	"zerodag/integration/server"
	"zerodag/integration/tdfake"
)

// program is the command line, built once for all tests of the package.
var program string

func TestMain(m *testing.M) { os.Exit(server.Main(m, &program)) }

// workflow is a project that is run by the command line against the service.
type workflow struct {
	name  string
	files map[string]string
	// changes lists the requests that start or change something, without variable parts. Digdag sends the same ones for
	// the same project.
	changes []string
	out     string // in what the program writes
	fails   bool
	faults  fake.Faults
}

// cases returns workflows that cover Digdag's acceptance tests with a real account, and features that those omit.
func cases() []workflow {
	return []workflow{
		{name: "query", files: map[string]string{"main.dig": "+run:\n  td>: query.sql\n  database: sample_datasets\n+post:\n  echo>: job ${td.last_job_id} has ${td.last_job.num_records} rows\n",
			"query.sql": "select ${session_date_compact}1"},
			changes: []string{"/v3/job/issue/presto/sample_datasets select 202402291"}, out: "job 1001 has 1 rows"},
		{name: "the account of Treasure Data's command line", files: map[string]string{"main.dig": "+a:\n  td>: {data: select 1}\n  database: sample_datasets\n", "td.conf": "it is written by the test"},
			changes: []string{"/v3/job/issue/presto/sample_datasets select 1"}},
		{name: "no key", files: map[string]string{"main.dig": "_export: {td: {apikey: x, endpoint: 127.0.0.1}}\n+a:\n  td>: {data: select 1}\n  database: sample_datasets\n", "secrets": ""},
			fails: true, out: "The 'td.apikey' secret is missing"},
		{name: "hive with a pool", files: map[string]string{"main.dig": "_export: {td: {database: sample_datasets, engine: hive, hive_pool_name: hadoop2}}\n+run:\n  td>: {data: select 1}\n"},
			changes: []string{"/v3/job/issue/hive/sample_datasets select 1 pool=hadoop2"}},
		{name: "last results", files: map[string]string{"main.dig": "_export: {td: {database: sample_datasets, store_last_results: true}}\n" +
			"+a:\n  td>:\n    data: |\n      -- td: {\"columns\": [[\"a\", \"varchar\"], [\"b\", \"varchar\"]], \"rows\": [[\"A1\", \"B\"]]}\n      select 1\n" +
			"+b:\n  td>:\n    data: |\n      -- td: {\"columns\": [[\"a\", \"varchar\"], [\"d\", \"varchar\"]], \"rows\": [[\"A2\", \"D\"]]}\n      select 2\n" +
			"+c:\n  echo>: ${JSON.stringify(td.last_results)}\n"},
			changes: []string{"/v3/job/issue/presto/sample_datasets select 1", "/v3/job/issue/presto/sample_datasets select 2"}, out: `{"a":"A2","d":"D"}`},
		{name: "no rows", files: map[string]string{"main.dig": "+a:\n  td>:\n    data: |\n      -- td: {\"columns\": [[\"a\", \"varchar\"]], \"rows\": []}\n      select 1\n" +
			"  database: sample_datasets\n  store_last_results: true\n+c:\n  echo>: ${JSON.stringify(td.last_results)} ${td.last_job.num_records}\n"},
			changes: []string{"/v3/job/issue/presto/sample_datasets select 1"}, out: "{} 0"},
		{name: "a download that the next task reads", files: map[string]string{"main.dig": "+a:\n  td>: {data: select 1}\n  database: sample_datasets\n  download_file: out.csv\n" +
			"+b:\n  sh>: cat out.csv\n"}, changes: []string{"/v3/job/issue/presto/sample_datasets select 1"}, out: "+main+b | 1\n"},
		{name: "a table and its preview", files: map[string]string{"main.dig": "+a:\n  td>: {data: select 1}\n  database: sample_datasets\n  create_table: result\n  preview: true\n"},
			changes: []string{"/v3/job/issue/presto/sample_datasets DROP TABLE IF EXISTS \"result\"; CREATE TABLE \"result\" AS select 1",
				"/v3/job/issue/presto/sample_datasets -- preview results of job id 1001 SELECT * FROM \"result\" LIMIT 20"}, out: "preview of table result:"},
		{name: "a secret in the address of the result", files: map[string]string{"main.dig": "+a:\n  td>: {data: select 1}\n  database: sample_datasets\n" +
			"  result_url: td://${secret:td.apikey}@/${session_date}/x\n"}, changes: []string{"/v3/job/issue/presto/sample_datasets select 1 result=td://" + tdfake.Key + "@/2024-02-29/x"}},
		{name: "a query that fails", files: map[string]string{"main.dig": "+a:\n  td>:\n    data: |\n      -- td: {\"fail\": \"Table nowhere does not exist\", \"out\": \"started\"}\n      select 1\n" +
			"  database: sample_datasets\n  _retry: 1\n  _error:\n    echo>: said ${error.message}\n"}, fails: true, out: "said started",
			changes: []string{"/v3/job/issue/presto/sample_datasets select 1", "/v3/job/issue/presto/sample_datasets select 1"}},
		{name: "a service that is away now and then", files: map[string]string{"main.dig": "+a:\n  td>: {data: select 1}\n  database: sample_datasets\n  insert_into: new_table\n"},
			faults:  fake.Faults{At: map[int]fake.Fault{1: fake.Broken, 2: fake.Throttled, 5: fake.Lost, 9: fake.Cut}},
			changes: []string{"/v3/table/create/sample_datasets/new_table/log", "/v3/job/issue/presto/sample_datasets INSERT INTO \"new_table\" select 1"}},
		{name: "tasks for rows", files: map[string]string{"main.dig": "+a:\n  td_for_each>:\n    data: |\n      -- td: {\"columns\": [[\"a\", \"varchar\"], [\"b\", \"varchar\"]], \"rows\": [[\"a1\", \"b1\"], [\"a2\", \"b2\"]]}\n" +
			"      select 1\n  _do:\n    echo>: out-${td.each.a}-${td.each.b}\n  database: sample_datasets\n"},
			changes: []string{"/v3/job/issue/presto/sample_datasets select 1"}, out: "out-a2-b2"},
		{name: "databases and tables", files: map[string]string{"main.dig": "_export:\n  td: {database: sample_datasets}\n  tables: {create: [create_1], rename: [{from: from_1, to: to_1}]}\n" +
			"+prep:\n  td_ddl>:\n  create_tables: [drop_1, from_1]\n+ddl:\n  td_ddl>:\n  create_tables: ${tables.create}\n  drop_tables: [drop_1]\n  rename_tables: ${tables.rename}\n  create_databases: [new_db]\n"},
			changes: []string{"/v3/table/create/sample_datasets/drop_1/log", "/v3/table/create/sample_datasets/from_1/log", "/v3/database/create/new_db",
				"/v3/table/delete/sample_datasets/drop_1", "/v3/table/create/sample_datasets/create_1/log", "/v3/table/rename/sample_datasets/from_1/to_1"}},
		{name: "a rename of one of two that is not there", files: map[string]string{"main.dig": "_export: {td: {database: sample_datasets}}\n+create:\n  td_ddl>:\n  create_tables: [from_1]\n" +
			"+rename:\n  td_ddl>:\n  rename_tables:\n    - {from: from_1, to: to_1}\n    - {from: from_2, to: to_2}\n"}, fails: true,
			changes: []string{"/v3/table/create/sample_datasets/from_1/log"}, out: "Renaming table sample_datasets.from_2 doesn't exist"},
		{name: "saved queries", files: map[string]string{"main.dig": "_export: {td: {database: sample_datasets}}\n+a:\n  td_run>: räksmörgås 漢字\n  session_time: 2016-01-01T00:00:00+00:00\n+b:\n  td_run>: 12\n"},
			changes: []string{"/v3/schedule/run/r%C3%A4ksm%C3%B6rg%C3%A5s%20%E6%BC%A2%E5%AD%97/1451606400", "/v4/queries/12/jobs"}},
		{name: "a load by a file", files: map[string]string{"main.dig": "_export: {td: {database: sample_datasets}, bucket: b}\n+a:\n  td_load>: load.yml\n  table: raw\n+b:\n  td_load>: kept\n",
			"load.yml": "in:\n  key: ${secret:td.apikey}\n  bucket: ${bucket}\n"},
			changes: []string{`/v3/job/issue/bulkload/sample_datasets {"config":{"in":{"key":"` + tdfake.Key + `","bucket":"b"}}}`, "/v3/bulk_loads/kept/jobs"}},
		{name: "a wait", files: map[string]string{"main.dig": "_export: {td: {database: sample_datasets}}\n+table:\n  td_wait_table>: there\n  rows: 1\n+query:\n  td_wait>: {data: select 1}\n"},
			changes: []string{"/v3/job/issue/presto/sample_datasets select count(*) from \"there\"", "/v3/job/issue/presto/sample_datasets select 1"}},
		{name: "a wait for a query that fails", files: map[string]string{"main.dig": "+query:\n  td_wait>:\n    data: |\n      -- td: {\"fail\": \"mismatched input nasdaq\"}\n      nasdaq\n  database: sample_datasets\n"},
			fails: true, changes: []string{"/v3/job/issue/presto/sample_datasets nasdaq"}, out: "mismatched input nasdaq"},
		{name: "exports and a deletion", files: map[string]string{"main.dig": "_export: {td: {database: sample_datasets}}\n+query:\n  td>: {data: select 1}\n+result:\n  td_result_export>:\n" +
			"  job_id: ${td.last_job_id}\n  result_connection: c\n  result_settings: {path: /x}\n+table:\n  td_table_export>:\n  table: there\n  file_format: jsonl.gz\n" +
			"  from: 2016-01-01 00:00:00\n  to: 2016-01-01 01:00:00 +0000\n  s3_bucket: b\n  s3_path_prefix: p\n+delete:\n  td_partial_delete>: there\n  from: 0\n  to: ${(session_unixtime - session_unixtime % 3600)}\n"},
			changes: []string{"/v3/job/issue/presto/sample_datasets select 1", "/v3/job/result_export/1001", "/v3/export/run/sample_datasets/there", "/v3/table/partialdelete/sample_datasets/there"}},
	}
}

// TestWorkflows checks, with the program itself, what projects with operators for Treasure Data do.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := tdfake.New()
			s.Put("sample_datasets", "there")
			s.Connect("c", 7)
			s.Save("räksmörgås 漢字", 12, "select 1")
			s.Save("kept", 13, "")
			s.Fail(c.faults)
			out, err := run(t, c.files, s.Start(t))
			if (err != nil) != c.fails || !strings.Contains(out, c.out) {
				t.Errorf("it ended with %v, want %q in\n%s", err, c.out, out)
			}
			if diff := cmp.Diff(c.changes, changes(s)); diff != "" {
				t.Errorf("%s\n%s", diff, out)
			}
			for _, secret := range []string{tdfake.Key, "aws-secret-key"} {
				if strings.Contains(out, secret) {
					t.Errorf("the output has a secret:\n%s", out)
				}
			}
		})
	}
}

// run runs a project without waiting between polls.
func run(t *testing.T, files map[string]string, endpoint string) (string, error) {
	t.Helper()
	folder := t.TempDir()
	account := "secrets.td.apikey = " + tdfake.Key + "\nsecrets.td.endpoint = " + endpoint + "\nsecrets.td.use_ssl = false\n"
	if _, none := files["secrets"]; none {
		account = ""
		delete(files, "secrets")
	}
	if files["td.conf"] != "" {
		files["td.conf"], account = "[account]\n  user = a@b.c\n  apikey = "+tdfake.Key+"\n  endpoint = http://"+endpoint+"\n", ""
	}
	files["config"] = account + "secrets.aws.access_key_id = aws-access-key\nsecrets.aws.secret_access_key = aws-secret-key\n" +
		"config.td.min_poll_interval = 0s\nconfig.td.min_retry_interval = 0s\nconfig.td.max_retry_interval = 0s\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "run", "main.dig", "--no-save", "-c", "config", "--session", "2024-02-29 12:34:56")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "ZERODAG_CONFIG_HOME="+folder, "TD_CONFIG_PATH="+filepath.Join(folder, "td.conf"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// changes returns the requests that change something and were handled, without the comments of queries.
func changes(s *tdfake.Server) []string {
	var list []string
	jobs := map[string]bool{}
	for _, r := range s.Requests() {
		if r.Method == "GET" {
			continue
		}
		line := r.Path
		key := r.Form.Get("domain_key") + r.Query.Get("domain_key")
		if query := r.Form.Get("query"); query != "" {
			for text := range strings.Lines(query) {
				if !strings.HasPrefix(text, "-- ") || strings.HasPrefix(text, "-- preview") {
					line += " " + strings.TrimSpace(text)
				}
			}
		}
		for _, option := range [][2]string{{"pool", "pool_name"}, {"result", "result"}} {
			if v := r.Form.Get(option[1]); v != "" {
				line += " " + option[0] + "=" + v
			}
		}
		if strings.HasPrefix(r.Body, `{"config"`) {
			line += " " + r.Body
		}
		if sent := key + line; !jobs[sent] || key == "" && !strings.Contains(line, "/create/") {
			jobs[sent] = true
			list = append(list, line)
		}
	}
	return list
}
