package gcpfake_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/integration/fake"
	"zerodag/integration/gcpfake"
	"zerodag/integration/server"
)

// program is the command line, built once for all tests of the package.
var program string

func TestMain(m *testing.M) { os.Exit(server.Main(m, &program)) }

// workflow is a project that is run by the command line against the services.
type workflow struct {
	name   string
	files  map[string]string
	tables []string // that exist at the end, in addition to earlier ones
	jobs   int
	out    string // in what the program writes
	fails  bool
	faults fake.Faults
}

// cases returns workflows that cover Digdag's acceptance tests with a real account, and features that those omit.
func cases() []workflow {
	ddl := "timezone: UTC\n+run:\n  bq_ddl>:\n  dataset: default_ds\n  create_datasets:\n    - c1\n    - {id: c2, friendly_name: create dataset 2, location: US, default_table_expiration: 7d, labels: {l1: v1}}\n" +
		"  delete_datasets: [d1, d2]\n  empty_datasets:\n    - e1\n    - {id: e2, location: US}\n  create_tables:\n    - t1\n    - e1.t2\n    - c1.t3\n    - id: t5\n      friendly_name: create table 5\n" +
		"      schema:\n        fields:\n          - {name: f1, type: STRING}\n  delete_tables: [gone, non_existent_table]\n  empty_tables: [kept]\n+post:\n  echo>: all is there\n"
	after := []string{"my-project:c1.t3", "my-project:c2", "my-project:default_ds.kept", "my-project:default_ds.t1", "my-project:default_ds.t5", "my-project:e1.t2", "my-project:e2"}
	return []workflow{
		{name: "queries", files: map[string]string{"main.dig": "timezone: UTC\n+run:\n  bq>:\n    data: |\n      SELECT weight_pounds FROM natality\n      ORDER BY weight_pounds DESC LIMIT 10;\n  dataset: publicdata:samples\n" +
			"+run_tokyo1:\n  bq>:\n    data: SELECT f1, f2 FROM t;\n  dataset: tokyo\n  location: asia-northeast1\n+post:\n  echo>: it was ${bq.last_job_id}\n"},
			jobs: 2, out: "it was my-project:asia-northeast1.digdag_s0_p_"},
		{name: "a query of a file, elsewhere", files: map[string]string{"main.dig": "_export: {bq: {dataset: tokyo}}\n+run:\n  bq>: q.sql\n", "q.sql": "select '${session_date}'"},
			jobs: 1, out: "Success"},
		{name: "a load and an extract", files: map[string]string{"main.dig": "+load:\n  bq_load>: gs://b/${session_date}.csv\n  schema:\n    fields:\n      - name: foo\n        type: STRING\n  destination_table: default_ds.t\n" +
			"+extract:\n  bq_extract>: default_ds.t\n  destination: gs://b/out\n+post:\n  echo>: ${bq.last_job_id}\n"}, jobs: 2, out: "my-project:US.digdag_s0_p_"},
		{name: "datasets and tables", files: map[string]string{"main.dig": ddl}, tables: after, out: "all is there"},
		{name: "datasets and tables while Google is away now and then", files: map[string]string{"main.dig": ddl}, tables: after, out: "all is there",
			faults: fake.Faults{At: map[int]fake.Fault{1: fake.Broken, 4: fake.Lost, 9: fake.Cut}}},
		{name: "a wait", files: map[string]string{"main.dig": "+wait:\n  gcs_wait>: gs://b/some/file\n+end:\n  echo>: ${gcs_wait.last_object.metadata.size} bytes of ${gcs_wait.last_object.metadata.name}\n"},
			out: "10 bytes of some/file"},
		{name: "a query that fails", files: map[string]string{"main.dig": "+a:\n  bq>:\n    data: |\n      -- bq: {\"fail\": \"Table nowhere was not found\", \"reason\": \"notFound\"}\n      select 1\n" +
			"  _retry: 1\n  _error:\n    echo>: said ${error.message} ${error.errors}\n"}, fails: true, jobs: 2, out: `"reason" : "notFound"`},
		{name: "a query while Google is away now and then", files: map[string]string{"main.dig": "+a:\n  bq>: {data: select 1}\n"}, jobs: 1,
			faults: fake.Faults{At: map[int]fake.Fault{1: fake.Lost, 3: fake.Throttled}}},
		{name: "no key", files: map[string]string{"main.dig": "_export: {gcp: {credential: '{}'}}\n+a:\n  bq>: {data: select 1}\n", "config": ""},
			fails: true, out: "need gcp.credential secret"},
		{name: "the account of gcloud", files: map[string]string{"main.dig": "+a:\n  bq>: {data: select 1}\n", "application_default_credentials.json": "it is written by the test"}, jobs: 1},
	}
}

// TestWorkflows checks, with the program itself, what projects with operators for Google Cloud do.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := gcpfake.New()
			s.PutObject("b", "some/file", "hello gcs!")
			for name, location := range map[string]string{"default_ds": "US", "tokyo": "asia-northeast1", "d1": "US", "e1": "US"} {
				s.PutDataset("my-project:"+name, location)
			}
			for _, table := range [][2]string{{"default_ds", "gone"}, {"default_ds", "kept"}, {"d1", "x"}, {"e1", "x"}} {
				s.PutTable("my-project:"+table[0], table[1])
			}
			before := s.Tables()
			s.Fail(c.faults)
			out, err := run(t, c.files, s.Start(t))
			if (err != nil) != c.fails || !strings.Contains(out, c.out) || len(s.Jobs()) != c.jobs {
				t.Errorf("it ended with %v after %d jobs, want %d and %q in\n%s", err, len(s.Jobs()), c.jobs, c.out, out)
			}
			want := before
			if c.tables != nil {
				want = append(c.tables, "my-project:tokyo")
			}
			if diff := cmp.Diff(want, s.Tables()); diff != "" {
				t.Errorf("%s\n%s", diff, out)
			}
			if m := regexp.MustCompile(`PRIVATE KEY|ya29\.`).FindString(out); m != "" {
				t.Errorf("the output has a secret, %s:\n%s", m, out)
			}
		})
	}
}

// run runs a project.
func run(t *testing.T, files map[string]string, address string) (string, error) {
	t.Helper()
	folder := t.TempDir()
	secrets := map[string]string{"gcp.credential": gcpfake.Credential(address), "gcp.bigquery.endpoint": address, "gcp.storage.endpoint": address}
	if _, none := files["config"]; none {
		delete(secrets, "gcp.credential")
	}
	if _, ofGcloud := files["application_default_credentials.json"]; ofGcloud {
		files["application_default_credentials.json"] = secrets["gcp.credential"]
		delete(secrets, "gcp.credential")
	}
	if err := os.Mkdir(filepath.Join(folder, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	for key, value := range secrets {
		files[filepath.Join("secrets", key)] = value
	}
	files["config"] = ""
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "run", "main.dig", "--no-save", "-c", "config", "--session", "2024-02-29 12:34:56")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "ZERODAG_CONFIG_HOME="+folder, "CLOUDSDK_CONFIG="+folder, "GOOGLE_APPLICATION_CREDENTIALS=", "HOME="+folder)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
