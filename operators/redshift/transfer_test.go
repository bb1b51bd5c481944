package redshift

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/operatortest/postgres"
)

// read reads a task without a connection.
func read(t *testing.T, name, params string, reader func(*task) error) (*task, error) {
	t.Helper()
	w := operatortest.New(t, params)
	p, err := readParams(&w.Task, name)
	if err != nil {
		t.Fatal(err)
	}
	c := &task{Task: &w.Task, name: name, params: p}
	return c, reader(c)
}

// TestLoadText checks how a COPY is written, option by option, in the order used in the operator's manual.
func TestLoadText(t *testing.T) {
	t.Parallel()
	const all = `{"table": "s.t", "from": "dynamodb://d", "column_list": "a, \"b\"", "readratio": 50, "manifest": true, "encrypted": true, "region": "us-east-1",
		"csv": "'", "delimiter": "\\t", "gzip": true, "bzip2": true, "lzop": true, "acceptanydate": true, "acceptinvchars": "&", "blanksasnull": true,
		"dateformat": "yyyy-MM-dd", "emptyasnull": true, "encoding": "UTF8", "escape": false, "explicit_ids": true, "fillrecord": true, "ignoreblanklines": true,
		"ignoreheader": 2, "null_as": "\\N", "removequotes": false, "roundec": true, "timeformat": "auto", "trimblanks": true, "truncatecolumns": true,
		"comprows": 12, "compupdate": "on", "maxerror": 34, "noload": true, "statupdate": false}`
	for params, want := range map[string]string{
		`{"table": "t", "from": "s3://b/k"}`: `COPY "t"|FROM 's3://b/k'|CREDENTIALS 'aws_access_key_id=i;aws_secret_access_key=s;token=t'`,
		all: `COPY "s"."t" ("a", "b")|FROM 'dynamodb://d'|CREDENTIALS 'aws_access_key_id=i;aws_secret_access_key=s;token=t'|READRATIO 50|MANIFEST|ENCRYPTED|` +
			`REGION 'us-east-1'|CSV QUOTE ''''|DELIMITER '\t'|GZIP|BZIP2|LZOP|ACCEPTANYDATE|ACCEPTINVCHARS '&'|BLANKSASNULL|DATEFORMAT 'yyyy-MM-dd'|EMPTYASNULL|` +
			`ENCODING UTF8|EXPLICIT_IDS|FILLRECORD|IGNOREBLANKLINES|IGNOREHEADER 2|NULL AS '\\N'|ROUNDEC|TIMEFORMAT 'auto'|TRIMBLANKS|TRUNCATECOLUMNS|COMPROWS 12|` +
			`COMPUPDATE ON|MAXERROR 34|NOLOAD|STATUPDATE FALSE`,
		`{"table": "t", "from": "s3://b/k", "redshift_load": {"csv": ""}}`:    `COPY "t"|FROM 's3://b/k'|CREDENTIALS 'aws_access_key_id=i;aws_secret_access_key=s;token=t'|CSV`,
		`{"table": "t", "from": "s3://b/k", "json": "auto", "escape": false}`: `COPY "t"|FROM 's3://b/k'|CREDENTIALS 'aws_access_key_id=i;aws_secret_access_key=s;token=t'|FORMAT AS JSON 'auto'`,
		`{"table": "t", "from": "s3://b/k", "avro": "s3://b/p"}`:              `COPY "t"|FROM 's3://b/k'|CREDENTIALS 'aws_access_key_id=i;aws_secret_access_key=s;token=t'|FORMAT AS AVRO 's3://b/p'`,
		`{"table": "t", "from": "s3://b/k", "fixedwidth": "a:1,b:2", "escape": true, "removequotes": true}`: `COPY "t"|FROM 's3://b/k'|CREDENTIALS 'aws_access_key_id=i;` +
			`aws_secret_access_key=s;token=t'|FIXEDWIDTH 'a:1,b:2'|ESCAPE|REMOVEQUOTES`,
		`{"table": "a\"b", "from": "s3://b/it's\\'; drop table x; --"}`: `COPY "a""b"|FROM 's3://b/it''s\\''; drop table x; --'|CREDENTIALS 'aws_access_key_id=i;` +
			`aws_secret_access_key=s;token=t'`,
	} {
		w, err := read(t, "redshift_load", params, readLoad)
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		if diff := cmp.Diff(strings.Split(want, "|"), strings.Split(w.copy.statement("id", keys{"i", "s", "t"}), "\n")); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func TestUnloadText(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"query": "select 'x\\y'", "to": "s3://b/k"}`: `UNLOAD ('select ''x\\y''')|TO 's3://b/k/id_'|CREDENTIALS 'aws_access_key_id=i;aws_secret_access_key=s'`,
		`{"query": "q", "to": "s3://b/k/", "manifest": true, "encrypted": true, "allowoverwrite": true, "delimiter": "$", "gzip": true, "bzip2": true, "null_as": "nULl",
			"escape": true, "addquotes": true, "parallel": false}`: `UNLOAD ('q')|TO 's3://b/k/id_'|CREDENTIALS 'aws_access_key_id=i;aws_secret_access_key=s'|MANIFEST|` +
			`ENCRYPTED|ALLOWOVERWRITE|DELIMITER '$'|GZIP|BZIP2|NULL AS 'nULl'|ESCAPE|ADDQUOTES|PARALLEL FALSE`,
		`{"query": "q", "to": "s3://b", "fixedwidth": "a:1", "parallel": "off"}`: `UNLOAD ('q')|TO 's3://b/id_'|CREDENTIALS 'aws_access_key_id=i;aws_secret_access_key=s'|` +
			`FIXEDWIDTH 'a:1'|PARALLEL OFF`,
	} {
		w, err := read(t, "redshift_unload", params, readUnload)
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		if diff := cmp.Diff(strings.Split(want, "|"), strings.Split(w.copy.statement("id", keys{"i", "s", ""}), "\n")); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

// TestRefused checks that each mistake is reported.
func TestRefused(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"from": "s3://b/k"}`: "Parameter 'table' is required but not set",
		`{"table": "t"}`:       "Parameter 'from' is required but not set",
		`{"table": "t", "from": "s3://b/k", "csv": "", "fixedwidth": "a:1"}`:        "CSV can't be used with FIXEDWIDTH",
		`{"table": "t", "from": "s3://b/k", "csv": "", "removequotes": true}`:       "CSV can't be used with REMOVEQUOTES",
		`{"table": "t", "from": "s3://b/k", "csv": "", "escape": true}`:             "CSV can't be used with ESCAPE",
		`{"table": "t", "from": "s3://b/k", "delimiter": ",", "fixedwidth": "a:1"}`: "DELIMITER can't be used with FIXEDWIDTH",
		`{"table": "t", "from": "s3://b/k", "json": "auto", "csv": ""}`:             "JSON can't be used with CSV",
		`{"table": "t", "from": "s3://b/k", "json": "auto", "avro": "auto"}`:        "JSON can't be used with AVRO",
		`{"table": "t", "from": "s3://b/k", "avro": "auto", "delimiter": ","}`:      "AVRO can't be used with DELIMITER",
		`{"table": "t", "from": "s3://b/k", "compupdate": "maybe"}`:                 "Parameter 'compupdate' must be ON, OFF, TRUE or FALSE: maybe",
		`{"table": "t", "from": "s3://b/k", "encoding": "UTF8; drop"}`:              "Parameter 'encoding' must consist of letters and digits: UTF8; drop",
		`{"table": "t", "from": "s3://b/k", "column_list": "a,,b"}`:                 "Parameter 'column_list' has an empty name: a,,b",
		`{"table": "t", "from": "s3://b/k", "session_duration": 1}`:                 "Parameter 'session_duration' must be from 900 to 129600 seconds: 1",
	} {
		if _, err := read(t, "redshift_load", params, readLoad); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", params, err, want)
		}
	}
	for params, want := range map[string]string{
		`{"to": "s3://b/k"}`:          "Parameter 'query' is required but not set",
		`{"query": "q"}`:              "Parameter 'to' is required but not set",
		`{"query": "q", "to": "b/k"}`: "'to' should start with 's3://'. to=b/k",
		`{"query": "q", "to": "s3://b/k", "delimiter": ",", "fixedwidth": "a:1"}`: "DELIMITER can't be used with FIXEDWIDTH",
	} {
		if _, err := read(t, "redshift_unload", params, readUnload); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", params, err, want)
		}
	}
}

