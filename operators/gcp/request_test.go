package gcp_test

import (
	"strings"
	"testing"

	"zerodag/engine/param"
	"zerodag/operators/operatortest"
)

// TestRequests checks that a task sends the same requests as Digdag, with three exceptions (docs/compatibility.md): a
// job is searched for where it runs, a dataset is deleted with its tables by one request, and objects of another
// project are created there. JOB stands for the job's id. The fake refuses requests that do not fit Google's
// description of its APIs.
func TestRequests(t *testing.T) {
	t.Parallel()
	const (
		jobs     = "/bigquery/v2/projects/my-project/jobs"
		datasets = "/bigquery/v2/projects/my-project/datasets"
		looked   = "GET " + jobs + "/JOB?location=US"
	)
	insert := func(configuration string) string {
		return `POST ` + jobs + ` {"jobReference":{"projectId":"my-project","jobId":"JOB"},"configuration":` + configuration + `}`
	}
	for _, c := range []struct {
		operator, params string
		want             []string
	}{
		{"bq", `{"query": "select 1"}`, []string{insert(`{"query":{"query":"select 1","useLegacySql":false}}`), looked}},
		{"bq", `{"_command": "q.sql"}`, []string{insert(`{"query":{"query":"select 5","useLegacySql":false}}`), looked}},
		{"bq", `{"_command": {"data": "select 2"}, "bq": {"dataset": "publicdata:samples"}}`,
			[]string{insert(`{"query":{"query":"select 2","useLegacySql":false,"defaultDataset":{"projectId":"publicdata","datasetId":"samples"}}}`), looked}},
		{"bq", `{"query": "select 1", "dataset": "d", "destination_table": "t$20160101", "location": "asia-northeast1"}`,
			[]string{`POST ` + jobs + ` {"jobReference":{"projectId":"my-project","jobId":"JOB","location":"asia-northeast1"},"configuration":` +
				`{"query":{"query":"select 1","useLegacySql":false,"defaultDataset":{"datasetId":"d"},"destinationTable":{"projectId":"my-project","datasetId":"d","tableId":"t$20160101"}}}}`,
				"GET " + jobs + "/JOB?location=asia-northeast1"}},
		{"bq", `{"query": "select 1", "use_legacy_sql": "true", "allow_large_results": true, "use_query_cache": false, "create_disposition": "CREATE_NEVER", "write_disposition": "WRITE_APPEND",` +
			`"flatten_results": false, "maximum_billing_tier": "2", "priority": "BATCH", "table_definitions": {"e": {"sourceUris": ["gs://b/o"], "sourceFormat": "CSV", "csvOptions": {"skipLeadingRows": 1}}},` +
			`"user_defined_function_resources": [{"resourceUri": "gs://b/f.js"}, {"inlineCode": "x"}], "destination_table": "p2:d2.t2"}`,
			[]string{insert(`{"query":{"query":"select 1","useLegacySql":true,"allowLargeResults":true,"useQueryCache":false,"createDisposition":"CREATE_NEVER","writeDisposition":"WRITE_APPEND",` +
				`"flattenResults":false,"maximumBillingTier":2,"priority":"BATCH","tableDefinitions":{"e":{"sourceUris":["gs://b/o"],"sourceFormat":"CSV","csvOptions":{"skipLeadingRows":1}}},` +
				`"userDefinedFunctionResources":[{"resourceUri":"gs://b/f.js"},{"inlineCode":"x"}],"destinationTable":{"projectId":"p2","datasetId":"d2","tableId":"t2"}}}`), looked}},
		{"bq_load", `{"_command": "gs://b/data.csv", "destination_table": "d.t", "schema": {"fields": [{"name": "foo", "type": "STRING"}]}}`,
			[]string{insert(`{"load":{"sourceUris":["gs://b/data.csv"],"schema":{"fields":[{"name":"foo","type":"STRING"}]},"destinationTable":{"projectId":"my-project","datasetId":"d","tableId":"t"},` +
				`"projectionFields":[],"schemaUpdateOptions":[]}}`), looked}},
		{"bq_load", `{"_command": "[\"gs://b/1\", \"gs://b/2_*\"]", "dataset": "p2:d", "destination_table": "t", "schema": "s.json", "create_disposition": "CREATE_IF_NEEDED", "write_disposition": "WRITE_EMPTY",` +
			`"source_format": "CSV", "field_delimiter": "\t", "skip_leading_rows": 1, "encoding": "ISO-8859-1", "quote": "", "max_bad_records": 100, "allow_quoted_newlines": true, "allow_jagged_rows": true,` +
			`"ignore_unknown_values": true, "autodetect": false, "projection_fields": ["a"], "schema_update_options": ["ALLOW_FIELD_ADDITION"]}`,
			[]string{insert(`{"load":{"sourceUris":["gs://b/1","gs://b/2_*"],"schema":{"fields":[{"name":"n5","type":"INTEGER"}]},"destinationTable":{"projectId":"p2","datasetId":"d","tableId":"t"},` +
				`"createDisposition":"CREATE_IF_NEEDED","writeDisposition":"WRITE_EMPTY","sourceFormat":"CSV","fieldDelimiter":"\t","skipLeadingRows":1,"encoding":"ISO-8859-1","quote":"",` +
				`"maxBadRecords":100,"allowQuotedNewlines":true,"allowJaggedRows":true,"ignoreUnknownValues":true,"autodetect":false,"projectionFields":["a"],` +
				`"schemaUpdateOptions":["ALLOW_FIELD_ADDITION"]}}`), looked}},
		{"bq_load", `{"_command": ["gs://b/1"], "destination_table": "d.t", "schema": "s.yml"}`,
			[]string{insert(`{"load":{"sourceUris":["gs://b/1"],"schema":{"fields":[{"name":"y5","type":"STRING"}]},"destinationTable":{"projectId":"my-project","datasetId":"d","tableId":"t"},` +
				`"projectionFields":[],"schemaUpdateOptions":[]}}`), looked}},
		{"bq_extract", `{"_command": "d.t", "destination": "gs://b/o"}`,
			[]string{insert(`{"extract":{"destinationUri":"gs://b/o","sourceTable":{"projectId":"my-project","datasetId":"d","tableId":"t"}}}`), looked}},
		{"bq_extract", `{"_command": "t", "dataset": "d", "destination": ["gs://b/1", "gs://b/2"], "print_header": false, "field_delimiter": "\t", "destination_format": "CSV", "compression": "GZIP"}`,
			[]string{insert(`{"extract":{"destinationUris":["gs://b/1","gs://b/2"],"sourceTable":{"projectId":"my-project","datasetId":"d","tableId":"t"},"printHeader":false,"fieldDelimiter":"\t",` +
				`"destinationFormat":"CSV","compression":"GZIP"}}`), looked}},
		{"bq_ddl", `{}`, nil},
		{"bq_ddl", `{"dataset": "there", "create_tables": ["t1", {"id": "t2", "friendly_name": "f", "description": "x", "expiration_time": "2017-01-02T01:02:03Z",` +
			`"schema": {"fields": [{"name": "f1", "type": "STRING"}]}, "time_partitioning": {"type": "DAY", "expirationMs": 1000}, "labels": {"quux": 17}}],` +
			`"empty_tables": [{"id": "t3", "project": "my-project", "dataset": "there", "view": {"query": "select 1"}, "expiration_time": 1483318923}], "delete_tables": ["t1", "p2:d2.t4"],` +
			`"create_datasets": ["c1", {"id": "c2", "project": "p2", "friendly_name": "f", "description": "x", "default_table_expiration": "7d", "location": "EU", "labels": {"foo": "bar"},` +
			`"access": [{"domain": "example.com", "role": "READER"}, {"userByEmail": "ingest@example.com", "role": "WRITER"}]}], "empty_datasets": ["p2:e1"], "delete_datasets": ["x1", "p2:x2"]}`,
			[]string{
				"DELETE " + datasets + "/x1?deleteContents=true", "DELETE /bigquery/v2/projects/p2/datasets/x2?deleteContents=true",
				"DELETE /bigquery/v2/projects/p2/datasets/e1?deleteContents=true", `POST /bigquery/v2/projects/p2/datasets {"datasetReference":{"projectId":"p2","datasetId":"e1"}}`,
				"POST " + datasets + ` {"datasetReference":{"projectId":"my-project","datasetId":"c1"}}`,
				`POST /bigquery/v2/projects/p2/datasets {"datasetReference":{"projectId":"p2","datasetId":"c2"},"friendlyName":"f","description":"x","defaultTableExpirationMs":"604800000","location":"EU",` +
					`"access":[{"domain":"example.com","role":"READER"},{"userByEmail":"ingest@example.com","role":"WRITER"}],"labels":{"foo":"bar"}}`,
				"DELETE " + datasets + "/there/tables/t1", "DELETE /bigquery/v2/projects/p2/datasets/d2/tables/t4",
				"DELETE " + datasets + "/there/tables/t3",
				"POST " + datasets + `/there/tables {"tableReference":{"projectId":"my-project","datasetId":"there","tableId":"t3"},"expirationTime":"1483318923000","view":{"query":"select 1"}}`,
				"POST " + datasets + `/there/tables {"tableReference":{"projectId":"my-project","datasetId":"there","tableId":"t1"}}`,
				"POST " + datasets + `/there/tables {"tableReference":{"projectId":"my-project","datasetId":"there","tableId":"t2"},"friendlyName":"f","description":"x","expirationTime":"1483318923000",` +
					`"schema":{"fields":[{"name":"f1","type":"STRING"}]},"timePartitioning":{"type":"DAY","expirationMs":1000},"labels":{"quux":"17"}}`,
			}},
	} {
		b := newBed(t)
		b.PutDataset("my-project:there", "US")
		w := b.world(t, c.params)
		w.File(t, "q.sql", "select ${n}")
		w.File(t, "s.json", `{"fields": [{"name": "n${n}", "type": "INTEGER"}]}`)
		w.File(t, "s.yml", "fields:\n  - {name: 'y${n}', type: STRING}\n")
		w.Template = func(text string) (string, error) { return strings.ReplaceAll(text, "${n}", "5"), nil }
		if got := operatortest.UntilDone(t, operator(t, c.operator), w); got.Error != "" {
			t.Errorf("%s>: %s: %s", c.operator, c.params, got.Error)
		}
		if got := b.sent(); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s>: %s:\ngot\n%s\nwant\n%s", c.operator, c.params, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestReferences checks which table and dataset names are accepted in addition to Digdag's forms, and what they mean.
func TestReferences(t *testing.T) {
	t.Parallel()
	for of, want := range map[[2]string]string{
		{"", "d.t"}:                            "my-project:d.t",
		{"", "p:d.t"}:                          "p:d.t",
		{"", "p-1:d.t$20160101"}:               "p-1:d.t$20160101",
		{"", "example.com:d.t"}:                "example.com:d.t",
		{"", "example.com:p:d.t"}:              "example.com:p:d.t",
		{"ds", "t"}:                            "my-project:ds.t",
		{"p2:ds", "t"}:                         "p2:ds.t",
		{"p2:ds", "d.t"}:                       "p2:d.t", // as in Digdag
		{"p2:ds", "p:t"}:                       "p:ds.t",
		{"", "t"}:                              "Bad table reference. Either configure 'dataset' or include dataset name in table reference: t",
		{"", "d.t$2016"}:                       "Bad table reference: d.t$2016",
		{"", "p.d.t"}:                          "Bad table reference: p.d.t",
		{"", "d.t-1"}:                          "Bad table reference: d.t-1",
		{"", ""}:                               "Bad table reference: ",
		{"", "d.t\n"}:                          "Bad table reference: d.t\n",
		{"a.b", "t"}:                           "Bad dataset reference: a.b",
		{"", "d." + strings.Repeat("x", 1024)}: "my-project:d." + strings.Repeat("x", 1024),
		{"", "d." + strings.Repeat("x", 1025)}: "Bad table reference: d." + strings.Repeat("x", 1025),
	} {
		b := newBed(t)
		params := operatortest.Map(t, `{"destination": "gs://b/o"}`)
		params.Set("_command", of[1])
		if of[0] != "" {
			params.Set("dataset", of[0])
		}
		w := b.world(t, param.Text(params))
		got := operatortest.RunOnce(t, operator(t, "bq_extract"), w)
		if strings.HasPrefix(want, "Bad") {
			if got.Error != want || got.Kind != "illegal argument" {
				t.Errorf("%q: %+v, want %s", of, got, want)
			}
			continue
		}
		operatortest.UntilDone(t, operator(t, "bq_extract"), w)
		if len(b.Jobs()) != 1 {
			t.Errorf("%q: %+v", of, got)
			continue
		}
		from := b.Jobs()[0].Configuration.Map("extract").Map("sourceTable")
		name := ""
		for _, key := range []string{"projectId", "datasetId", "tableId"} {
			v, _ := from.Get(key)
			name += map[string]string{"projectId": "", "datasetId": ":", "tableId": "."}[key] + v.(string)
		}
		same(t, want, name)
	}
}
