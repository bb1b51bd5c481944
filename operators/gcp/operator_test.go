package gcp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/integration/fake"
	"zerodag/integration/gcpfake"
	"zerodag/operators"
	"zerodag/operators/gcp"
	"zerodag/operators/operatortest"
)

// operator returns the operator with the given name.
func operator(t *testing.T, name string) operators.Operator {
	t.Helper()
	for _, o := range gcp.Operators() {
		if o.Name == name {
			return o
		}
	}
	t.Fatalf("there is no %s>", name)
	return operators.Operator{}
}

// bed contains the services and their address.
type bed struct {
	*gcpfake.Server
	address string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	s := gcpfake.New()
	return &bed{s, s.Start(t)}
}

// grant gives a task the secrets that it needs to reach the services.
func (b *bed) grant(_ *testing.T, w *operatortest.World) {
	w.Vault["gcp.credential"] = gcpfake.Credential(b.address)
	w.Vault["gcp.bigquery.endpoint"], w.Vault["gcp.storage.endpoint"] = b.address, b.address
}

// world returns a task that reaches the services.
func (b *bed) world(t *testing.T, params string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, params)
	b.grant(t, w)
	return w
}

// sent returns the requests as lines, with JOB in place of job ids.
func (b *bed) sent() []string {
	var lines []string
	for _, r := range b.Requests() {
		line := r.String()
		for _, j := range b.Jobs() {
			line = strings.ReplaceAll(line, j.ID, "JOB")
		}
		lines = append(lines, line)
	}
	return lines
}

// same fails the test if the wanted value and the actual value differ.
func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOperators checks the rules for every operator. A request with "slow" in a name never gets a response.
func TestOperators(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	b.OnRequest(func(_ int, r fake.Request, _ bool) {
		if strings.Contains(r.Path, "slow") {
			<-end
		}
	})
	b.PutDataset(gcpfake.Project+":d", "US")
	b.PutObject("b", "o", "x")
	for name, s := range map[string]operatortest.Subject{
		"bq": {Good: `{"query": "select 1", "dataset": "d"}`, Wrong: []string{`{}`, `{"query": "select 1", "use_legacy_sql": "maybe"}`, `{"_command": "../up.sql"}`,
			`{"query": "select 1", "bq": 1}`, `{"query": "select 1", "table_definitions": []}`}},
		"bq_load": {Good: `{"_command": "gs://b/o", "destination_table": "d.t"}`, Wrong: []string{`{}`, `{"_command": "gs://b/o"}`,
			`{"_command": "gs://b/o", "destination_table": "d.t", "schema": "nowhere.json"}`, `{"_command": "gs://b/o", "destination_table": "d.t", "skip_leading_rows": "a"}`}},
		"bq_extract": {Good: `{"_command": "d.t", "destination": "gs://b/o"}`, Wrong: []string{`{}`, `{"_command": "d.t"}`, `{"_command": "d.t", "destination": "gs://b/o", "print_header": "maybe"}`}},
		"bq_ddl": {Good: `{"create_tables": ["d.t"]}`, Slow: `{"delete_tables": ["d.slow"]}`, Wrong: []string{`{"create_tables": [1]}`, `{"create_datasets": [{"project": "p"}]}`, `{"delete_tables": [{"id": "t"}]}`,
			`{"delete_datasets": [["d"]]}`, `{"create_tables": [{"id": "t"}]}`, `{"create_tables": [{"id": "t", "dataset": "d", "expiration_time": "soon"}]}`,
			`{"create_datasets": [{"id": "d", "labels": {"a": []}}]}`, `{"create_tables": 1}`}},
		"gcs_wait": {Good: `{"_command": "b/o"}`, Slow: `{"_command": "b/slow"}`, Wrong: []string{`{}`, `{"_command": "b"}`, `{"_command": "b/o", "bucket": "b"}`, `{"bucket": "b"}`, `{"object": "o"}`, `{"_command": "gs://b/"}`}},
	} {
		s.Operator, s.Prepare = operator(t, name), b.grant
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operatortest.Exercise(t, s)
		})
	}
}