// TestPolicy checks that credentials allow the access that the statement needs, and nothing else.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for params, want := range map[string][]string{
		`{"table": "t", "from": "s3://b/logs/a"}`: {"arn:aws:s3:::b [s3:ListBucket]", "arn:aws:s3:::b/logs/a* [s3:GetObject]"},
		`{"table": "t", "from": "s3://b/logs/a", "json": "s3://p/paths"}`: {"arn:aws:s3:::b [s3:ListBucket]", "arn:aws:s3:::b/logs/a* [s3:GetObject]",
			"arn:aws:s3:::p [s3:ListBucket]", "arn:aws:s3:::p/paths* [s3:GetObject]"},
		`{"table": "t", "from": "dynamodb://d"}`: {"arn:aws:dynamodb:*:*:table/d [dynamodb:DescribeTable dynamodb:Scan]"},
		`{"query": "q", "to": "s3://b/out"}`:     {"arn:aws:s3:::b [s3:ListBucket]", "arn:aws:s3:::b/out/id_* [s3:PutObject]"},
	} {
		name, reader := "redshift_load", readLoad
		if strings.Contains(params, "query") {
			name, reader = "redshift_unload", readUnload
		}
		w, err := read(t, name, params, reader)
		if err != nil {
			t.Fatal(err)
		}
		grants, err := w.copy.grants("id")
		if err != nil {
			t.Fatal(err)
		}
		var policy struct{ Statement []statement }
		if err := json.Unmarshal([]byte(policyText(grants)), &policy); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range policy.Statement {
			got = append(got, fmt.Sprint(s.Resource, " ", s.Action))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
	w, err := read(t, "redshift_load", `{"table": "t", "from": "emr://e/x"}`, readLoad)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.copy.grants("id"); err == nil || !strings.HasPrefix(err.Error(), "'from' should start with 's3://' or 'dynamodb://'") {
		t.Errorf("another source: %v", err)
	}
	list := widened(widened(widened(nil, grant{place{"b", "a/1"}, "x"}), grant{place{"b", "a/2"}, "x"}), grant{place{"c", "z"}, "x"})
	if diff := cmp.Diff("[{{b a/} x} {{c z} x}]", fmt.Sprint(list)); diff != "" {
		t.Error(diff)
	}
}

// bucket creates a LocalStack bucket.
func bucket(t *testing.T) (string, *s3.Client) {
	t.Helper()
	client := s3.NewFromConfig(localstack.Config(t), func(o *s3.Options) { o.UsePathStyle = true })
	name := localstack.Name()
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		for _, key := range objects(t, ctx, client, name) {
			if _, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &name, Key: &key}); err != nil {
				return err
			}
		}
		_, err := client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
		return err
	})
	return name, client
}

func objects(t *testing.T, ctx context.Context, client *s3.Client, bucket string) []string {
	t.Helper()
	out, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, o := range out.Contents {
		keys = append(keys, *o.Key)
	}
	return keys
}

func put(t *testing.T, client *s3.Client, bucket, key, content string) {
	t.Helper()
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(content)}); err != nil {
		t.Fatal(err)
	}
}

// received returns the received statements that contain the given text, with the known facts about their credentials.
func received(t *testing.T, s postgres.Server, about string) []string {
	t.Helper()
	return s.Rows(t, "select statement from received where statement like '%"+about+"%'")
}

var (
	temporary = regexp.MustCompile(`CREDENTIALS 'aws_access_key_id=\w{16,};aws_secret_access_key=[^;']+;token=[^;']+'`)
	own       = regexp.MustCompile(`CREDENTIALS 'aws_access_key_id=test;aws_secret_access_key=test'`)
)

func testLoad(t *testing.T, s postgres.Server) {
	name, client := bucket(t)
	put(t, client, name, "manifest", `{"entries": [{"url": "s3://elsewhere/a/1", "mandatory": true}, {"url": "s3://elsewhere/a/2"}]}`)
	near, api := proxied(t, s), newService(t, s)
	vault := localstack.Secrets("sts", "s3")
	both := map[string]func(more string) (string, map[string]string){
		"connection": func(more string) (string, map[string]string) { return byConnection(near, more), vault },
		"data API": func(more string) (string, map[string]string) {
			all := maps.Clone(vault)
			maps.Copy(all, api.grant())
			return byDataAPI(more), all
		},
	}
	for way, make := range both {
		for i, c := range []struct {
			more, role string
			keys       *regexp.Regexp
		}{
			{``, "", temporary}, {`, "temp_credentials": false`, "", own}, {`, "role_session_name": "me"`, "arn:aws:iam::000000000000:role/loader", temporary},
			{`, "strict_transaction": false`, "", temporary},
		} {
			table := fmt.Sprintf("%s_%d_%s", strings.ReplaceAll(way, " ", "_"), i, strings.ReplaceAll(name, "-", "_"))
			params, secrets := make(`"table": "` + table + `", "from": "s3://` + name + `/manifest", "manifest": true` + c.more)
			w := newTask(t, params, secrets)
			if c.role != "" {
				w.Vault["aws.redshift.role_arn"] = c.role
			}
			if got := finish(t, "redshift_load", w); got.Error != "" {
				t.Errorf("%s%s: %s", way, c.more, got.Error)
				continue
			}
			if c.more == "" { // again: it is done
				finish(t, "redshift_load", w)
			}
			rows := received(t, s, table)
			if len(rows) != 1 || !c.keys.MatchString(rows[0]) {
				t.Errorf("%s%s: received %q", way, c.more, rows)
			}
		}
		params, secrets := make(`"table": "t", "from": "s3://` + name + `/none", "manifest": true`)
		want := "redshift_load>: can't read the manifest s3://" + name + "/none: it does not exist: check its name, the account and the region"
		if got := finish(t, "redshift_load", newTask(t, params, secrets)); got.Error != want {
			t.Errorf("%s: no manifest: %+v", way, got)
		}
	}
	testMasked(t, s, vault)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: operator("redshift_load"),
		Good:     byDataAPI(`"table": "t", "from": "s3://b/k", "region": "us-east-1", "temp_credentials": true, "session_duration": 900, "gzip": true`),
		Wrong:    []string{`{}`, byConnection(near, `"table": "t"`), byConnection(near, `"table": "t", "from": "s3://b/k", "csv": "", "escape": true`)},
		Prepare:  func(_ *testing.T, w *operatortest.World) { maps.Copy(w.Vault, secretsOf(both["data API"])) },
	})
}

func secretsOf(make func(string) (string, map[string]string)) map[string]string {
	_, vault := make("")
	return vault
}

// testMasked checks that no error contains a key: PostgreSQL itself does not know COPY from S3, and its error contains
// the statement.
func testMasked(t *testing.T, s postgres.Server, vault map[string]string) {
	t.Helper()
	secrets := maps.Clone(vault)
	secrets["aws.redshift_load.access_key_id"], secrets["aws.redshift_load.secret_access_key"] = "AKIAVERYSECRET", "and/more+so"
	w := newTask(t, byConnection(s, `"table": "t", "from": "s3://b/k", "temp_credentials": false`), secrets)
	got := finish(t, "redshift_load", w)
	if !strings.HasPrefix(got.Error, "Failed to load files [ERROR: syntax error at or near ") || strings.Contains(got.Error+w.Output.String(), "SECRET") {
		t.Errorf("got %q", got.Error)
	}
	if got := hideKeys("x aws_access_key_id=a;aws_secret_access_key=b/c+d=;token=e' y"); got != "x aws_access_key_id=***;aws_secret_access_key=***;token=***' y" {
		t.Error(got)
	}
}

// testUnload checks that the files of a failed run are deleted, and that the files of a complete run are not.
func testUnload(t *testing.T, s postgres.Server) {
	name, client := bucket(t)
	near, api := proxied(t, s), newService(t, s)
	for way, params := range map[string]string{"one": byConnection(near, `"query": "select 1", "to": "s3://`+name+`/one"`),
		"two": byDataAPI(`"query": "select 2", "to": "s3://` + name + `/two"`)} {
		w := newTask(t, params, localstack.Secrets("sts", "s3"))
		maps.Copy(w.Vault, api.grant())
		w.State = look(t, "redshift_unload", w).State
		id, _ := operators.NewParams(w.State).String("queryId")
		put(t, client, name, way+"/"+id+"_part", "of a run that failed")
		put(t, client, name, way+"/another", "of somebody else")
		identified := w.State
		if got := finish(t, "redshift_unload", w); got.Error != "" {
			t.Errorf("%s: %s", way, got.Error)
		}
		rows := received(t, s, name+"/"+way)
		if want := "TO 's3://" + name + "/" + way + "/" + id + "_'"; len(rows) != 1 || !strings.Contains(rows[0], want) || !temporary.MatchString(rows[0]) {
			t.Errorf("%s: received %q, want %s", way, rows, want)
		}
		if diff := cmp.Diff([]string{way + "/another"}, below(objects(t, t.Context(), client, name), way)); diff != "" {
			t.Errorf("%s: %s", way, diff)
		}
		put(t, client, name, way+"/"+id+"_000", "of the run")
		if way == "one" {
			w.State = identified // its end was lost
		} else {
			w.State = param.Merge(identified, param.New("commandStatus", param.New("looks", int64(0))))
		}
		if got := finish(t, "redshift_unload", w); got.Error != "" {
			t.Errorf("%s: %s", way, got.Error)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values([]string{way + "/" + id + "_000", way + "/another"})), below(objects(t, t.Context(), client, name), way)); diff != "" {
			t.Errorf("%s: %s", way, diff)
		}
		if n := len(received(t, s, name+"/"+way)); n != 1 {
			t.Errorf("%s: it was unloaded %d times", way, n)
		}
	}
	operatortest.Exercise(t, operatortest.Subject{
		Operator: operator("redshift_unload"),
		Good:     byDataAPI(`"query": "select 1", "to": "s3://` + name + `/three", "gzip": true, "parallel": "off"`),
		Wrong:    []string{`{}`, byConnection(near, `"query": "q"`), byConnection(near, `"query": "q", "to": "b/k"`)},
		Prepare: func(_ *testing.T, w *operatortest.World) {
			maps.Copy(w.Vault, localstack.Secrets("sts", "s3"))
			maps.Copy(w.Vault, api.grant())
		},
	})
}

func below(keys []string, folder string) []string {
	slices.Sort(keys)
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, folder+"/") })
}
